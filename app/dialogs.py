"""Small dialogs: keys, questions. Each asks one thing in plain words."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

from worldattention.app import theme
from worldattention.app.actions import SPECS
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate

_MORE_KEYS = (
    ("Enter", QT_TRANSLATE_NOOP("KeysDialog", "Say the prompt: the world changes at the next block")),
    ("Ctrl+Enter", QT_TRANSLATE_NOOP("KeysDialog", "Put the prompt on the timeline at the playhead")),
    ("Up, Down", QT_TRANSLATE_NOOP("KeysDialog", "Earlier and later prompts")),
    ("Right, End", QT_TRANSLATE_NOOP("KeysDialog", "Take the completion; Ctrl+Space lists others")),
    ("PgUp, PgDown", QT_TRANSLATE_NOOP("KeysDialog", "Select an event; with Shift, more of them")),
    ("Enter, F2", QT_TRANSLATE_NOOP("KeysDialog", "Edit the selected event's prompt")),
    (
        "Alt+Shift+Left, Right",
        QT_TRANSLATE_NOOP("KeysDialog", "Move the event's end; with Ctrl for Shift, its beginning"),
    ),
    ("Alt+Left, Alt+Right", QT_TRANSLATE_NOOP("KeysDialog", "Move the selected event by a block")),
    ("Esc", QT_TRANSLATE_NOOP("KeysDialog", "Cancel a drag, leave the prompt")),
    (
        QT_TRANSLATE_NOOP("KeysDialog", "Alt while dragging"),
        QT_TRANSLATE_NOOP("KeysDialog", "No snapping"),
    ),
    (
        QT_TRANSLATE_NOOP("KeysDialog", "Ctrl+wheel"),
        QT_TRANSLATE_NOOP("KeysDialog", "Zoom the timeline"),
    ),
)


class KeysDialog(QDialog):
    """The cheat sheet, made from the actions themselves."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keys"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(5)
        rows = [
            (", ".join(map(_key_text, spec.keys)), spec.title.removesuffix(" …"))
            for spec in SPECS.values()
            if spec.keys
        ]
        rows += [(_keys_text(keys), translate("KeysDialog", text)) for keys, text in _MORE_KEYS]
        half = -(-len(rows) // 2)
        for index, (keys, text) in enumerate(rows):
            column = 0 if index < half else 3
            key = QLabel(keys)
            key.setFont(theme.font(12, fixed=True))
            key.setProperty("tone", "accent")
            grid.addWidget(key, index % half, column, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(QLabel(text), index % half, column + 1)
        grid.setColumnMinimumWidth(2, 24)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 16)
        layout.setSpacing(16)
        layout.addLayout(grid)
        layout.addWidget(buttons)


def ask_save(parent: QWidget, name: str) -> str:
    """`save`, `discard` or `cancel`."""
    box = QMessageBox(
        QMessageBox.Icon.NoIcon,
        translate("Dialogs", "Unsaved changes"),
        translate("Dialogs", "Save the changes to “{}”?").format(name),
        parent=parent,
    )
    box.setTextFormat(Qt.TextFormat.PlainText)
    kinds = QMessageBox.StandardButton
    box.setStandardButtons(kinds.Save | kinds.Discard | kinds.Cancel)
    box.setDefaultButton(kinds.Save)
    return {int(kinds.Save): "save", int(kinds.Discard): "discard"}.get(box.exec(), "cancel")


def ask_recover(parent: QWidget, name: str) -> str:
    """`recover`, `discard`, or `later` (Esc, too): only a button that says so throws work away."""
    box = QMessageBox(
        QMessageBox.Icon.NoIcon,
        translate("Dialogs", "Unsaved work"),
        translate("Dialogs", "“{}” was not closed properly.").format(name),
        parent=parent,
    )
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(translate("Dialogs", "Its unsaved changes were kept."))
    recover = box.addButton(translate("Dialogs", "Recover"), QMessageBox.ButtonRole.AcceptRole)
    discard = box.addButton(translate("Dialogs", "Discard"), QMessageBox.ButtonRole.DestructiveRole)
    later = box.addButton(translate("Dialogs", "Later"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(recover)
    box.setEscapeButton(later)
    box.exec()
    clicked = box.clickedButton()
    return "recover" if clicked is recover else "discard" if clicked is discard else "later"


def _keys_text(keys: str) -> str:
    """Keys as they are called here; what is no key, as in `Ctrl+wheel`, is a text of its own."""
    names = [_key_text(key) for key in keys.split(", ")]
    return ", ".join(names) if all(names) else translate("KeysDialog", keys)


def _key_text(key: str) -> str:
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
