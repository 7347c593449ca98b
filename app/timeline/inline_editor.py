"""A line editor over an event or a marker of the painted timeline."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from worldattention.app.line_edit import COMMANDS, LineEdit

WIDTH = 260


class InlineEditor(LineEdit):
    """Enter and leaving keep the text, Esc does not; `finished` is told once."""

    finished = Signal(str, bool)  # text, keep

    def __init__(self, name: str, text: str, box: QRect, parent: QWidget) -> None:
        super().__init__(text, parent)
        self._open = True
        self.setAccessibleName(name)
        left = max(box.left(), 4)
        width = min(max(box.width(), WIDTH), parent.width() - 8)
        self.setGeometry(min(left, parent.width() - width - 4), box.top() + 4, width, box.height() - 8)
        self.selectAll()

    def finish(self, keep: bool) -> None:
        """Closes the editor."""
        if self._open:
            self._open = False
            self.hide()
            self.finished.emit(self.text(), keep)
            self.deleteLater()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Passed on, these keys would reach the timeline, where Enter opens the editor anew.
        if event.key() not in COMMANDS:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self.composing:
            self.finish(keep=event.key() != Qt.Key.Key_Escape)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:  # its own context menu
            self.finish(keep=True)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # no key of the window while typing here
            return True
        return super().event(event)
