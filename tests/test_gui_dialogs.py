"""Every dialog: named for screen readers, reached by Tab, closed by Esc, its default button the sensible one."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
)

DEFAULTS = {"settings": "OK", "export": "Export …", "about": "Close", "keys": "Close"}


@pytest.fixture(params=DEFAULTS)
def dialog(request, make_window, qtbot):
    one = make_window()
    qtbot.waitUntil(lambda: one.world.blocks > 1, timeout=20000)
    one.world.playback.pause()
    one.actions_by_name[request.param].trigger()
    made = next(found for found in one.findChildren(QDialog) if found.isVisible())
    made.kind = request.param
    qtbot.waitExposed(made)
    return made


def fields(dialog):
    return [field for field in dialog.findChildren(QLineEdit) + dialog.findChildren(QAbstractButton)
            + dialog.findChildren(QComboBox) + dialog.findChildren(QListWidget) if field.isVisible()]  # fmt: skip


def test_everything_has_a_name_and_is_reached_by_tab(dialog, qtbot):
    wanted = [
        field
        for field in fields(dialog)
        if field.isEnabled()
        and field.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not isinstance(field.parent(), QComboBox)
    ]
    assert wanted
    for field in wanted:
        text = field.text() if isinstance(field, QAbstractButton | QCheckBox) else ""
        assert field.accessibleName() or text, field
    reached, field = set(), dialog.focusWidget() or wanted[0]
    for _ in range(80):
        reached.add(field)
        field = field.nextInFocusChain()
    assert set(wanted) <= reached


def test_nothing_is_clipped_and_escape_closes(dialog, qtbot):
    for label in dialog.findChildren(QLabel):
        if label.isVisible() and not label.wordWrap() and label.text():
            assert label.width() >= label.sizeHint().width() - 1, label.text()
    for button in dialog.findChildren(QPushButton):
        if button.isVisible():
            assert button.width() >= button.minimumSizeHint().width() - 1, button.text()
    default = [button.text() for button in dialog.findChildren(QPushButton) if button.isDefault()]
    assert [text.replace("&", "") for text in default] == [DEFAULTS[dialog.kind]]
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not dialog.isVisible(), timeout=20000)
