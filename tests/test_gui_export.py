"""Exports of a window: every kind of file, whole or absent, as long as the world was."""

import os

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt

from tests.test_recorded import KOREAN, made
from worldattention.app import file_dialogs
from worldattention.app.export import GIF, PICTURES, ExportJob, export
from worldattention.app.export_dialog import ExportDialog
from worldattention.app.reel import Reel
from worldattention.app.strip import WIDTH, draw_strip
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.pictures import GIF_WIDTH, enlarge, write_gif, write_pictures
from worldattention.core.recorded import open_recorded
from worldattention.core.telemetry_log import TelemetryLog


@pytest.fixture
def world(tmp_path):
    """A reel and a log with three blocks, and a way to make a fourth."""
    reel, log = Reel(tmp_path / "cache"), TelemetryLog(tmp_path / "cache")
    results = made(8)

    def make_more():
        result = results.pop(0)
        reel.append(0, result.frames)
        log.append(result.telemetry)

    for _ in range(3):
        make_more()
    yield reel, log, make_more
    reel.close()
    log.close()


def run(world, job, cancelled=lambda: False):
    shares = []
    export(job, *world, shares.append, cancelled)
    return shares


def test_case_19_a_range_is_as_long_as_its_frames_and_opens_as_a_session(world, tmp_path):
    path = tmp_path / "part.mp4"
    assert run(world, ExportJob(path, 37, first_frame=7)) == [16, 32, 37]
    session = open_recorded(path)
    assert [record.frames for record in session.records] == [5, 12, 12, 8]
    frames = list(session.read())
    assert len(frames) == 37
    assert np.abs(frames[0].astype(int) - world[0].frame(7)).mean() < 4
    assert os.listdir(tmp_path / "cache") == []


def test_case_19_a_gif_lasts_as_long_as_its_frames(world, tmp_path):
    run(world, ExportJob(tmp_path / "a.gif", 41, kind=GIF))
    with Image.open(tmp_path / "a.gif") as gif:
        lengths = []
        for number in range(gif.n_frames):
            gif.seek(number)
            lengths.append(gif.info["duration"])
        assert gif.size == (256, 128)
    assert sum(lengths) == pytest.approx(1000 * 41 / 16, abs=5)


def test_panels_in_a_gif_stay_legible(world, tmp_path, qapp):
    run(world, ExportJob(tmp_path / "s.gif", 4, kind=GIF, strip=True))
    with Image.open(tmp_path / "s.gif") as gif:
        assert gif.size == (960, round(960 * 512 / (1024 + WIDTH)))


def test_a_wide_gif_is_made_smaller(tmp_path):
    frames = np.random.default_rng().integers(0, 255, (4, 101, 901, 3), np.uint8)
    write_gif(tmp_path / "w.gif", iter(frames), 4)
    with Image.open(tmp_path / "w.gif") as gif:
        assert gif.size == (GIF_WIDTH, round(101 * GIF_WIDTH / 901))


def test_case_21_pictures_need_no_ffmpeg(world, tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere/ffmpeg")
    folder = tmp_path / KOREAN
    run(world, ExportJob(folder, 20, first_frame=10, kind=PICTURES))
    names = sorted(os.listdir(folder))
    assert names == [f"{number:06d}.png" for number in range(20)]
    for number in (0, 19):
        with Image.open(folder / names[number]) as picture:
            assert (np.asarray(picture) == world[0].frame(10 + number)).all()
    run(world, ExportJob(tmp_path / "a.gif", 4, kind=GIF))
    with pytest.raises(UserError, match="no ffmpeg"):
        run(world, ExportJob(tmp_path / "a.mp4", 4))
    assert not (tmp_path / "a.mp4").exists()


def test_case_18_odd_sizes_export_with_endless_titles(tmp_path):
    reel, log = Reel(), TelemetryLog()
    try:
        frames = np.random.default_rng().integers(0, 255, (3, 33, 47, 3), np.uint8)
        reel.append(0, frames)
        job = ExportJob(tmp_path / "odd.mp4", 3, title="긴 " * 50_000, comment="c" * 100_000, telemetry=False)
        run((reel, log, None), job)
        assert os.listdir(tmp_path) == ["odd.mp4"]
    finally:
        reel.close()


@pytest.mark.parametrize("kind", ["mp4", GIF, PICTURES])
def test_a_cancelled_export_leaves_nothing(world, tmp_path, kind):
    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 20

    with pytest.raises(Cancelled):
        run(world, ExportJob(tmp_path / "out.mp4", 60, kind=kind), cancelled)
    assert os.listdir(tmp_path) == ["cache"]


def test_pictures_never_go_into_a_folder_with_something_in_it(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine").touch()
    with pytest.raises(UserError, match="already"):
        write_pictures(tmp_path / "a", iter([]))
    assert os.listdir(tmp_path / "a") == ["mine"]


def test_the_strip_shows_the_block_beside_the_picture(world, tmp_path, qapp):
    run(world, ExportJob(tmp_path / "s.mp4", 30, strip=True))
    frames = list(open_recorded(tmp_path / "s.mp4").read())
    assert frames[0].shape == (512, 1024 + WIDTH, 3)
    picture = enlarge(world[0].frame(29), 4)
    assert np.abs(frames[29][:, :1024].astype(int) - picture).mean() < 4
    for number, block in ((3, 0), (29, 2)):
        strip = draw_strip(world[1].at(12 * block), 512)
        assert np.abs(frames[number][:, 1024:].astype(int) - strip).mean() < 4
    assert (draw_strip(world[1].at(0), 512) != draw_strip(world[1].at(24), 512)).any()


def test_a_strip_of_ten_thousand_pages_fits(world, qapp):
    from dataclasses import replace

    record = world[1].at(0)
    page = record.pages[0]
    many = tuple(replace(page, page=number, recalled=number % 999 == 0) for number in range(10_000))
    strip = draw_strip(replace(record, pages=many, prompt="wide words " * 900), 480)
    assert strip.shape == (480, WIDTH, 3)
    assert (strip[-8:] == strip[-1, 0]).all()  # the margin below stays free


def test_the_log_cuts_records_to_a_range_and_follows_a_rewind(tmp_path):
    log = TelemetryLog(tmp_path)
    results = made(6)
    for result in results:
        log.append(result.telemetry)
    assert [(record.first_frame, record.frames) for record in log.records(7, 30)] == [
        (7, 5),
        (12, 12),
        (24, 6),
    ]
    log.append(results[2].telemetry)
    assert [record.block for record in log.records()] == [0, 1, 2]
    assert log.at(40) is None
    log.append(results[5].telemetry)  # a gap: not of this world
    assert len(log) == 3
    log.close()
    assert os.listdir(tmp_path) == []


def form_of(window, qtbot):
    qtbot.waitUntil(lambda: window.world.blocks > 3, timeout=20000)
    window.world.playback.pause()
    window.actions_by_name["export"].trigger()
    form = window.findChild(ExportDialog)
    assert form.isVisible()
    return form, form.go


def choose(monkeypatch, path):
    monkeypatch.setattr(
        file_dialogs, "save_file", lambda _w, _t, _s, kinds: file_dialogs.ended(path, kinds, kinds)
    )


@pytest.mark.parametrize(("kind", "suffix"), [(0, ".mp4"), (1, ".gif"), (2, "")])
def test_case_22_a_range_is_chosen_and_exported(make_window, qtbot, tmp_path, monkeypatch, kind, suffix):
    folder = tmp_path / KOREAN
    folder.mkdir()
    one = make_window()
    form, go = form_of(one, qtbot)
    form.kind.setCurrentIndex(kind)
    form.length.setCurrentIndex(2)
    form.start.setText("0,5")
    form.end.setText("1.25")
    assert form.note.text().startswith("12 frames, 0.75 s, 256 × 128")
    choose(monkeypatch, folder / "장면")
    qtbot.mouseClick(go, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not one.export_flow.running, timeout=20000)
    assert "Exported" in one.notifications.history[-1].text
    names = {0: ["장면.jsonl", "장면.mp4"], 1: ["장면.gif"], 2: ["장면"]}
    assert sorted(os.listdir(folder)) == names[kind]
    if kind == 0:
        assert open_recorded(folder / "장면.mp4").frames == 12


def test_a_range_that_is_none_is_said_while_it_is_typed(make_window, qtbot):
    one = make_window()
    form, go = form_of(one, qtbot)
    for start, end in (("2", "1"), ("0", "0"), ("nonsense", "1"), ("-1", "1"), ("", ""), ("0", "1e99")):
        form.length.setCurrentIndex(2)
        form.start.setText(start)
        form.end.setText(end)
        assert not go.isEnabled()
        assert form.note.text().endswith(".")
        form.length.setCurrentIndex(0)
        assert go.isEnabled()
    form.reject()


def test_case_21_without_ffmpeg_the_form_points_at_pictures(make_window, qtbot, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere/ffmpeg")
    one = make_window()
    form, go = form_of(one, qtbot)
    assert not go.isEnabled()
    assert "pictures instead" in form.note.text()
    form.kind.setCurrentIndex(2)
    assert go.isEnabled()
    form.reject()


def test_the_form_says_what_is_made_first_and_how_large_it_gets(make_window, qtbot):
    one = make_window()
    form, _ = form_of(one, qtbot)
    form.length.setCurrentIndex(1)
    form.strip.setChecked(True)
    made = one.world.reel.made / 16
    assert form.note.text() == f"480 frames, 30.00 s, 1344 × 512. {30 - made:.1f} s of it are made first."
    form.reject()
