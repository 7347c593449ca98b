"""pyqtgraph in the window's dress: thin axes, round ticks, and a sentence while there is nothing to see."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from worldattention.app import theme

Array = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


LABEL_PIXELS = 14
"""From one label of the left axis to the next."""


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
        self.getAxis("bottom").setHeight(20)
        self.setMinimumHeight(36)
        self._left: list[tuple[float, str]] = []  # labels of the left axis, before some are left out
        self._hint = QLabel("", self)
        self._hint.setObjectName("faint")
        self._hint.setWordWrap(True)
        self._hint.setMargin(8)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.show_empty(True)
        self.view.sigResized.connect(lambda _view: self._label_left())
        theme.dress(self, self._dress)

    def _dress(self) -> None:
        self.setBackground(theme.PANEL)
        for side in ("bottom", "left"):
            self.getAxis(side).setPen(pg.mkPen(theme.LINE, width=1))
            self.getAxis(side).setTextPen(QColor(theme.MUTED))

    def set_hint(self, sentence: str) -> None:
        """What will be seen here, said while there is nothing."""
        if self._hint is not None:
            self._hint.setText(sentence)

    @property
    def hint(self) -> str:
        """The sentence that stands here while there is nothing to see, else nothing."""
        return self._hint.text() if self._hint is not None and not self._hint.isHidden() else ""

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
        self,
        side: str,
        positions: Iterable[float],
        unit: str = "",
        first: str = "{unit} {at:g}",
        named: int = 0,
        also: Iterable[tuple[float, str]] = (),
    ) -> None:
        """Labels at `positions`; the one at `named` names the unit, which saves a line for an axis title.

        At the left every second one is left out while they would stand in each other's way. `also`: places
        with words of their own, below the plot.
        """
        ticks = [
            (at, first.format(unit=unit, at=at) if index == named and unit else f"{at:g}")
            for index, at in enumerate(positions)
        ]
        if side == "left":
            self._left = ticks
            self._label_left()
            return
        self.getAxis(side).setTicks([[*ticks, *also]])
        # pyqtgraph leaves out a label that does not fit, and some scripts are taller
        self.getAxis(side).setHeight(max(20, QFontMetrics(theme.font(10)).boundingRect(unit).height() + 8))

    def _label_left(self) -> None:
        low, high = self.view.viewRange()[1]
        pixels = self.view.height() / max(high - low, 1e-9)
        shown = [(at, text) for at, text in self._left if (high - at) * pixels > LABEL_PIXELS / 2]
        while len(shown) > 1 and (shown[1][0] - shown[0][0]) * pixels < LABEL_PIXELS:
            shown = shown[::2]
        self.getAxis("left").setTicks([shown])


def steps(first: int, last: int, most: int) -> list[int]:
    """At most `most` round numbers from `first` to `last`."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        numbers = list(range(-(-first // step) * step, last + 1, step))
        if len(numbers) <= most:
            return numbers
    return [first]
