"""Moments of the past as small pictures in a row: those that a recall brought back, or would."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFocusEvent,
    QFont,
    QImage,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QWidget

from worldattention.app import theme
from worldattention.app.texts import QT_TRANSLATE_NOOP, fit_text, plain_label, tip, translate, worded
from worldattention.app.timeline.layout import clock

CELL_WIDTH, CELL_HEIGHT = 70, 34
WOULD_RECALL = QT_TRANSLATE_NOOP("MemoryStrip", "would recall")
RECALLED = QT_TRANSLATE_NOOP("MemoryStrip", "recalled")
GAP = 6

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Memory:
    """A moment of the past as a picture: where it is from, and how well it fits.

    `score` is of a page that a recall chose; `similarity` of the prompt that would recall the moment.
    """

    picture: QImage | None
    score: float | None
    seconds: float
    end: float
    page: int
    similarity: float | None = None
    prompt: str = ""

    @property
    def fit(self) -> float | None:
        """The number that stands on the picture."""
        return self.score if self.similarity is None else self.similarity


class MemoryButton(QAbstractButton):
    """One moment; a click or Enter shows it."""

    pointed = Signal(object)  # Memory, or None

    def __init__(self, memory: Memory, parent: QWidget) -> None:
        super().__init__(parent)
        self.memory = memory
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(CELL_WIDTH, CELL_HEIGHT)
        self.show_memory(memory)

    def show_memory(self, memory: Memory) -> None:
        """Another moment in the same place."""
        self.memory = memory
        words = self.tr("{0} – {1}, page {2}").format(
            clock(memory.seconds, True), clock(memory.end, True), memory.page
        )
        if memory.similarity is not None:
            words += self.tr(", similarity {}").format(fit_text(memory.similarity))
        elif memory.score is not None:
            words += self.tr(", score {}").format(fit_text(memory.score))
        self.setAccessibleName(words)
        self.setAccessibleDescription(memory.prompt)
        self.setToolTip(tip(f"{words}\n{memory.prompt}".strip()))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(CELL_WIDTH, CELL_HEIGHT)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.pointed.emit(self.memory)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(None)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.pointed.emit(self.memory)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.pointed.emit(None)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            _paint_memory(painter, box, self.memory, self.hasFocus() or self.underMouse())
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("a recalled moment could not be painted")
        finally:
            painter.end()


class MemoryStrip(QWidget):
    """A caption and the moments behind it; as many as there is room for. Its height never changes."""

    chosen = Signal(float)  # seconds
    pointed = Signal(object)  # Memory under the mouse or with the focus, or None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.memories: tuple[Memory, ...] = ()
        self._most = 3
        self._words = ""
        self.setFixedHeight(CELL_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._caption = plain_label()
        self._caption.setObjectName("muted")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(GAP)
        self._row.addWidget(self._caption)
        self._buttons: list[MemoryButton] = []
        self._caption.hide()
        worded(self, self._speak)

    def _speak(self) -> None:
        words = translate("MemoryStrip", self._words) if self._words else ""
        self._caption.setText(words)
        self.setAccessibleName(words)
        self._show()

    @property
    def caption(self) -> str:
        """What the moments are."""
        return self._caption.text() if self.memories else ""

    @property
    def buttons(self) -> tuple[MemoryButton, ...]:
        """The moments that are shown."""
        return tuple(button for button in self._buttons if not button.isHidden())

    def set_room(self, pixels: int) -> None:
        """Shows no more moments than fit into `pixels` beside the caption."""
        words = self._caption.sizeHint().width() + GAP
        most = max(1, (pixels - words) // (CELL_WIDTH + GAP))
        if most != self._most:
            self._most = most
            self._show()

    def show_memories(self, memories: tuple[Memory, ...], caption: str) -> None:
        """Replaces what is shown, under WOULD_RECALL or RECALLED; nothing is shown of no memories."""
        self.memories, self._words = memories, caption
        self._speak()

    def _show(self) -> None:
        shown = self.memories[: self._most]
        self._caption.setVisible(bool(shown))
        while len(self._buttons) < len(shown):
            self._add_button(shown[len(self._buttons)])
        for index, button in enumerate(self._buttons):
            if index < len(shown):
                button.show_memory(shown[index])
            button.setVisible(index < len(shown))

    def _add_button(self, memory: Memory) -> None:
        button = MemoryButton(memory, self)
        button.clicked.connect(lambda: self.chosen.emit(button.memory.seconds))
        button.pointed.connect(self.pointed)
        self._row.addWidget(button)
        self._buttons.append(button)


def _paint_memory(painter: QPainter, box: QRectF, memory: Memory, strong: bool) -> None:
    clip = QPainterPath()
    clip.addRoundedRect(box, 5, 5)
    painter.save()
    painter.setClipPath(clip)
    painter.fillRect(box, QColor(theme.RAISED))
    if memory.picture is not None:
        painter.drawImage(box.adjusted(0, -1.5, 0, 1.5), memory.picture)
    if memory.fit is not None:
        label = QRectF(box.right() - 30, box.bottom() - 14, 30, 14)
        painter.fillRect(label, theme.with_alpha(theme.WINDOW, 0.8))
        painter.setFont(theme.font(10, QFont.Weight.DemiBold))
        painter.setPen(QColor(theme.TEXT))
        text = f"{memory.fit:.1f}" if memory.fit >= 1 else fit_text(memory.fit).replace("0.", ".", 1)
        painter.drawText(label, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme.ACCENT if strong else theme.RECALL), 2.0 if strong else 1.0))
    painter.drawPath(clip)
