"""Time per stage of a block: stacked bars against the time that the block takes to play (DESIGN 2)."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from worldattention.app import theme
from worldattention.app.panels.dock import PanelDock, take_in
from worldattention.app.panels.plot import Plot, steps
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate, worded
from worldattention.core.geometry import FPS
from worldattention.core.telemetry import BlockTelemetry

BLOCKS = 48
STAGES = {
    QT_TRANSLATE_NOOP("Stages", "text"): "disk",
    QT_TRANSLATE_NOOP("Stages", "retrieve"): "recall",
    QT_TRANSLATE_NOOP("Stages", "install"): "good",
    QT_TRANSLATE_NOOP("Stages", "denoise"): "accent",
    QT_TRANSLATE_NOOP("Stages", "context"): "context",
    QT_TRANSLATE_NOOP("Stages", "decode"): "decode",
    QT_TRANSLATE_NOOP("Stages", "other"): "dropped",
}
"""Stage -> colour of the theme. Bottom to top, as a block goes through them; `other` is the rest of the total."""

log = logging.getLogger(__name__)


def stages_of(stage_ms: Mapping[str, float]) -> dict[str, float]:
    """Milliseconds of every stage of `STAGES`; together they are the total."""
    named = {name: max(stage_ms.get(name, 0.0), 0.0) for name in STAGES if name != "other"}
    return {**named, "other": max(stage_ms.get("total", 0.0) - sum(named.values()), 0.0)}


class StagesPanel(PanelDock):
    """The newest blocks as bars; the line is real time. With the focus, arrow keys read block after block."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("stages", parent)
        self.plot = BarPlot()
        self.plot.pointed.connect(self._read)
        self.key = StageKey()
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.plot, 1)
        column.addWidget(self.key)
        self.fill(body)
        self._blocks: deque[BlockTelemetry] = deque(maxlen=BLOCKS)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.set_title(self.tr("Time per block"))
        self.setToolTip(
            self.tr("Where the time of a block goes. Bars below the line are made faster than they play.")
        )
        if self._blocks:
            self.plot.draw(self.blocks)
            self._read()

    @property
    def blocks(self) -> tuple[BlockTelemetry, ...]:
        """The blocks that are drawn."""
        return tuple(self._blocks)

    def show_blocks(self, telemetry: list[BlockTelemetry]) -> None:
        """Takes in blocks, in order, and draws once."""
        take_in(self._blocks, telemetry)
        self.plot.draw(self.blocks)
        self._read()

    def clear(self) -> None:
        """A new world: no block yet."""
        self._blocks.clear()
        self.plot.draw(())
        self.set_readout("")

    def _read(self) -> None:
        if not self._blocks:
            return
        chosen = self.plot.chosen
        text = self.describe(self._blocks[-1 if chosen is None else min(chosen, len(self._blocks) - 1)])
        self.set_readout(text)
        self.plot.setAccessibleDescription(text)

    def describe(self, record: BlockTelemetry) -> str:
        """A block's total, what it may take, and its longest stages."""
        stages = sorted(stages_of(record.stage_ms).items(), key=lambda item: -item[1])
        longest = " · ".join(f"{translate('Stages', name)} {ms:.0f}" for name, ms in stages[:3] if ms >= 0.5)
        return self.tr("block {0}: {1:.0f} ms of {2:.0f} · {3}").format(
            record.block, record.stage_ms["total"], 1000.0 * record.frames / FPS, longest
        )


class BarPlot(Plot):
    """Stacked bars, one item a stage; `chosen` is the bar under the mouse or the keyboard's cursor."""

    pointed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chosen: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseEnabled(x=False, y=False)
        self.bars = {name: pg.BarGraphItem(x=[], height=[], width=0.8, pen=None) for name in STAGES}
        for bar in self.bars.values():
            self.addItem(bar)
        self._real_time = pg.InfiniteLine(angle=0)
        self.addItem(self._real_time)
        self._cursor = pg.InfiniteLine(angle=90)
        self._cursor.hide()
        self.addItem(self._cursor)
        self._first = self._count = 0
        self.scene().sigMouseMoved.connect(self._mouse_moved)
        theme.dress(self, self._colour)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("Milliseconds of every stage of the newest blocks"))
        self.set_hint(self.tr("What each block spends its time on is shown from the first block on."))

    def _colour(self) -> None:
        for name, bar in self.bars.items():
            bar.setOpts(brush=pg.mkBrush(getattr(theme.colours(), STAGES[name])))
        self._real_time.setPen(pg.mkPen(theme.TEXT, width=1, style=Qt.PenStyle.DashLine))
        self._cursor.setPen(pg.mkPen(theme.TEXT, width=1))

    def draw(self, blocks: tuple[BlockTelemetry, ...]) -> None:
        """Draws these blocks; none: the hint."""
        self.show_empty(not blocks)
        for part in (self._real_time, *self.bars.values()):
            part.setVisible(bool(blocks))
        self._count = len(blocks)
        if not blocks:
            self._choose(None)
            return
        self._first = blocks[0].block
        x = np.array([record.block for record in blocks], float)
        times = [stages_of(record.stage_ms) for record in blocks]
        bottom = np.zeros(len(blocks))
        for name, bar in self.bars.items():
            height = np.array([time[name] for time in times])
            bar.setOpts(x=x, y0=bottom, height=height, width=0.8)
            bottom = bottom + height
        budget = 1000.0 * blocks[-1].frames / FPS
        self._real_time.setValue(budget)
        # One slow block (the first loads what it needs) must not flatten all others.
        top = 1.12 * max(budget, float(np.quantile(bottom, 0.9)))
        shown = max(24, len(blocks))
        self.setRange(QRectF(self._first - 0.5, 0, shown, top), padding=0)
        self.set_ticks("bottom", steps(self._first, self._first + shown - 1, 8), self.tr("block"), named=1)
        self.set_ticks("left", steps(0, int(0.94 * top), 3), self.tr("ms"), first="{at:g} {unit}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None or not self._count:
            event.ignore()
            return
        self._choose(self._count - 1 if self.chosen is None else self.chosen + step)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._choose(None)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._choose(None)

    def _mouse_moved(self, position: Any) -> None:
        index = int(np.floor(self.view.mapSceneToView(position).x() + 0.5)) - self._first
        self._choose(index if 0 <= index < self._count else None)

    def _choose(self, index: int | None) -> None:
        self.chosen = min(max(index, 0), self._count - 1) if index is not None else None
        self._cursor.setVisible(self.chosen is not None)
        if self.chosen is not None:
            self._cursor.setValue(self._first + self.chosen)
        self.pointed.emit()


class StageKey(QWidget):
    """The stages' colours, in the order of the stack, and the line of real time."""

    HEIGHT = 16

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(self.HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        worded(self, self._speak)

    def _speak(self) -> None:
        words = ", ".join(translate("Stages", name) for name in STAGES)
        self.setAccessibleName(self.tr("From bottom to top: {0}; dashed: {1} FPS").format(words, FPS))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self.HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setFont(theme.font(10))
            self._paint(painter)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the key of the stages could not be painted")
        finally:
            painter.end()

    def _paint(self, painter: QPainter) -> None:
        left = 0.0
        named = [(translate("Stages", name), getattr(theme.colours(), ink)) for name, ink in STAGES.items()]
        for words, ink in (*named, (f"{FPS} FPS", "")):
            width = QFontMetricsF(painter.font()).horizontalAdvance(words)
            if left + 11 + width > self.width():
                break
            if ink:
                painter.fillRect(QRectF(left, 5, 7, 7), QColor(ink))
            else:  # as the plot draws real time
                painter.setPen(QPen(QColor(theme.TEXT), 1, Qt.PenStyle.DashLine))
                painter.drawLine(QPointF(left - 2, 8.5), QPointF(left + 8, 8.5))
            painter.setPen(QColor(theme.MUTED))
            box = QRectF(left + 11, 0, width + 2, self.HEIGHT)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, words)
            left += width + 17
