"""pyqtgraph in the window's dress: an image with axes, always drawn with levels, and what is under the mouse."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from worldattention.app import theme

Array = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


class Plot(pg.PlotWidget):
    """A quiet plot: thin axes in muted ink, no menu, no buttons."""

    _hint: QLabel | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        for part in (self, self.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setFrameShape(self.Shape.NoFrame)
        self.view = self.getPlotItem().getViewBox()
        self.getPlotItem().layout.setContentsMargins(0, 2, 4, 0)
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.setStyle(tickFont=theme.font(10), tickLength=3, tickTextOffset=4)
        self.getAxis("left").setWidth(44)
        self.getAxis("bottom").setHeight(18)
        self.setMinimumHeight(36)
        self._hint = QLabel(self.tr("appears with the first blocks"), self)
        self._hint.setObjectName("faint")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.show_empty(True)
        theme.dress(self, self._dress)

    def _dress(self) -> None:
        self.setBackground(theme.PANEL)
        for side in ("bottom", "left"):
            self.getAxis(side).setPen(pg.mkPen(theme.LINE, width=1))
            self.getAxis(side).setTextPen(QColor(theme.MUTED))

    def show_empty(self, empty: bool) -> None:
        """Says that there is nothing to see yet, instead of showing bare axes."""
        if self._hint is not None:
            self._hint.setVisible(empty)
        for side in ("bottom", "left"):
            self.showAxis(side, not empty)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if self._hint is not None:  # pyqtgraph resizes before it is built
            self._hint.setGeometry(self.rect())

    def set_ticks(
        self, side: str, positions: Iterable[float], unit: str = "", first: str = "{unit} {at:g}"
    ) -> None:
        """Labels at `positions`; the first one names the unit, which saves a line for an axis title."""
        ticks = [
            (at, first.format(unit=unit, at=at) if index == 0 and unit else f"{at:g}")
            for index, at in enumerate(positions)
        ]
        self.getAxis(side).setTicks([ticks])


class HeatPlot(Plot):
    """One matrix [rows, columns] as an image in viridis; NaN is drawn as ground."""

    hovered = Signal(str)
    pointed = Signal(int)  # row under the mouse, or -1
    row_clicked = Signal(int)

    _shown: tuple[Array, float, float, Mask | None] | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.image = pg.ImageItem(axisOrder="row-major")
        self.addItem(self.image)
        self.values: Array = np.zeros((0, 0), np.float32)
        self.describe: Callable[[int, int], str] = lambda row, column: ""
        self.scene().sigMouseMoved.connect(self._mouse_moved)
        self.scene().sigMouseClicked.connect(self._mouse_clicked)

    def show_values(
        self, values: Array, rect: QRectF, low: float, high: float, there: Mask | None = None
    ) -> None:
        """Draws `values` over `rect` (in the plot's units) with a fixed scale of `low`..`high`.

        `there` tells cells that exist though they have no value.
        """
        self.values = values
        self.show_empty(False)
        self._shown = values, low, high, there
        self._draw_image(self._shown)
        self.image.setRect(rect)

    def _draw_image(self, shown: tuple[Array, float, float, Mask | None]) -> None:
        # RGBA made here: one path for NaN, the levels are fixed, nothing is scaled behind our back.
        self.image.setImage(rgba(*shown), levels=(0, 255), autoLevels=False)

    def _dress(self) -> None:
        super()._dress()
        if self._shown is not None:
            self._draw_image(self._shown)

    def clear_values(self) -> None:
        """Shows nothing."""
        self._shown = None
        self.show_empty(True)
        self.values = np.zeros((0, 0), np.float32)
        self.image.clear()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit("")
        self.pointed.emit(-1)

    def _mouse_moved(self, position: Any) -> None:
        row, column = self._cell(position)
        self.hovered.emit(self.describe(row, column) if row >= 0 else "")
        self.pointed.emit(row)

    def _mouse_clicked(self, event: Any) -> None:
        row, _ = self._cell(event.scenePos())
        if row >= 0:
            self.row_clicked.emit(row)

    def _cell(self, position: Any) -> tuple[int, int]:
        """Row and column at a place of the scene; (-1, -1) outside."""
        if self.values.size:
            point: QPointF = self.image.mapFromScene(position)
            column, row = int(np.floor(point.x())), int(np.floor(point.y()))
            if 0 <= row < self.values.shape[0] and 0 <= column < self.values.shape[1]:
                return row, column
        return -1, -1


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


def steps(first: int, last: int, most: int) -> list[int]:
    """At most `most` round numbers from `first` to `last`."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        numbers = list(range(-(-first // step) * step, last + 1, step))
        if len(numbers) <= most:
            return numbers
    return [first]
