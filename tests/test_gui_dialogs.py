"""Every dialog: named for screen readers, reached by Tab, closed by Esc, its default button the sensible one."""

import pytest
from PySide6.QtCore import QFileInfo, Qt, QTimer
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListView,
    QListWidget,
    QPushButton,
)

from tests.source_texts import ROOT
from worldattention.app import file_dialogs

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


def test_a_file_dialog_opens_no_file_to_list_it(make_window, qtbot, qapp):
    """Reading some files, as below /proc, never ends: typing that folder's name froze the window."""
    one = make_window()
    seen = []

    def type_a_place():
        asked = qapp.activeModalWidget()
        name = asked.findChild(QLineEdit)
        name.clear()
        qtbot.keyClicks(name, "/proc/")
        view = asked.findChild(QListView)
        qtbot.waitUntil(lambda: view.model().rowCount(view.rootIndex()) > 0, timeout=20000)
        seen.append((asked.iconProvider(), asked.testOption(QFileDialog.Option.DontUseCustomDirectoryIcons)))
        asked.reject()

    QTimer.singleShot(0, type_a_place)
    assert file_dialogs.open_file(one, "Open", "", "Worlds (*.world);;All (*)") is None
    [(icons, plain)] = seen
    assert isinstance(icons, file_dialogs.KindIcons)
    assert plain
    assert icons.type(QFileInfo("/proc/kmsg")) == ""  # on some machines a reader waits there for ever


def test_every_dialog_for_files_is_made_by_the_one_helper():
    files = (ROOT / "app").rglob("*.py")
    assert {path.name for path in files if "QFileDialog" in path.read_text("utf-8")} == {"file_dialogs.py"}


@pytest.mark.parametrize(
    ("name", "kind", "ends"),
    [
        ("a", "Table (*.csv)", "a.csv"),
        ("a.jsonl", "Table (*.csv)", "a.jsonl"),
        ("a.mp4", "Lines (*.jsonl)", "a.mp4.jsonl"),
        ("1.5 s", "Table (*.csv)", "1.5 s.csv"),
    ],
)
def test_a_saved_file_ends_like_its_kind(tmp_path, name, kind, ends):
    assert file_dialogs.ended(tmp_path / name, "Lines (*.jsonl);;Table (*.csv)", kind) == tmp_path / ends
    assert file_dialogs.ended(tmp_path / name, "", "") == tmp_path / name


def test_alt_and_a_letter_open_every_menu(make_window):
    one = make_window()
    for letter, title in (("F", "&File"), ("E", "&Edit"), ("W", "&World"), ("V", "&View"), ("H", "&Help")):
        [action] = [action for action in one.menuBar().actions() if action.text() == title]
        assert QKeySequence.mnemonic(action.text()) == QKeySequence(f"Alt+{letter}")
