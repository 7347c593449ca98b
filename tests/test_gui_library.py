"""Samples, recent projects, recordings, recovery and dropped files, as a person meets them."""

import json
import os

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDropEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QMessageBox, QPushButton

from tests.test_recorded import KOREAN, made, record
from tests.window_hands import read
from worldattention.app import file_dialogs
from worldattention.app.project_files import sample_paths
from worldattention.app.recent import KEPT, Recent
from worldattention.app.welcome import TITLES
from worldattention.core.project import Project, load_project, project_to_json, save_project
from worldattention.core.timeline import Event, Timeline, make_timeline

OWL = make_timeline([Event(1, 0, 4, "an owl 🦉")])


def press(key, then=None):
    """Answers the next message box with the button of that text."""

    def answer():
        box = QApplication.activeModalWidget()
        if not isinstance(box, QMessageBox):
            QTimer.singleShot(20, answer)
            return
        next(button for button in box.buttons() if button.text().replace("&", "") == key).click()

    QTimer.singleShot(0, answer)


def test_recent_projects_are_kept_newest_first_without_doubles(tmp_path):
    file = tmp_path / "deep" / "recent.json"
    recent = Recent(file)
    for number in range(KEPT + 3):
        recent.add(tmp_path / f"{number}.world")
    recent.add(tmp_path / "5.world")
    again = Recent(file).paths
    assert len(again) == KEPT
    assert again[0] == tmp_path / "5.world"
    assert again[1] == tmp_path / f"{KEPT + 2}.world"


@pytest.mark.parametrize("content", [b"", b"{", b"3", b'["a\\u0000b", 4, null]', b"\xff\xfe"])
def test_a_broken_list_is_an_empty_one(tmp_path, content):
    (tmp_path / "recent.json").write_bytes(content)
    recent = Recent(tmp_path / "recent.json")
    assert recent.paths == ()
    recent.add(tmp_path / "a.world")
    assert Recent(tmp_path / "recent.json").paths == (tmp_path / "a.world",)


def test_missing_recent_projects_are_greyed(make_window, qtbot, tmp_path):
    one = make_window(remember=True)
    there, gone = tmp_path / "there.world", tmp_path / "gone.world"
    save_project(Project("There", timeline=OWL), there)
    save_project(Project("Gone", timeline=OWL), gone)
    for path in (gone, there):
        one.library.open(path)
        read(qtbot, one)
    gone.unlink()
    menu = next(menu for menu in one.findChildren(QMenu) if menu.title() == "Open recent")
    menu.aboutToShow.emit()
    assert [(action.text(), action.isEnabled()) for action in menu.actions()] == [
        ("there", True),
        ("gone (missing)", False),
    ]
    one.library.open(there)
    read(qtbot, one)
    assert one.files.path == there


def test_the_welcome_page_starts_a_sample_in_one_click(make_window, qtbot):
    one = make_window(timeline=Timeline(), remember=True)
    qtbot.waitUntil(lambda: one.library.welcome is not None, timeout=20000)
    page = one.library.welcome
    assert page.isVisible()
    assert len(page.cards) == len(sample_paths()) >= 5
    assert all(not card.icon().isNull() and card.accessibleName() for card in page.cards)
    qtbot.mouseClick(page.cards[0], Qt.MouseButton.LeftButton)
    read(qtbot, one)
    assert (
        one.model.timeline.events
        == load_project(next(path for path in sample_paths() if path.stem == "red_ball")).timeline.events
    )
    assert one.library.welcome is None
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    assert one.files.path is None  # saving asks for a place: the sample is not the user's
    assert not one.files.changed


def test_every_sample_has_a_picture_and_a_title():
    for path in sample_paths():
        picture = QImage(str(path.with_suffix(".png")))
        assert (picture.width(), picture.height()) == (256, 128)
        assert path.stem in TITLES


def test_typing_a_prompt_leaves_the_welcome_page(make_window, qtbot):
    one = make_window(timeline=Timeline(), remember=True)
    qtbot.waitUntil(lambda: one.library.welcome is not None, timeout=20000)
    one.prompt_box.edit.setFocus()
    qtbot.keyClicks(one.prompt_box.edit, "a red ball")
    qtbot.keyClick(one.prompt_box.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: one.library.welcome is None, timeout=20000)


def test_a_project_given_at_the_start_needs_no_welcome(make_window, qtbot):
    one = make_window(remember=True)
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    assert one.library.welcome is None


def drop(window, path):
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/a.world"), QUrl.fromLocalFile(str(path))])
    action, button, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    window.dropEvent(QDropEvent(QPointF(9, 9), action, data, button, none))


def test_case_22_projects_and_recordings_of_any_path_can_be_dropped(make_window, qtbot, tmp_path):
    folder = tmp_path / KOREAN
    folder.mkdir()
    path = folder / "부엉이.world"
    save_project(Project("Owl", timeline=OWL), path)
    one = make_window()
    drop(one, path)
    read(qtbot, one)
    assert one.model.timeline == OWL
    assert one.files.path == path
    one.model.put(6.0, "한국어 프롬프트")
    assert one.files.save()
    assert load_project(path).timeline == one.model.timeline
    record(folder / "녹화.mp4", made(3))
    drop(one, folder / "녹화.mp4")
    qtbot.waitUntil(lambda: one.replay.active, timeout=20000)


def test_a_recorded_session_is_scrubbed_with_all_panels_following(make_window, qtbot, tmp_path):
    results = made(12)
    record(tmp_path / "a.mp4", results)
    one = make_window()
    qtbot.waitUntil(lambda: one.world.blocks > 1, timeout=20000)
    one.replay.open(tmp_path / "a.jsonl")
    qtbot.waitUntil(lambda: one.replay.active, timeout=20000)
    qtbot.waitUntil(lambda: one.world.reel.made == 144, timeout=20000)
    assert one.script.closed == 1  # no engine
    assert "no engine" in one.status.device.text()
    one.world.playback.pause()
    qtbot.waitUntil(lambda: one.viewport.chip != "not made yet", timeout=20000)
    for block in (7, 2, 11, 0):
        one.world.playback.seek(12 * block + 5)
        qtbot.waitUntil(lambda block=block: one.status.block.text() == f"block {block}", timeout=20000)
        told = results[block].telemetry
        # panels draw one after the other
        qtbot.waitUntil(lambda: not one.panels._fresh, timeout=20000)
        assert len(one.panels.pages.history.pages) == len(told.pages)
        assert np.allclose(one.panels.sparsity.plot.values, told.gini.T, atol=1e-4)
        assert one.viewport.image is not None
    assert [event.prompt for event in one.model.timeline.events] == ["a red ball", "a ribbon"]
    one.prompt_box.edit.setFocus()
    qtbot.keyClicks(one.prompt_box.edit, "a dog")
    qtbot.keyClick(one.prompt_box.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(one.prompt_box.edit.property("refused")), timeout=20000)
    assert not one.files.changed


def test_a_recording_plays_to_its_end_stops_and_starts_again(make_window, qtbot, tmp_path):
    record(tmp_path / "a.mp4", made(3))
    one = make_window()
    one.replay.open(tmp_path / "a.mp4")
    qtbot.waitUntil(lambda: one.replay.active, timeout=20000)
    qtbot.waitUntil(lambda: one.world.playback.position == 35, timeout=20000)
    assert not one.world.playback.playing
    one.toggle_play()
    qtbot.waitUntil(lambda: 0 < one.world.playback.position < 30, timeout=20000)
    one.world.playback.seek(33)  # ahead, while it plays
    assert one.world.playback.position == 33
    one.restart()
    qtbot.waitUntil(lambda: one.world.reel.made == 36, timeout=20000)
    assert one.world.state == "ready"


def test_after_a_recording_a_world_is_made_again(make_window, qtbot, tmp_path):
    record(tmp_path / "a.mp4", made(3))
    one = make_window()
    one.replay.open(tmp_path / "a.mp4")
    qtbot.waitUntil(lambda: one.replay.active, timeout=20000)
    qtbot.waitUntil(lambda: one.world.reel.made == 36, timeout=20000)
    save_project(Project("Owl", timeline=OWL), tmp_path / "owl.world")
    one.library.open(tmp_path / "owl.world")
    read(qtbot, one)
    assert not one.replay.active
    qtbot.waitUntil(lambda: "an owl 🦉" in [prompt for _, prompt in one.script.steps], timeout=20000)
    assert "scripted" in one.status.device.text()


def test_a_bad_recording_is_one_sentence_and_the_world_stays(make_window, qtbot, tmp_path):
    one = make_window()
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    (tmp_path / "v.mp4").write_bytes(b"x")
    one.replay.open(tmp_path / "v.mp4")
    qtbot.waitUntil(lambda: not one.opening.busy, timeout=20000)
    assert not one.replay.active
    assert "no telemetry" in one.notifications.history[-1].text
    assert not one.replay.active


def lose(folder, number=1, text=None):
    folder.mkdir(parents=True, exist_ok=True)
    lost = json.dumps({"path": None, "project": project_to_json(Project(f"Lost {number}", timeline=OWL))})
    (folder / f"{number}.recovery").write_text(lost if text is None else text)


def test_case_25_recover_brings_unsaved_work_back_and_keeps_it_safe(make_window, qtbot, tmp_path):
    lose(tmp_path / "config" / "unsaved")
    press("Recover")
    one = make_window(remember=True)
    qtbot.waitUntil(lambda: one.model.timeline == OWL, timeout=20000)
    assert one.files.changed
    copies = [name for name in os.listdir(tmp_path / "config" / "unsaved") if name.endswith(".recovery")]
    assert len(copies) == 1  # of this window: a crash now would lose nothing
    assert copies != ["1.recovery"]


@pytest.mark.parametrize("readonly", [False, True])
def test_case_25_discard_always_works(make_window, qtbot, tmp_path, readonly, monkeypatch):
    folder = tmp_path / "config" / "unsaved"
    lose(folder)
    lose(folder, 2, "{broken")
    if readonly:
        from pathlib import Path

        monkeypatch.setattr(
            Path, "unlink", lambda *_a, **_k: (_ for _ in ()).throw(PermissionError(13, "no"))
        )
    press("Discard")
    one = make_window(remember=True)
    qtbot.waitUntil(lambda: one.library.autosave is not None and one.world.blocks > 0, timeout=20000)
    assert one.model.timeline != OWL
    monkeypatch.undo()
    again = make_window(remember=True)  # a box here would block the test
    qtbot.waitUntil(lambda: again.library.autosave is not None and again.world.blocks > 0, timeout=20000)


def test_case_25_escape_throws_no_work_away(make_window, qtbot, tmp_path):
    """Nor does a logout while the question stands: the next start asks again."""
    folder = tmp_path / "config" / "unsaved"
    lose(folder)
    asked = []

    def look():
        box = QApplication.activeModalWidget()
        if isinstance(box, QMessageBox):
            asked.append([button.text() for button in box.buttons()])
            QTest.keyClick(box, Qt.Key.Key_Escape)

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(50)
    for number in (1, 2):
        one = make_window(remember=True)
        qtbot.waitUntil(lambda number=number: len(asked) == number, timeout=20000)
        qtbot.waitUntil(lambda one=one: one.library.autosave is not None, timeout=20000)
        assert (folder / "1.recovery").exists()
        assert one.model.timeline != OWL
        one.files.accept_present()
        one.close()
    assert set(asked[0]) == {"Recover", "Discard", "Later"}


def test_telemetry_and_panels_are_saved(make_window, qtbot, tmp_path, monkeypatch):
    one = make_window()
    qtbot.waitUntil(lambda: one.world.blocks > 2, timeout=20000)
    one.world.playback.pause()
    for name, kind in (("t.jsonl", ""), ("t", "Table (*.csv)"), ("p.png", "")):
        monkeypatch.setattr(
            file_dialogs,
            "save_file",
            lambda _w, _t, _s, kinds, name=name, kind=kind: file_dialogs.ended(tmp_path / name, kinds, kind),
        )
        one.actions_by_name["panels" if name == "p.png" else "telemetry"].trigger()
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["block"] == 0
    assert (tmp_path / "t.csv").read_text().startswith("block,first_frame")
    picture = QImage(str(tmp_path / "p.png"))
    assert picture.width() > 2 * one.panels.sparsity.width()
    assert picture.height() > 2 * (
        one.panels.sparsity.height() + one.panels.pages.height() + one.panels.memory.height()
    )


def test_case_20_a_recording_that_was_cut_off_is_told_of_once_and_opens(make_window, qtbot, tmp_path):
    one = make_window(remember=True)
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    one.recording_flow.begin(tmp_path / "live.mp4")
    qtbot.waitUntil(lambda: (tmp_path / "live.recording.jsonl").exists(), timeout=20000)
    one.world.record(None)
    qtbot.waitUntil(lambda: not (tmp_path / "live.recording.jsonl").exists(), timeout=20000)
    record(tmp_path / "live.recording.mp4", made(3))  # as a crash leaves it
    again = make_window(remember=True)
    assert "'live.recording.mp4'" in again.notifications.history[-1].text
    button = next(b for b in again.viewport.findChildren(QPushButton) if b.text() == "Open it")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: again.replay.active, timeout=20000)
    third = make_window(remember=True)
    assert not any("cut off" in notice.text for notice in third.notifications.history)
