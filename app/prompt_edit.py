"""The line that people type prompts into: history, completion, and keys that wait for the input method."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtCore import QEvent, QRectF, QStringListModel, Qt, Signal
from PySide6.QtGui import QColor, QInputMethodEvent, QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QCompleter, QWidget

from worldattention.app import theme
from worldattention.app.line_edit import COMMANDS, LineEdit
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate, worded

HISTORY = 200
COMPLETIONS = 8
PLACEHOLDER = QT_TRANSLATE_NOOP("PromptEdit", "Say what the world shall show, then press Enter")

Complete = Callable[[str], tuple[str, ...]]
"""Whole prompts that go on from what is typed."""


class PromptEdit(LineEdit):
    """Enter for now, Ctrl+Enter for the timeline, Up and Down for what was said before.

    Where the world's language has a prompt that goes on from the typed text, its rest stands faintly behind the
    cursor: Right or End takes it, Ctrl+Space lists others.
    """

    said = Signal(str)
    put = Signal(str)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setObjectName("prompt")
        self.complete: Complete | None = None
        self._rest = ""  # of the completion, behind the text
        self._history: list[str] = []
        self._at: int | None = None
        self._draft = ""
        self._choices = QStringListModel(self)
        self._completer = QCompleter(self._choices, self)
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setWidget(self)
        self._completer.activated[str].connect(self._choose)  # type: ignore[index]
        self.textChanged.connect(self._find_rest)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("Prompt"))
        self.setPlaceholderText(translate("PromptEdit", PLACEHOLDER))
        self._find_rest(self.text())

    @property
    def history(self) -> tuple[str, ...]:
        """Prompts of this sitting, oldest first."""
        return tuple(self._history)

    @property
    def rest(self) -> str:
        """What Right would add to the text; empty where there is nothing to add."""
        at_end = self.cursorPosition() == len(self.text()) and not self.hasSelectedText()
        return self._rest if at_end and not self.composing and self.hasFocus() else ""

    def remember(self, prompt: str) -> None:
        """Adds to the history and empties the line."""
        if not self._history or self._history[-1] != prompt:
            self._history = [*self._history, prompt][-HISTORY:]
        self._at = None
        self.clear()

    def event(self, event: QEvent) -> bool:
        # With nothing to undo here, Ctrl+Z belongs to the timeline.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            undo = event.matches(QKeySequence.StandardKey.Undo) and not self.isUndoAvailable()
            redo = event.matches(QKeySequence.StandardKey.Redo) and not self.isRedoAvailable()
            if undo or redo:
                event.ignore()
                return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, control = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if self.composing and key in COMMANDS:
            return  # the input method's own: it takes or drops what it composes
        popup = self._completer.popup()
        if popup is not None and popup.isVisible() and key in COMMANDS:
            event.ignore()  # the list's own
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            (self.put if control else self.said).emit(self.text())
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._recall(-1 if key == Qt.Key.Key_Up else 1)
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        elif key == Qt.Key.Key_Space and control:
            self._list_choices()
        elif key in (Qt.Key.Key_Right, Qt.Key.Key_End) and self.rest and not event.modifiers():
            self.insert(self.rest)
        else:
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        super().inputMethodEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        rest = self.rest
        if not rest:
            return
        cursor = self.cursorRect()
        left = cursor.center().x() + 1
        room = QRectF(left, 0, self.width() - left - 12, self.height())
        text = self.fontMetrics().elidedText(rest, Qt.TextElideMode.ElideRight, int(room.width()))
        painter = QPainter(self)
        painter.setPen(QColor(theme.FAINT))
        painter.setFont(self.font())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()

    def _find_rest(self, text: str) -> None:
        going_on = (prompt for prompt in self._goes_on(text) if len(prompt) > len(text))
        self._rest = next(going_on, text)[len(text) :]
        self.setAccessibleDescription(
            self.tr("Right completes to: {}").format(text + self._rest) if self._rest else ""
        )
        self.update()

    def _goes_on(self, text: str) -> Iterator[str]:
        """Prompts that begin with `text`: those of the world's language, then what was said before."""
        if text.strip():
            known = self.complete(text) if self.complete is not None else ()
            for prompt in (*known, *reversed(self._history)):
                if prompt.lower().startswith(text.lower()):
                    yield prompt

    def _list_choices(self) -> None:
        choices = list(dict.fromkeys(self._goes_on(self.text())))
        self._choices.setStringList(choices[:COMPLETIONS])
        if choices:
            self._completer.complete()

    def _choose(self, prompt: str) -> None:
        self.setText(prompt)

    def _recall(self, step: int) -> None:
        if not self._history:
            return
        if self._at is None:
            if step > 0:
                return
            self._draft, self._at = self.text(), len(self._history)
        self._at = max(0, self._at + step)
        if self._at >= len(self._history):
            self._at = None
            self.setText(self._draft)
        else:
            self.setText(self._history[self._at])
