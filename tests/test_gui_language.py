"""The language changes while the window is open: every word of it, and nothing else."""

import re
import threading

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDialogButtonBox,
    QLabel,
    QLineEdit,
    QMenu,
    QTabBar,
    QTableView,
    QTreeWidget,
    QWidget,
)

from tests.window_hands import blocks, texts
from worldattention.app import appearance
from worldattention.app.appearance import Appearance, remembered
from worldattention.app.notifications import ERROR
from worldattention.app.settings_dialog import SettingsDialog

KINDS = QDialogButtonBox.StandardButton
PROMPTS = ("a red house by the sea", "a green hill in the rain", "an owl")


@pytest.fixture(autouse=True)
def _english_at_the_end(qapp):
    yield
    appearance.speak(qapp, "en")


def table_words(table):
    model = table.model()
    yield from (model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount()))
    for row in range(model.rowCount()):
        yield from (model.index(row, column).data() for column in range(model.columnCount()))


def own_words(part):
    """What a widget, an action or a menu says in any way."""
    if isinstance(part, QAction):
        yield from (part.text(), part.toolTip())
    if not isinstance(part, QWidget):
        return
    yield from (part.windowTitle(), part.toolTip(), part.accessibleName(), part.accessibleDescription())
    match part:
        case QAbstractButton() | QLabel():
            yield part.text()
        case QLineEdit():
            yield part.placeholderText()
        case QComboBox():
            yield from (part.itemText(index) for index in range(part.count()))
        case QMenu():
            yield part.title()
        case QTabBar():
            yield from (part.tabText(index) for index in range(part.count()))
        case QTableView():
            yield from map(str, table_words(part))
        case QTreeWidget():
            yield from (part.headerItem().text(column) for column in range(part.columnCount()))
            yield from (part.topLevelItem(row).data(0, 11) for row in range(part.topLevelItemCount()))


def words(window):
    """All of them, in the order of the window's parts."""
    panels = [panel.readout for panel in window.panels.all]
    painted = [*(panel.plot.hint for panel in (window.panels.sparsity, window.panels.memory)),
               window.panels.pages.scale.text, window.prompt_box.answer]  # fmt: skip
    view = window.viewport
    overlay = [view.chip, *view.lines, *([view.overlay.title, view.overlay.text] if view.overlay else [])]
    parts = (
        text
        for part in window.findChildren(QObject)
        if not part.objectName().startswith(("qt_dockwidget", "Scroll"))  # Qt's own, which nobody sees here
        for text in own_words(part)
    )
    return [str(text) for text in (*panels, *painted, *overlay, *parts) if text]


def latin(found):
    plain = (re.sub("<[^>]*>", " ", text) for text in found)
    return {word for text in plain for word in re.findall(r"[A-Za-z]{4,}", text)}


def korean(found):
    return [text for text in found if re.search("[가-힣]", text)]


def at_rest(make_window, qtbot, **more):
    """A window whose world stands still after a recall, with a word typed and steps to undo."""
    one = make_window(name="Untitled", **more)
    blocks(qtbot, one, 8)
    one.actions_by_name["play"].trigger()
    one.script.hold = threading.Event()  # nothing is made from here on
    one.world.playback.show_moment(20)
    one.model.put(40.0, PROMPTS[2])
    one.actions_by_name["overlay"].trigger()
    one.prompt_box.edit.setText("a red house")
    qtbot.waitUntil(lambda: one.prompt_box._foreseen is not None, timeout=20000)
    one.notifications.clear()
    qtbot.waitUntil(lambda: not one.panels._turns.isActive(), timeout=20000)
    return one


def speak(qapp, qtbot, window, language):
    appearance.speak(qapp, language)
    title = "파일(&F)" if language == "ko" else "&File"
    qtbot.waitUntil(lambda: window.menuBar().actions()[0].text() == title, timeout=20000)
    window.picture.refresh()
    qapp.processEvents()


def test_every_word_of_an_open_window_changes_and_comes_back(make_window, qtbot, qapp):
    one = at_rest(make_window, qtbot)
    english = words(one)
    assert not korean(english)
    world = (one.world.epoch, one.world.blocks, one.model.undo_stack.count(), one.world.playback.position)
    speak(qapp, qtbot, one, "ko")
    changed = words(one)
    assert len(changed) == len(english)
    known = latin(words(at_rest(make_window, qtbot)))
    left = {text for text in changed if latin([text]) - known}
    assert not left
    assert len(korean(changed)) > 150
    assert one.windowTitle().startswith("제목 없음")
    assert one.actions_by_name["undo"].text().startswith("실행 취소")
    assert not latin([one.actions_by_name["undo"].text()])
    speak(qapp, qtbot, one, "en")
    assert words(one) == english
    assert world == (
        one.world.epoch, one.world.blocks, one.model.undo_stack.count(), one.world.playback.position
    )  # fmt: skip


@pytest.mark.parametrize("button", [KINDS.Ok, KINDS.Apply])
def test_the_settings_change_it_at_once(make_window, qtbot, qapp, tmp_path, button):
    """Apply leaves the dialog open, in the new language and with the keyboard where it was."""
    one = make_window(remember=True)
    blocks(qtbot, one, 2)
    one.notifications.tell("Something is new.")
    dialog = one.settings.ask()
    dialog.language.setFocus()
    dialog.language.setCurrentIndex(2)
    QTest.mouseClick(dialog.buttons.button(button), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: one.menuBar().actions()[0].text() == "파일(&F)", timeout=20000)
    assert remembered(tmp_path / "config" / "window.ini") == Appearance("dark", "ko")
    shown = [each for each in one.findChildren(SettingsDialog) if each.isVisible()]
    if button == KINDS.Ok:
        assert not shown
    else:
        qtbot.waitUntil(
            lambda: [d.windowTitle() for d in one.findChildren(SettingsDialog) if d.isVisible()] == ["설정"],
            timeout=20000,
        )
        [again] = [each for each in one.findChildren(SettingsDialog) if each.isVisible()]
        assert again.language.currentIndex() == 2
        again.reject()
    assert not latin([one.status.notice.text(), *(notice.text for notice in one.notifications.shown)])
    made = one.world.blocks
    blocks(qtbot, one, made + 2)
    assert one.world.epoch == 0
    assert not [text for text in texts(one) if "language" in text]


def test_what_the_world_said_last_is_said_in_the_new_language(make_window, qtbot, qapp):
    """A failure stands over the picture until the restart, and an answer under the prompt until the next one."""
    one = make_window()
    blocks(qtbot, one, 1)
    one.prompt_box.show_acknowledged("an owl", 12, "0:09.0")
    assert "takes effect" in one.prompt_box.answer
    one.script.fail_at[one.world.blocks + 3] = RuntimeError("CUDA error: device-side assert")
    qtbot.waitUntil(lambda: one.world.state == "failed", timeout=20000)
    speak(qapp, qtbot, one, "ko")
    assert korean([one.viewport.overlay.title])
    assert korean([one.viewport.overlay.action])
    assert korean([one.prompt_box.answer])
    assert "an owl" in one.prompt_box.answer
    assert korean([one.status.device.text()])
    one.notifications.clear(ERROR)
