"""The picture: sharp at every size and pixel ratio, with words over it, saved and shown full screen."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDockWidget

from tests.fakes_window import FakeSession, Script, opener
from worldattention.app import file_dialogs, playback, theme
from worldattention.app.main_window import MainWindow, Setup
from worldattention.app.upscale import MOST_PIXELS, enlarge
from worldattention.app.viewport import Viewport
from worldattention.core.project import Project
from worldattention.core.timeline import Event, make_timeline

STORY = make_timeline([Event(1, 0, 3, "a red house by the sea"), Event(2, 3, 60, "a green hill in the rain")])


@pytest.fixture
def window(qtbot, qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(playback, "FRAME_MS", 10.0)
    theme.apply_theme(qapp, "dark")
    made = []

    def make(**script):
        one = MainWindow(
            Setup(
                open_engine=opener(Script(**{"step_s": 0.02, "load_s": 0.01, **script})),
                open_session=FakeSession,
                configure=lambda settings: settings.engine_config(),
                project=Project("Test", timeline=STORY),
                cache_folder=tmp_path / "cache",
            )
        )
        made.append(one)
        one.show()
        qtbot.waitExposed(one)
        one.start()
        return one

    yield make
    for one in made:
        one.close()


def blocks(qtbot, one, count):
    qtbot.waitUntil(lambda: one.world.blocks >= count, timeout=60000)


def stripes(width=256, height=128):
    """Columns alternately black and white: any smearing makes grey."""
    frame = np.zeros((height, width, 3), np.uint8)
    frame[:, ::2] = 255
    return frame


def painted(viewport, ratio):
    """What the viewport paints on a screen with that many pixels a point."""
    image = QImage(
        round(viewport.width() * ratio), round(viewport.height() * ratio), QImage.Format.Format_RGB32
    )
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    viewport.devicePixelRatioF = lambda: ratio
    viewport._paint(painter)
    painter.end()
    return image


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("size", [(256, 128), (300, 300), (777, 411), (861, 433), (1921, 1003)])
def test_pixel_by_pixel_every_pixel_is_as_large_as_the_others(qtbot, qapp, size, ratio):
    theme.apply_theme(qapp, "dark")
    viewport = Viewport()
    qtbot.addWidget(viewport)
    viewport.resize(*size)
    viewport.set_smooth(False)
    viewport.show_frame(stripes())
    image = painted(viewport, ratio)
    rect = viewport.picture_rect()
    factor = rect.width() * ratio / 256
    assert factor == int(factor) == min(int(size[0] * ratio) // 256, int(size[1] * ratio) // 128)
    left, row = round(rect.left() * ratio), round((rect.top() + rect.height() / 2) * ratio)
    seen = [image.pixelColor(left + x, row).red() for x in range(256 * int(factor))]
    assert seen == [255 * (1 - x // int(factor) % 2) for x in range(256 * int(factor))]
    assert image.pixelColor(left - 1, row) == QColor(theme.WINDOW) if left else True


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_smooth_pictures_fill_the_viewport_and_end_on_whole_pixels(qtbot, ratio):
    viewport = Viewport()
    qtbot.addWidget(viewport)
    for width, height in ((333, 201), (860, 430), (1000, 300)):
        viewport.resize(width, height)
        viewport.show_frame(stripes())
        viewport.devicePixelRatioF = lambda: ratio
        rect = viewport.picture_rect()
        for edge in (rect.left(), rect.top(), rect.width(), rect.height()):
            assert abs(edge * ratio - round(edge * ratio)) < 1e-6
        assert (
            rect.width() * ratio > int(width * ratio) - 1 or rect.height() * ratio > int(height * ratio) - 1
        )
        assert rect.width() / rect.height() == pytest.approx(2.0, abs=0.03)


@pytest.mark.parametrize("magnification", [0.5, 1.0, 1.4, 2.0, 3.36, 4.0, 7.5])
def test_enlarging_is_catmull_rom_to_twice_the_size(magnification):
    def kernel(x):
        x = abs(x)
        if x < 1:
            return 1.5 * x**3 - 2.5 * x**2 + 1
        return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0

    row = np.random.default_rng().integers(0, 256, 40)
    frame = np.repeat(np.repeat(row[None, :, None], 11, 0), 3, 2).astype(np.uint8)
    factor = 2 if magnification > 1.4 else 1
    larger = enlarge(frame, magnification)
    assert larger.shape == (11 * factor, 40 * factor, 3)
    for place in range(4 * factor, 36 * factor):
        at = (place + 0.5) / factor - 0.5
        near = range(int(np.floor(at)) - 1, int(np.floor(at)) + 3)
        wanted = sum(kernel(at - index) * row[index] for index in near)
        assert larger[5 * factor, place, 1] == pytest.approx(np.clip(wanted, 0, 255), abs=2)


def test_a_large_picture_is_enlarged_no_more_than_the_window_has_time_for():
    frame = np.zeros((480, 832, 3), np.uint8)
    assert enlarge(frame, 3.9).shape == (960, 1664, 3)
    assert enlarge(np.zeros((1080, 1920, 3), np.uint8), 2.0).shape == (1080, 1920, 3)
    assert MOST_PIXELS >= 960 * 1664


def test_words_over_the_picture_come_and_go_with_a_key(window, qtbot):
    one = window(reported_ms=600.0)
    blocks(qtbot, one, 2)
    one.viewport.setFocus()
    assert one.viewport.lines == ()
    before = one.viewport.grab().toImage()
    QTest.keyClick(one.viewport, Qt.Key.Key_O)
    qtbot.waitUntil(lambda: len(one.viewport.lines) == 3, timeout=20000)
    place, prompt, speed = one.viewport.lines
    one.world.playback.pause()
    position = one.world.playback.position
    qtbot.waitUntil(
        lambda: (
            f"frame {position} of" in one.viewport.lines[0]
            and one.viewport.lines[0].endswith(f"block {position // 12}")
        ),
        timeout=20000,
    )
    one.world.playback.play()
    assert "frame" in place
    assert prompt in {"a red house by the sea", "a green hill in the rain"}
    assert speed == "made at 20.0 FPS, played at 16"  # 12 frames in 600 ms
    qtbot.waitUntil(lambda: "made at 20.0" in one.toolbar.rate_text, timeout=20000)  # one number everywhere
    corner = one.viewport.picture_rect().topLeft().toPoint()
    box = one.viewport.grab().toImage()
    assert box.pixelColor(corner.x() + 15, corner.y() + 40) != before.pixelColor(
        corner.x() + 15, corner.y() + 40
    )
    QTest.keyClick(one.viewport, Qt.Key.Key_O)
    assert one.viewport.lines == ()


def test_a_prompt_is_counted_down_to_its_first_picture(window, qtbot, monkeypatch):
    monkeypatch.setattr(playback, "FRAME_MS", 62.5)
    one = window(step_s=0.4)
    blocks(qtbot, one, 2)
    one.say("a blue sea")
    told = []
    one.world.said.connect(lambda message, _prompt: told.append(message))
    qtbot.waitUntil(lambda: "new prompt in" in one.viewport.countdown, timeout=20000)
    first = float(one.viewport.countdown.split()[-2])
    assert 0.0 < first < 10.0
    qtbot.waitUntil(lambda: one.viewport.countdown == "", timeout=20000)
    frame = one.world.geometry.frames_before_block(told[0].block)
    assert one.world.playback.position >= frame
    assert one.world.playback.position <= frame + 6
    one.say("a red sea")
    qtbot.waitUntil(lambda: one.viewport.countdown != "", timeout=20000)
    one.world.playback.pause()
    qtbot.waitUntil(lambda: one.viewport.countdown == "", timeout=20000)  # nothing comes while it stands


def test_a_snapshot_is_the_frame_as_it_was_made(window, qtbot, tmp_path, monkeypatch):
    one = window()
    blocks(qtbot, one, 2)
    one.world.playback.pause()
    asked = []
    target = tmp_path / "한글 폴더 ñ" / "picture"
    target.parent.mkdir()

    def answer(_parent, _title, start, kinds):
        asked.append(start)
        return file_dialogs.ended(target, kinds, kinds)

    monkeypatch.setattr(file_dialogs, "save_file", answer)
    one.viewport.setFocus()
    QTest.keyClick(one.viewport, Qt.Key.Key_P)
    saved = QImage(str(target) + ".png").convertToFormat(QImage.Format.Format_RGB888)
    frame = one.world.reel.frame(one.world.playback.position)
    pixels = np.array(saved.constBits()).reshape(128, -1, 3)
    assert np.array_equal(pixels[:, :256], frame)
    assert saved.text("Description") in {"a red house by the sea", "a green hill in the rain"}
    assert asked[0].endswith(".png")
    assert [path.name for path in target.parent.iterdir()] == ["picture.png"]
    assert any("Saved the picture" in notice.text for notice in one.notifications.history)
    one.picture.snapshot(tmp_path / "nowhere" / "picture.png")
    assert "There is no folder" in one.notifications.history[-1].text


def test_no_snapshot_before_the_first_picture(window, qtbot):
    one = window(step_s=30.0)
    one.picture.ask_snapshot()
    assert "no picture yet" in one.notifications.history[-1].text


def test_full_screen_is_the_picture_alone_and_escape_brings_all_back(window, qtbot):
    one = window()
    blocks(qtbot, one, 1)
    docks = [dock for dock in one.findChildren(QDockWidget) if dock.isVisible()]
    assert {one.timeline, one.panels.sparsity, one.panels.pages, one.panels.memory} <= set(docks)
    area = one.viewport.width() * one.viewport.height()
    QTest.keyClick(one.viewport, Qt.Key.Key_F11)
    assert one.isFullScreen()
    assert not any(dock.isVisible() for dock in docks)
    assert not one.menuBar().isVisible()
    qtbot.waitUntil(lambda: one.viewport.width() * one.viewport.height() > 1.3 * area, timeout=20000)
    assert one.prompt_box.isVisible()
    QTest.keyClick(one.viewport, Qt.Key.Key_Space)  # keys work on
    assert not one.world.playback.playing
    QTest.keyClick(one.viewport, Qt.Key.Key_Escape)
    assert not one.isFullScreen()
    assert all(dock.isVisible() for dock in docks)
    assert one.menuBar().isVisible()
    assert not one.actions_by_name["fullscreen"].isChecked()


def test_a_click_on_a_page_shows_the_past_and_a_button_leads_back(window, qtbot):
    one = window()
    blocks(qtbot, one, 8)
    page = one.panels.pages.history.pages[1]
    one.panels.page_chosen.emit(page)
    wanted = round(16 * one.model.page_span(page)[0])
    assert one.world.playback.position == wanted
    assert "the past · 0:0" in one.viewport.chip
    made = one.world.blocks
    blocks(qtbot, one, made + 3)  # the world goes on
    assert one.world.playback.position == wanted
    shown = np.array(one.viewport.image.constBits()).reshape(128, -1, 3)[:, :256]
    assert np.abs(shown.astype(int) - one.world.reel.frame(wanted)).max() < 20
    button = one.viewport._live
    assert button.isVisible()
    assert one.viewport.rect().contains(button.geometry())
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not one.world.playback.past
    assert one.world.playback.playing
    assert not button.isVisible()


def test_frames_are_stepped_while_the_world_goes_on(window, qtbot):
    one = window()
    blocks(qtbot, one, 4)
    one.viewport.setFocus()
    QTest.keyClick(one.viewport, Qt.Key.Key_Home)
    QTest.keyClick(one.viewport, Qt.Key.Key_Right)
    start = one.world.playback.position
    QTest.keyClick(one.viewport, Qt.Key.Key_Right)
    QTest.keyClick(one.viewport, Qt.Key.Key_Left)
    assert one.world.playback.position == start
    blocks(qtbot, one, one.world.blocks + 2)
    assert one.world.playback.position == start
    QTest.keyClick(one.viewport, Qt.Key.Key_End)
    assert one.world.playback.position == one.world.playback.live
