"""Sparsity per head: Gini, threshold and density of every layer and head, now and over the blocks (DESIGN 3)."""

from __future__ import annotations

from collections import deque

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QWidget

from worldattention.app.panels.dock import PanelDock, Segments, flat_button, name_button, take_in
from worldattention.app.panels.heat import HeatPlot, Scale
from worldattention.app.panels.plot import Array, steps
from worldattention.app.texts import QT_TRANSLATE_NOOP, worded
from worldattention.core.telemetry import BlockTelemetry

GINI = QT_TRANSLATE_NOOP("Segments", "Gini")
THRESHOLD = QT_TRANSLATE_NOOP("Segments", "Threshold τ")
DENSITY = QT_TRANSLATE_NOOP("Segments", "Density")
_FIELDS = {GINI: "gini", THRESHOLD: "threshold", DENSITY: "density"}

HISTORY_BLOCKS = 240


class SparsityPanel(PanelDock):
    """Now: layers run right, heads up. History: blocks run right, layers up, each the mean of its heads."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("sparsity", parent)
        self._choice = Segments((GINI, THRESHOLD, DENSITY))
        self.history = flat_button("history")
        self.history.setCheckable(True)
        self.plot = HeatPlot()
        self.scale = Scale()
        self.fill(self.plot, (self.history, self._choice), self.scale)
        self._blocks: deque[BlockTelemetry] = deque(maxlen=HISTORY_BLOCKS)
        self.plot.describe = self._describe
        self.plot.hovered.connect(self._hovered)
        self._choice.chosen.connect(lambda _choice: self._draw())
        self.history.toggled.connect(lambda _on: self._draw())
        worded(self, self._speak)

    def _speak(self) -> None:
        self.set_title(self.tr("Sparsity per head"))
        self.setToolTip(self.tr("How unevenly each head attends: a high Gini keeps few blocks of the past."))
        self._choice.set_name(self.tr("Shown per head"))
        name_button(self.history, self.tr("Over the blocks: the mean of every layer's heads"))
        self.plot.setAccessibleName(self.tr("Sparsity of every head"))
        self.plot.set_hint(
            self.tr("How selectively each head reads the past is shown from the first block on.")
        )
        self._draw()

    @property
    def choice(self) -> Segments:
        """The selector of what is shown."""
        return self._choice

    def show_blocks(self, telemetry: list[BlockTelemetry]) -> None:
        """Takes in blocks, in order, and draws once."""
        take_in(self._blocks, telemetry)
        self._draw()

    def clear(self) -> None:
        """A new world: nothing to show yet."""
        self._blocks.clear()
        self.plot.clear_values()
        self.scale.clear()
        self.set_readout("")

    def _draw(self) -> None:
        if not self._blocks:
            return
        field = _FIELDS[self._choice.choice]
        if self.history.isChecked():
            layers = [_means(getattr(record, field)) for record in self._blocks]
            values, left = np.stack(layers, axis=1), self._blocks[0].block - 0.5
            shown = max(values.shape[1], 24)
            names = self.tr("block"), self.tr("layer")
        else:
            values, left = getattr(self._blocks[-1], field).T, -0.5
            shown = values.shape[1]
            names = self.tr("layer"), self.tr("head")
        rows, columns = values.shape
        self.plot.show_values(np.asarray(values, np.float32), QRectF(left, -0.5, columns, rows), 0.0, 1.0)
        self.plot.setRange(QRectF(left, -0.5, shown, rows), padding=0)
        first = round(left + 0.5)
        named = int(self.history.isChecked())  # at the left edge there is no room for a name
        self.plot.set_ticks("bottom", steps(first, first + shown - 1, 8), names[0], named=named)
        self.plot.set_ticks("left", steps(0, rows - 1, 4), names[1])
        known = bool(np.isfinite(values).any())
        self.scale.show_scale((0.0, 1.0) if known else None)
        self._hovered(self.plot.reading)

    def _describe(self, row: int, column: int) -> str:
        if self.history.isChecked():
            record = self._blocks[column]
            gini, tau, density = (
                float(_means(part)[row]) for part in (record.gini, record.threshold, record.density)
            )
            place = self.tr("block {0} layer {1}").format(record.block, row)
        else:
            record = self._blocks[-1]
            gini, tau, density = (
                float(part[column, row]) for part in (record.gini, record.threshold, record.density)
            )
            place = self.tr("layer {0} head {1}").format(column, row)
        return self.tr("{0} · Gini {1} · τ {2} · density {3}").format(
            place, _text(gini, ".2f"), _text(tau, ".2f"), _text(density, ".0%")
        )

    def _hovered(self, text: str) -> None:
        if text or not self._blocks:
            self.set_readout(text)
            return
        newest = self._blocks[-1]
        means = self.tr("Gini {0} · τ {1} · density {2}").format(
            _text(float(_mean(newest.gini)), ".2f"),
            _text(float(_mean(newest.threshold)), ".2f"),
            _text(float(_mean(newest.density)), ".0%"),
        )
        self.set_readout(means, newest.block)


def _means(heads: Array) -> Array:
    """[layers, heads] -> [layers]; NaN where no head has a value."""
    known = np.isfinite(heads)
    count = known.sum(axis=1)
    sums = np.where(known, heads, 0.0).sum(axis=1)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan).astype(np.float32)


def _mean(heads: Array) -> np.float32:
    """Over the heads that have a value; modes that do not route have none."""
    known = heads[np.isfinite(heads)]
    return np.float32(known.mean()) if known.size else np.float32(np.nan)


def _text(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "–"
