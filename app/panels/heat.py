"""A matrix as an image: viridis, a cell under the mouse or the keyboard's cursor, and a scale to read it by."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QLinearGradient,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from worldattention.app import theme
from worldattention.app.panels.plot import Array, Mask, Plot
from worldattention.app.texts import fit_text

_STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (1, 0),
    Qt.Key.Key_Down: (-1, 0),
    Qt.Key.Key_PageUp: (10, 0),
    Qt.Key.Key_PageDown: (-10, 0),
    Qt.Key.Key_Home: (0, -1_000_000),
    Qt.Key.Key_End: (0, 1_000_000),
}

MARK = "#ff5a36"
"""Frames over a heat map: viridis has nothing like it, and it is neither as dark nor as bright as its ends."""

log = logging.getLogger(__name__)


class HeatPlot(Plot):
    """One matrix [rows, columns] as an image in viridis; NaN is drawn as ground.

    With the focus, arrow keys move a cursor from cell to cell and Enter clicks; the cell is read out as the
    accessible description.
    """

    hovered = Signal(str)
    pointed = Signal(int)  # row under the mouse or the cursor, or -1
    row_clicked = Signal(int)

    _shown: tuple[Array, float, float, Mask | None] | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseEnabled(x=False, y=False)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.image = pg.ImageItem(axisOrder="row-major")
        self.addItem(self.image)
        self._marked, self._cursor = _outline(), _outline()
        for outline in (self._marked, self._cursor):
            self.addItem(outline)
        self.values: Array = np.zeros((0, 0), np.float32)
        self.area = QRectF()
        self.cell: tuple[int, int] | None = None  # of the keyboard's cursor
        self._under: tuple[int, int] | None = None  # the mouse, or the cursor
        self.describe: Callable[[int, int], str] = lambda row, column: ""
        self.scene().sigMouseMoved.connect(self._mouse_moved)
        self.scene().sigMouseClicked.connect(self._mouse_clicked)
        theme.dress(self, self._colour)

    def show_values(
        self, values: Array, rect: QRectF, low: float, high: float, there: Mask | None = None
    ) -> None:
        """Draws `values` over `rect` (in the plot's units) with a fixed scale of `low`..`high`.

        `there` tells cells that exist though they have no value.
        """
        self.values, self.area = values, rect
        self.show_empty(False)
        self._shown = values, low, high, there
        self._draw_image(self._shown)
        self.image.setRect(rect)
        self._draw_cursor()

    def _draw_image(self, shown: tuple[Array, float, float, Mask | None]) -> None:
        # RGBA made here: one path for NaN, the levels are fixed, nothing is scaled behind our back.
        self.image.setImage(rgba(*shown), levels=(0, 255), autoLevels=False)

    def _colour(self) -> None:
        self._marked.setPen(pg.mkPen(theme.TEXT, width=1, style=Qt.PenStyle.DashLine))
        self._cursor.setPen(pg.mkPen(theme.TEXT, width=1))
        if self._shown is not None:
            self._draw_image(self._shown)

    def clear_values(self) -> None:
        """Shows nothing."""
        self.show_empty(True)
        self.values = np.zeros((0, 0), np.float32)
        self.cell = self._under = self._shown = None
        self.image.clear()
        self.mark_row(None)
        self._draw_cursor()

    @property
    def reading(self) -> str:
        """The cell under mouse or cursor in words; nothing where there is none."""
        if (
            self._under is None
            or self._under[0] >= len(self.values)
            or self._under[1] >= self.values.shape[1]
        ):
            return ""
        return self.describe(*self._under)

    def mark_row(self, row: int | None) -> None:
        """Frames a row that something else points at."""
        if row is None or not 0 <= row < len(self.values):
            self._marked.setData([], [])
        else:
            self._marked.setData(*_corners(self._cell_rect(row, 0, self.values.shape[1])))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.cell is None and self.values.size and event.reason() != Qt.FocusReason.MouseFocusReason:
            self._go(0, self.values.shape[1] - 1)
        self._draw_cursor()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._draw_cursor()
        self._point(-1, -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if self.values.size and key in _STEPS and not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            row, column = self.cell or (0, self.values.shape[1] - 1)
            up, right = _STEPS[key]
            self._go(row + up, column + right)
        elif self.cell is not None and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.row_clicked.emit(self.cell[0])
        else:
            event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(-1, -1)

    def _go(self, row: int, column: int) -> None:
        rows, columns = self.values.shape
        self.cell = min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)
        self._point(*self.cell)
        self.setAccessibleDescription(self.reading)
        self._draw_cursor()

    def _point(self, row: int, column: int) -> None:
        self._under = (row, column) if row >= 0 else None
        self.hovered.emit(self.reading)
        self.pointed.emit(row)

    def _draw_cursor(self) -> None:
        if self.cell is None or not self.hasFocus() or not self.values.size:
            self._cursor.setData([], [])
            return
        row, column = min(self.cell[0], len(self.values) - 1), min(self.cell[1], self.values.shape[1] - 1)
        self._cursor.setData(*_corners(self._cell_rect(row, column, 1)))

    def _cell_rect(self, row: int, column: int, columns: int) -> QRectF:
        height = self.area.height() / self.values.shape[0]
        width = self.area.width() / self.values.shape[1]
        left, bottom = self.area.left() + column * width, self.area.top() + row * height
        return QRectF(left, bottom, columns * width, height)

    def _mouse_moved(self, position: Any) -> None:
        self._point(*self._cell(position))

    def _mouse_clicked(self, event: Any) -> None:
        row, column = self._cell(event.scenePos())
        if row >= 0:
            self.cell = row, column
            self._draw_cursor()
            self.row_clicked.emit(row)

    def _cell(self, position: Any) -> tuple[int, int]:
        """Row and column at a place of the scene; (-1, -1) outside."""
        if self.values.size:
            point: QPointF = self.image.mapFromScene(position)
            column, row = int(np.floor(point.x())), int(np.floor(point.y()))
            if 0 <= row < self.values.shape[0] and 0 <= column < self.values.shape[1]:
                return row, column
        return -1, -1


@dataclass(frozen=True, slots=True)
class Sign:
    """What a colour means; `short` stands for the words where they have no room."""

    colour: str
    words: str
    short: str = ""


class Scale(QWidget):
    """The key of a heat plot: what the colours mean, and any other signs, in one line."""

    HEIGHT = 16

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._low = self._high = ""
        self._signs: tuple[Sign, ...] = ()
        self.setFixedHeight(self.HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(200, self.HEIGHT)

    def show_scale(self, ends: tuple[float, float] | None, signs: tuple[Sign, ...] = ()) -> None:
        """The values of the darkest and the brightest colour, if any, and what other colours mean."""
        self._low, self._high = (fit_text(ends[0]), fit_text(ends[1])) if ends is not None else ("", "")
        self._signs = signs
        self.setAccessibleName(self.text)
        self.update()

    def clear(self) -> None:
        """Nothing is shown, so nothing is explained."""
        self.show_scale(None)

    @property
    def text(self) -> str:
        """The key in words."""
        ramp = f"{self._low} … {self._high}" if self._high else ""
        return " · ".join(part for part in (ramp, *(sign.words for sign in self._signs)) if part)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(theme.font(10))
            self._paint(painter)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the scale could not be painted")
        finally:
            painter.end()

    def _paint(self, painter: QPainter) -> None:
        left = self._paint_ramp(painter) if self._high else 0.0
        for sign, words in zip(self._signs, self._fitting(painter, self.width() - left), strict=True):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(sign.colour))
            painter.drawRect(QRectF(left, 5, 7, 7))
            left = self._write(painter, left + 10, words, theme.MUTED) + 6

    def _fitting(self, painter: QPainter, room: float) -> list[str]:
        """The signs' words, or their short forms where those have no room beside each other."""
        words = [sign.words for sign in self._signs]
        advance = QFontMetricsF(painter.font()).horizontalAdvance
        if sum(20 + advance(text) for text in words) - 10 <= room:
            return words
        return [sign.short or sign.words for sign in self._signs]

    def _paint_ramp(self, painter: QPainter) -> float:
        ramp = QRectF(self._write(painter, 0.0, self._low, theme.MUTED), 5, 44, 7)
        gradient = QLinearGradient(ramp.topLeft(), ramp.topRight())
        for index, colour in enumerate(theme.viridis()[::15]):
            gradient.setColorAt(index * 15 / 255, QColor(*(int(part) for part in colour)))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(gradient)
        painter.drawRect(ramp)
        return self._write(painter, ramp.right() + 4, self._high, theme.MUTED) + 8

    def _write(self, painter: QPainter, left: float, text: str, colour: str) -> float:
        width = QFontMetricsF(painter.font()).horizontalAdvance(text)
        painter.setPen(QColor(colour))
        painter.drawText(QRectF(left, 0, width + 1, self.HEIGHT), Qt.AlignmentFlag.AlignVCenter, text)
        return left + width + 4


def rgba(values: Array, low: float, high: float, there: Mask | None = None) -> npt.NDArray[np.uint8]:
    """Viridis colours [rows, columns, 4] of `values` between `low` and `high`.

    NaN becomes a calm grey where `there`, else the ground.
    """
    span = max(high - low, 1e-6)
    known = np.isfinite(values)
    index = np.clip((np.where(known, values, low) - low) / span * 255, 0, 255).astype(np.uint8)
    result = np.empty((*values.shape, 4), np.uint8)
    result[..., :3] = theme.viridis()[index]
    result[..., 3] = 255
    result[~known] = _ink(theme.WINDOW)
    if there is not None:
        result[~known & there] = _ink(theme.HOVER)
    return result


def _ink(name: str) -> tuple[int, int, int, int]:
    colour = QColor(name)
    return colour.red(), colour.green(), colour.blue(), 255


def _outline() -> pg.PlotCurveItem:
    item = pg.PlotCurveItem(antialias=False)
    item.setZValue(5)
    return item


def _corners(rect: QRectF) -> tuple[list[float], list[float]]:
    left, right, top, bottom = rect.left(), rect.right(), rect.top(), rect.bottom()
    return [left, right, right, left, left], [top, top, bottom, bottom, top]
