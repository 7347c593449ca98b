"""A line that people type into with any keyboard: what an input method composes is not a command yet."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QLineEdit, QWidget

COMMANDS = (
    Qt.Key.Key_Return,
    Qt.Key.Key_Enter,
    Qt.Key.Key_Escape,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
)


UNLIMITED = 2**31 - 1
"""Qt would cut a text that is pasted at 32,767 characters, and nobody would be told how long it was."""


class LineEdit(QLineEdit):
    """Knows whether a syllable is still being composed (Korean, Japanese, Chinese)."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMaxLength(UNLIMITED)
        self.setText(text)
        self._preedit = ""

    @property
    def composing(self) -> bool:
        """Whether the input method holds letters that are not in the text yet: no key is a command now."""
        return bool(self._preedit)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._preedit = event.preeditString()
        super().inputMethodEvent(event)
