"""Memory per tier: a bar against its quota, traffic, and the stacked use over time (DESIGN 4)."""

from __future__ import annotations

import logging
import time
from collections import deque

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QVBoxLayout, QWidget

from worldattention.app import theme
from worldattention.app.panels.dock import PanelDock
from worldattention.app.panels.plot import Plot, steps
from worldattention.app.texts import tip, worded
from worldattention.core.telemetry import BlockTelemetry, TierUsage
from worldattention.core.units import format_bytes

ROW_HEIGHT = 22
TOP_ROW_HEIGHT = 18
MAX_BLOCKS = 1200
TRAFFIC_SECONDS = 5.0
PLOT_ROOM = 54
"""Pixels below the bars with which a curve can be read; with less, the bars stand alone."""

log = logging.getLogger(__name__)


class TierBars(QWidget):
    """One row a tier: name, bar of used against quota, numbers, traffic."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tiers: tuple[TierUsage, ...] = ()
        self._traffic: dict[str, tuple[float, float]] = {}
        self._multiprocessors: tuple[int, int] | None = None  # bytes of shared memory in each, and how many
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("Memory of each tier"))
        self.setToolTip(self.tr("↑ read from the tier, ↓ written to it, over the last five seconds"))
        self.show_tiers(self._tiers, self._traffic)

    def sizeHint(self) -> QSize:
        return QSize(320, TOP_ROW_HEIGHT + 3 * ROW_HEIGHT)

    def show_tiers(self, tiers: tuple[TierUsage, ...], traffic: dict[str, tuple[float, float]]) -> None:
        """Shows tiers with their (read, written) bytes a second."""
        self._tiers, self._traffic = tiers, traffic
        self.setAccessibleDescription("; ".join([self.shared, *(self.tier_words(tier) for tier in tiers)]))
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = (event.pos().y() - TOP_ROW_HEIGHT) // ROW_HEIGHT
            if 0 <= row < len(self._tiers):
                QToolTip.showText(event.globalPos(), tip(self.tier_words(self._tiers[row])), self)
                return True
        return super().event(event)

    def tier_words(self, tier: TierUsage) -> str:
        """All counters of a tier since the session began, a line each."""
        lines = [
            self.row_text(tier),
            self.tr("{0} read, {1} written this session").format(
                format_bytes(tier.read_bytes), format_bytes(tier.written_bytes)
            ),
            self.tr("{0} hits, {1} misses, {2} evicted, {3} dropped ({4} of them thinned)").format(
                tier.hits, tier.misses, tier.evictions, tier.drops, tier.thinned
            ),
            self.tr("{0} prefetched, {1} of them used; {2} too late, {3} refused").format(
                tier.prefetched, tier.prefetch_hits, tier.late, tier.refused
            ),
        ]
        for words, times in ((self.tr("read"), tier.read_ms), (self.tr("write"), tier.write_ms)):
            if times is not None:
                lines.append(self.tr("{0}: {1:.1f} ms, 99 of 100 under {2:.1f} ms").format(words, *times))
        return "\n".join(lines)

    def show_shared(self, multiprocessor_bytes: int, multiprocessors: int) -> None:
        """L0, the shared memory that the kernels compute in: a figure of the device, which never changes."""
        self._multiprocessors = multiprocessor_bytes, multiprocessors
        self.show_tiers(self._tiers, self._traffic)

    @property
    def shared(self) -> str:
        """The row of L0 in words."""
        return self.tr("L0 shared {}").format(self._shared_words())

    def _shared_words(self) -> str:
        if self._multiprocessors is None:
            return "–"
        each_bytes, count = self._multiprocessors
        if not count:
            return self.tr("none: a CPU has no shared memory for kernels")
        return self.tr("{0} × {1} multiprocessors, filled tile by tile").format(
            format_bytes(each_bytes), count
        )

    def row_text(self, tier: TierUsage) -> str:
        """The row in words."""
        pages = (self.tr("{} page") if tier.pages == 1 else self.tr("{} pages")).format(tier.pages)
        state = "" if tier.active else self.tr(" · off")
        used = self.tr("{0} of {1}").format(format_bytes(tier.used_bytes), format_bytes(tier.quota_bytes))
        return f"{theme.tier_name(tier.name)} {used} · {pages}{state}"

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self._tiers:
                self._top_row(painter)
            for index, tier in enumerate(self._tiers):
                top = TOP_ROW_HEIGHT + index * ROW_HEIGHT
                self._row(painter, QRectF(0, top, self.width(), ROW_HEIGHT), tier)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the tiers could not be painted")
        finally:
            painter.end()

    def _top_row(self, painter: QPainter) -> None:
        line = QRectF(0, 0, self.width(), 16)
        painter.setFont(theme.font(11, QFont.Weight.DemiBold))
        painter.setPen(QColor(theme.MUTED))
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, self.tr("L0 shared"))
        painter.setFont(theme.font(11))
        painter.drawText(line.adjusted(66, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self._shared_words())

    def _row(self, painter: QPainter, rect: QRectF, tier: TierUsage) -> None:
        colour = QColor(theme.tier_colour(tier.name) if tier.active else theme.FAINT)
        line = QRectF(rect.left(), rect.top(), rect.width(), 16)
        painter.setFont(theme.font(11, QFont.Weight.DemiBold))
        painter.setPen(colour)
        painter.drawText(
            line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, theme.tier_name(tier.name)
        )
        painter.setFont(theme.font(11))
        painter.setPen(QColor(theme.TEXT))
        numbers = self.row_text(tier).removeprefix(theme.tier_name(tier.name)).strip()
        painter.drawText(line.adjusted(66, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, numbers)
        read, written = self._traffic.get(tier.name, (0.0, 0.0))
        painter.setPen(QColor(theme.MUTED))
        flow = f"↑ {format_bytes(round(read))}/s  ↓ {format_bytes(round(written))}/s"
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, flow)
        bar = QRectF(rect.left(), rect.top() + 17, rect.width(), 4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.WINDOW))
        painter.drawRoundedRect(bar, 2, 2)
        share = min(tier.used_bytes / tier.quota_bytes, 1.0) if tier.quota_bytes else 0.0
        if share > 0:
            painter.setBrush(
                QColor(theme.WARNING) if tier.drops else colour
            )  # full is normal, dropping is not
            painter.drawRoundedRect(QRectF(bar.left(), bar.top(), max(5.0, bar.width() * share), 4), 2, 2)


class MemoryPanel(PanelDock):
    """Bars for now, a stacked plot for how it came to be."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("memory", parent)
        self.bars = TierBars()
        self.plot = Plot()
        self.plot.setMouseEnabled(x=False, y=False)
        self.plot.setMinimumHeight(1)  # 0 would be the toolkit's own
        self._curves: dict[str, pg.PlotCurveItem] = {}
        for tier in ("disk", "dram", "device"):  # the whole stack first, so that lower layers cover it
            curve = pg.PlotCurveItem(fillLevel=0)
            self.plot.addItem(curve)
            self._curves[tier] = curve
        self.quotas = [pg.InfiniteLine(angle=0) for _ in range(3)]
        for line in self.quotas:
            line.hide()
            self.plot.addItem(line)
        theme.dress(self.plot, self._colour_curves)
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.bars)
        layout.addWidget(self.plot, 1)
        self.fill(body)
        self._blocks: deque[int] = deque(maxlen=MAX_BLOCKS)
        self._used: deque[tuple[int, int, int]] = deque(maxlen=MAX_BLOCKS)
        self._moments: deque[tuple[float, dict[str, tuple[int, int]]]] = deque()
        self._tiers: tuple[TierUsage, ...] = ()  # of the newest block
        worded(self, self._speak)

    def _speak(self) -> None:
        self.set_title(self.tr("Memory per tier"))
        self.plot.setAccessibleName(self.tr("Bytes in each tier over time, stacked"))
        self.plot.set_hint(self.tr("What each tier holds is shown from the first block on."))
        self._draw_plot()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_room()

    def _share_room(self) -> None:
        """Bars first, once there are any; until then all of it is the sentence's that stands on the plot."""
        room = self.widget().height() - self.bars.sizeHint().height()
        self.bars.setVisible(bool(self._blocks))
        self.plot.setVisible(not self._blocks or room >= PLOT_ROOM)

    def _colour_curves(self) -> None:
        for tier, curve in self._curves.items():
            colour = theme.tier_colour(tier)
            curve.setPen(pg.mkPen(colour, width=1))
            curve.setBrush(pg.mkBrush(theme.shade(colour)))
        for line in self.quotas:
            line.setPen(pg.mkPen(theme.MUTED, width=1, style=Qt.PenStyle.DashLine))

    def show_blocks(self, telemetry: list[BlockTelemetry]) -> None:
        """Takes in blocks, in order, and draws once."""
        for record in telemetry:
            while self._blocks and self._blocks[-1] >= record.block:  # another branch made them
                self._blocks.pop()
                self._used.pop()
            used = {tier.name: tier.used_bytes for tier in record.tiers}
            self._blocks.append(record.block)
            self._used.append((used.get("device", 0), used.get("dram", 0), used.get("disk", 0)))
        if telemetry:
            self._tiers = telemetry[-1].tiers
            self.bars.show_tiers(self._tiers, self._rates(self._tiers))
            self._share_room()
            self._draw_plot()

    def clear(self) -> None:
        """A new world: nothing is stored."""
        self._blocks.clear()
        self._used.clear()
        self._moments.clear()
        self._tiers = ()
        for curve in self._curves.values():
            curve.setData([], [])
        for line in self.quotas:
            line.hide()
        self.plot.show_empty(True)
        self.bars.show_tiers((), {})
        self._share_room()
        self.set_readout("")

    def _draw_plot(self) -> None:
        if not self._blocks:
            return
        tiers = self._tiers
        self.plot.show_empty(False)
        blocks = np.array(self._blocks, float)
        stacked = np.cumsum(np.array(self._used, float) / 1e6, axis=1)
        for index, tier in enumerate(("device", "dram", "disk")):
            self._curves[tier].setData(blocks, stacked[:, index])
        top = self._draw_quotas(tiers, max(float(stacked[:, -1].max()), 1.0) * 1.15)
        self.plot.setRange(QRectF(blocks[0], 0, max(24.0, float(blocks[-1] - blocks[0])), top), padding=0)
        last = int(blocks[0] + max(24.0, blocks[-1] - blocks[0]))
        self.plot.set_ticks("bottom", steps(int(blocks[0]), last - 1, 8), self.tr("block"), named=1)
        self.plot.set_ticks("left", steps(0, int(0.94 * top), 6), "MB", first="{at:g} {unit}")
        hits = sum(tier.hits for tier in tiers)
        misses = sum(tier.misses for tier in tiers)
        total = sum(tier.used_bytes for tier in tiers)
        drops = sum(tier.drops for tier in tiers)
        written = sum(tier.written_bytes for tier in tiers if tier.name == "disk")
        text = self.tr("{0} · {1} hits · {2} misses").format(format_bytes(total), hits, misses)
        if drops:
            text += self.tr(" · {} dropped").format(drops)
        text += self.tr(" · {} written to disk this session").format(format_bytes(written))
        self.set_readout(text, self._blocks[-1])

    def _draw_quotas(self, tiers: tuple[TierUsage, ...], top: float) -> float:
        """Dashed lines at what the tiers may hold together, as far as they are near; returns the plot's top."""
        limits = np.cumsum([tier.quota_bytes / 1e6 for tier in tiers])
        near = [float(limit) for limit in limits if limit < 2 * top]
        for index, line in enumerate(self.quotas):
            line.setVisible(index < len(near))
            if index < len(near):
                line.setValue(near[index])
        return max([top, *(1.08 * limit for limit in near)])

    def _rates(self, tiers: tuple[TierUsage, ...]) -> dict[str, tuple[float, float]]:
        now = time.monotonic()
        self._moments.append((now, {tier.name: (tier.read_bytes, tier.written_bytes) for tier in tiers}))
        while len(self._moments) > 2 and now - self._moments[0][0] > TRAFFIC_SECONDS:
            self._moments.popleft()
        then, before = self._moments[0]
        seconds = max(now - then, 0.25)
        return {
            tier.name: (
                (tier.read_bytes - before.get(tier.name, (0, 0))[0]) / seconds,
                (tier.written_bytes - before.get(tier.name, (0, 0))[1]) / seconds,
            )
            for tier in tiers
        }
