"""Where people talk to the world: a line with history, its answer, and the memories that the world recalled."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QImage,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from worldattention.app import icons, theme
from worldattention.app.texts import QT_TRANSLATE_NOOP, plain_label, tip, translate
from worldattention.core.errors import UserError
from worldattention.core.timeline import check_prompt

HISTORY = 200
CELL = 78
"""Pixels of a recalled page's thumbnail and its gap."""
log = logging.getLogger(__name__)

PLACEHOLDER = QT_TRANSLATE_NOOP("PromptEdit", "Say what the world shall show, then press Enter")


class PromptEdit(QLineEdit):
    """A line with history (Up and Down), Enter for now and Ctrl+Enter for the timeline."""

    said = Signal(str)
    put = Signal(str)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt")
        self.setAccessibleName(self.tr("Prompt"))
        self.setPlaceholderText(translate("PromptEdit", PLACEHOLDER))
        self._history: list[str] = []
        self._at: int | None = None
        self._draft = ""

    @property
    def history(self) -> tuple[str, ...]:
        """Prompts of this sitting, oldest first."""
        return tuple(self._history)

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
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            (self.put if control else self.said).emit(self.text())
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._recall(-1 if key == Qt.Key.Key_Up else 1)
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def remember(self, prompt: str) -> None:
        """Adds to the history and empties the line."""
        if not self._history or self._history[-1] != prompt:
            self._history = [*self._history, prompt][-HISTORY:]
        self._at = None
        self.clear()

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


Understand = Callable[[str], tuple[str, bool]]
"""What a model makes of a text: a sentence, and whether it knows anything in it."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A recalled page as a picture: where it is from, and how well it fitted."""

    picture: QImage | None
    score: float | None
    seconds: float
    end: float
    page: int


class MemoryStrip(QWidget):
    """Thumbnails of the pages that the last recall brought back; a click goes there."""

    chosen = Signal(float)
    pointed = Signal(object)  # Memory under the mouse, or None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.memories: tuple[Memory, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Recalled memories"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(len(self.memories) * CELL, 34)

    def show_memories(self, memories: tuple[Memory, ...]) -> None:
        """Replaces what is shown."""
        self.memories = memories
        words = [self.tr("page {0} from {1:.1f} s").format(m.page, m.seconds) for m in memories]
        self.setAccessibleDescription(", ".join(words))
        scored = self.tr("{0}, score {1:z.2f}")
        lines = [
            scored.format(word, m.score) if m.score is not None else word
            for word, m in zip(words, memories, strict=True)
        ]
        self.setToolTip("\n".join(lines))
        self.updateGeometry()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            for index, memory in enumerate(self.memories):
                _paint_memory(painter, QRectF(index * CELL + 6, 1, CELL - 8, 32), memory)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the recalled pages could not be painted")
        finally:
            painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if (memory := self._at(event)) is not None:
            self.chosen.emit(memory.seconds)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.pointed.emit(self._at(event))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(None)

    def _at(self, event: QMouseEvent) -> Memory | None:
        index = int(event.position().x() // CELL)
        return self.memories[index] if 0 <= index < len(self.memories) else None


def _paint_memory(painter: QPainter, box: QRectF, memory: Memory) -> None:
    clip = QPainterPath()
    clip.addRoundedRect(box, 5, 5)
    painter.save()
    painter.setClipPath(clip)
    painter.fillRect(box, QColor(theme.RAISED))
    if memory.picture is not None:
        painter.drawImage(box.adjusted(0, -1.5, 0, 1.5), memory.picture)
    if memory.score is not None:
        label = QRectF(box.right() - 28, box.bottom() - 14, 28, 14)
        painter.fillRect(label, theme.with_alpha(theme.WINDOW, 0.75))
        painter.setFont(theme.font(10, QFont.Weight.DemiBold))
        painter.setPen(QColor(theme.RECALL))
        score = f"{memory.score:z.2f}".lstrip("0") or "0"
        painter.drawText(label, Qt.AlignmentFlag.AlignCenter, score)
    painter.restore()
    painter.setPen(QColor(theme.RECALL))
    painter.drawPath(clip)


class PromptBox(QWidget):
    """The prompt line, its button, and a line that answers."""

    said = Signal(str)
    put = Signal(str)
    left = Signal()
    memory_chosen = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.edit = PromptEdit()
        self.edit.said.connect(self._say)
        self.edit.put.connect(self._put)
        self.edit.left.connect(self.left)
        self.edit.textEdited.connect(self._typed)
        self.understand: Understand | None = None
        self._send = QPushButton(self.tr("Enter"))
        self._send.setIcon(icons.icon("send", icons.ON_PRIMARY))
        self._send.setProperty("primary", True)
        self._send.setMinimumHeight(36)
        self._send.setAccessibleName(self.tr("Say it now"))
        self._send.setToolTip(
            self.tr("Changes the world at the next block (Enter); Ctrl+Enter puts it on the timeline")
        )
        self._send.clicked.connect(lambda: self._say(self.edit.text()))
        self._answer = plain_label()
        self._answer.setObjectName("muted")
        self._answer.setAccessibleName(self.tr("Answer to the prompt"))
        self._answer.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._remembers = QLabel(self.tr("recalled"))
        self._remembers.setObjectName("muted")
        self._remembers.hide()
        self.memories = MemoryStrip()
        self.memories.chosen.connect(self.memory_chosen)
        self._lay_out()
        self.hint()

    @property
    def answer(self) -> str:
        """The line below the prompt."""
        return self._answer.text()

    def hint(self) -> None:
        """What the keys do."""
        self._show_answer(
            self.tr("Enter changes the world at the next block · Ctrl+Enter puts it on the timeline"),
            "muted",
        )

    def show_acknowledged(self, prompt: str, block: int, clock: str) -> None:
        """The prompt is taken, and from which block on it shows."""
        words = prompt if len(prompt) <= 60 else prompt[:59] + "…"
        taken = self.tr("✓ takes effect at block {0} ({1}): {2}").format(block, clock, words)
        self._show_answer(taken, "good")

    def show_refused(self, sentence: str) -> None:
        """The prompt is not taken, and why."""
        self._refuse(sentence)

    def show_nearest(self, text: str, nearest: str) -> None:
        """`text` is of another world: what would be shown instead, if it still stands in the line."""
        if text == self.edit.text():
            known = self.tr("This world does not know that; it will show the nearest: {}").format(nearest)
            self._show_answer(known, theme.WARNING)

    def show_memories(self, memories: tuple[Memory, ...]) -> None:
        """The pages that the last recall brought back."""
        self._remembers.setVisible(bool(memories))
        self.memories.show_memories(memories)

    def _lay_out(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(theme.SPACE)
        line.addWidget(self.edit, 1)
        line.addWidget(self._send)
        below = QHBoxLayout()
        below.setContentsMargins(4, 0, 0, 0)
        below.setSpacing(4)
        below.addWidget(self._answer, 1)
        below.addWidget(self._remembers)
        below.addWidget(self.memories)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(4)
        column.addLayout(line)
        column.addLayout(below)
        below.addStrut(34)

    def _say(self, text: str) -> None:
        if (prompt := self._usable(text)) is not None:
            self._show_answer(self.tr("sent …"), "muted")
            self.edit.remember(prompt)
            self.said.emit(prompt)

    def _put(self, text: str) -> None:
        if (prompt := self._usable(text)) is not None:
            self.edit.remember(prompt)
            self.put.emit(prompt)

    def _usable(self, text: str) -> str | None:
        prompt = text.strip()
        if not prompt:
            self.edit.setFocus()
            return None
        try:
            check_prompt(prompt)
        except UserError as error:
            self._refuse(str(error))
            return None
        return prompt

    def _typed(self, text: str) -> None:
        self._refuse("")
        if not text.strip() or self.understand is None:
            self.hint()
            return
        sentence, known = self.understand(text)
        self._show_answer(sentence, "muted" if known else "warning")

    def _refuse(self, sentence: str) -> None:
        refused = bool(sentence)
        if self.edit.property("refused") != refused:
            self.edit.setProperty("refused", refused)
            self.edit.style().unpolish(self.edit)
            self.edit.style().polish(self.edit)
        if refused:
            self._show_answer(sentence, "danger")

    def _show_answer(self, text: str, tone: str) -> None:
        self._answer.setText(text)
        self._answer.setToolTip(tip(text))
        theme.set_tone(self._answer, tone)
