"""Sparsity per head: Gini, threshold and density of every layer and head as one image (DESIGN 3)."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QWidget

from worldattention.app.panels.dock import PanelDock, Segments
from worldattention.app.panels.plot import Array, HeatPlot, steps
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate
from worldattention.core.telemetry import BlockTelemetry

GINI = QT_TRANSLATE_NOOP("Segments", "Gini")
THRESHOLD = QT_TRANSLATE_NOOP("Segments", "Threshold τ")
DENSITY = QT_TRANSLATE_NOOP("Segments", "Density")


class SparsityPanel(PanelDock):
    """Layers run right, heads up; the title bar says the means, or the numbers under the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("sparsity", translate("SparsityPanel", "Sparsity per head"), parent)
        self._choice = Segments(self.tr("Shown per head"), (GINI, THRESHOLD, DENSITY))
        self.plot = HeatPlot()
        self.plot.setAccessibleName(self.tr("Sparsity of every head"))
        self.plot.setMouseEnabled(x=False, y=False)
        self.fill(self.plot, (self._choice,))
        self.setToolTip(self.tr("How unevenly each head attends: a high Gini keeps few blocks of the past."))
        self._telemetry: BlockTelemetry | None = None
        self.plot.describe = self._describe
        self.plot.hovered.connect(self._hovered)
        self._choice.chosen.connect(lambda _choice: self._draw())
        self.plot.setCursor(Qt.CursorShape.CrossCursor)

    @property
    def choice(self) -> Segments:
        """The selector of what is shown."""
        return self._choice

    def show_block(self, telemetry: BlockTelemetry) -> None:
        """Shows a block's heads."""
        self._telemetry = telemetry
        self._draw()

    def clear(self) -> None:
        """A new world: nothing to show yet."""
        self._telemetry = None
        self.plot.clear_values()
        self.set_readout("")

    def _draw(self) -> None:
        telemetry = self._telemetry
        if telemetry is None:
            return
        heads = {GINI: telemetry.gini, THRESHOLD: telemetry.threshold, DENSITY: telemetry.density}
        values = heads[self._choice.choice].T
        rows, columns = values.shape
        self.plot.show_values(np.asarray(values, np.float32), QRectF(-0.5, -0.5, columns, rows), 0.0, 1.0)
        self.plot.setRange(QRectF(-0.5, -0.5, columns, rows), padding=0)
        self.plot.set_ticks("bottom", steps(0, columns - 1, 10), self.tr("layer"))
        self.plot.set_ticks("left", steps(0, rows - 1, 4), self.tr("head"))
        self._hovered("")

    def _describe(self, head: int, layer: int) -> str:
        telemetry = self._telemetry
        if telemetry is None:
            return ""
        return self.tr("layer {0} head {1} · Gini {2:.2f} · τ {3:.2f} · {4:.0%}").format(
            layer,
            head,
            telemetry.gini[layer, head],
            telemetry.threshold[layer, head],
            telemetry.density[layer, head],
        )

    def _hovered(self, text: str) -> None:
        telemetry = self._telemetry
        if not text and telemetry is not None:
            text = self.tr("Gini {0} · τ {1} · density {2}").format(
                _mean(telemetry.gini, ".2f"),
                _mean(telemetry.threshold, ".2f"),
                _mean(telemetry.density, ".0%"),
            )
        self.set_readout(text)


def _mean(values: Array, form: str) -> str:
    """The mean of the heads that have a value; modes that do not route have none."""
    known = values[np.isfinite(values)]
    return format(float(known.mean()), form) if known.size else "–"
