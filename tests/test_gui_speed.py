"""What keeps the window quick: small repaints, panels that take turns, and no filter over every event."""

import time

import numpy as np
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton

from tests.fakes_window import Script, scripted
from worldattention.app import playback, theme
from worldattention.app.main_window import MainWindow
from worldattention.app.panels.panels import TURN_MS
from worldattention.app.timeline import paint
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.view import TimelineView
from worldattention.core.timeline import Event, make_timeline

STORY = make_timeline([Event(1, 0, 5, "a red house by the sea"), Event(2, 5, 60, "a green hill in the rain")])


@pytest.fixture
def window(qtbot, qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(playback, "FRAME_MS", 10.0)
    theme.apply_theme(qapp, "dark")
    one = MainWindow(scripted(Script(step_s=0.02, load_s=0.01), STORY, tmp_path))
    one.show()
    qtbot.waitExposed(one)
    yield one
    one.close()


def pixels(view):
    image = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    bits = np.frombuffer(image.constBits(), np.uint32)
    return bits.reshape(image.height(), image.bytesPerLine() // 4)[:, : image.width()].copy()


@pytest.mark.parametrize("aim", [None, 62.5])
def test_a_moving_playhead_repaints_its_strip_and_all_that_changed_lies_in_it(qtbot, qapp, monkeypatch, aim):
    theme.apply_theme(qapp, "dark")
    model = TimelineModel()
    model.open(STORY)
    view = TimelineView(model)
    qtbot.addWidget(view)
    view.resize(900, 150)
    view.show()
    qtbot.waitExposed(view)
    painted = []
    plain = TimelineView.paintEvent
    monkeypatch.setattr(
        TimelineView, "paintEvent", lambda self, event: (painted.append(event.region()), plain(self, event))
    )
    view.fit()
    draw = np.random.default_rng()
    for start in (0.0, *draw.uniform(0, 58, 6), 60.0):
        model.set_playhead(start)
        model.aim_at(aim)
        before = pixels(view)
        strip = paint.playhead_strip(model, view.layout_now)
        qapp.processEvents()  # what was repainted as a whole for other reasons
        painted.clear()
        model.set_playhead(start + 1 / 16)
        qtbot.waitUntil(lambda: bool(painted), timeout=20000)
        region = painted[0]
        assert sum(rect.width() for rect in region) < (260 if aim is None else 460)
        changed = np.argwhere(pixels(view) != before)
        assert len(changed)
        both = region.united(strip)
        assert all(both.contains(QRect(int(x), int(y), 1, 1)) for y, x in changed)


def test_panels_draw_one_after_the_other_and_each_has_every_block(window, qtbot, monkeypatch):
    drawn = []
    for panel in window.panels._fed:
        show = panel.show_blocks

        def note(records, panel=panel, show=show):
            drawn.append((time.perf_counter(), panel.objectName(), [record.block for record in records]))
            show(records)

        monkeypatch.setattr(panel, "show_blocks", note)
    window.start()
    qtbot.waitUntil(lambda: window.world.state == "ready", timeout=20000)
    window.world.playback.play()
    qtbot.waitUntil(lambda: window.world.blocks >= 6, timeout=60000)
    window.world.playback.pause()
    qtbot.waitUntil(lambda: not window.panels._fresh and window.world.reel.made >= 72, timeout=20000)
    for name in ("sparsity", "pages", "provenance", "memory", "stages"):
        taken = [block for _, panel, blocks in drawn if panel == name for block in blocks]
        assert taken[:6] == list(range(6))
        assert taken == sorted(taken)
    gaps = np.diff([moment for moment, _, _ in drawn])
    assert np.median(gaps) > TURN_MS / 2000


def test_a_new_world_leaves_no_block_of_the_old_one_in_a_panel(window, qtbot):
    window.start()
    qtbot.waitUntil(lambda: window.world.state == "ready", timeout=20000)
    window.world.playback.play()
    qtbot.waitUntil(lambda: window.world.blocks >= 4, timeout=60000)
    window.panels.show_blocks(list(window.world.telemetry))
    window.panels.clear()
    assert not window.panels._fresh
    assert window.panels.stages.blocks == ()


def test_enter_presses_whatever_button_has_the_focus(window, qtbot):
    buttons = [
        button
        for button in window.findChildren(QAbstractButton)
        if button.isVisible() and button.isEnabled() and button.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert len(buttons) > 10
    for button in buttons:
        pressed = []
        button.blockSignals(True)  # what it does is another test's affair
        button.click = lambda pressed=pressed: pressed.append(True)
        button.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.waitUntil(button.hasFocus, timeout=20000)
        QTest.keyClick(button, Qt.Key.Key_Return)
        QTest.keyClick(button, Qt.Key.Key_Enter)
        assert pressed == [True, True], button.accessibleName()
        del button.click
        button.blockSignals(False)
