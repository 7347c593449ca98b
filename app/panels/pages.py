"""Recalled pages: pages x blocks as a heat map of score or similarity, with each page's tier (DESIGN 4, 6)."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from worldattention.app import theme
from worldattention.app.panels.dock import PanelDock, Segments
from worldattention.app.panels.heat import MARK, HeatPlot, Scale, Sign
from worldattention.app.panels.history import COLUMNS, PageHistory
from worldattention.app.panels.plot import steps
from worldattention.app.texts import QT_TRANSLATE_NOOP, fit_text, translate, worded
from worldattention.core.telemetry import BlockTelemetry, PageRecord

SCORE = QT_TRANSLATE_NOOP("Segments", "Score")
SIMILARITY = QT_TRANSLATE_NOOP("Segments", "Similarity")
LETTER_HEIGHT = 11
STRIP_SHARE = 0.035
"""Width of the tiers' strip as a share of the blocks beside it; as much of it is left free between them."""


class PagesPanel(PanelDock):
    """Blocks run right, pages up; a frame marks pages in the window, a strip at the left tells their tier."""

    page_pointed = Signal(object)  # PageRecord under the mouse, or None
    page_chosen = Signal(object)  # PageRecord

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("pages", parent)
        self._choice = Segments((SCORE, SIMILARITY))
        self.plot = HeatPlot()
        self.scale = Scale()
        self._strip = pg.ImageItem(axisOrder="row-major")
        self.plot.addItem(self._strip)
        self._frames = pg.PlotCurveItem(connect="pairs", antialias=False)
        self.plot.addItem(self._frames)
        self._marks = pg.ScatterPlotItem(size=5, pen=None, symbol="d")
        self.plot.addItem(self._marks)
        self._letters: list[pg.TextItem] = []
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.plot, 1)
        column.addWidget(self.scale)
        self.fill(body, (self._choice,))
        self.history = PageHistory()
        self._strip_middle = 0.0
        self.plot.describe = self._describe
        self.plot.view.sigResized.connect(lambda _view: self._letter())
        self.plot.hovered.connect(self._hovered)
        self.plot.pointed.connect(lambda row: self.page_pointed.emit(self._page(row)))
        self.plot.row_clicked.connect(lambda row: self.page_chosen.emit(self._page(row)))
        self._choice.chosen.connect(lambda _choice: self._draw())
        theme.dress(self.plot, self._colour_marks)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.set_title(self.tr("Recalled pages"))
        self.setToolTip(
            self.tr(
                "Which pages of the past each block looked for (brighter: a better match), and which it took "
                "into its window (framed). Grey: the page is there, but no recall has scored it yet. "
                "The strip at the left tells where a page lies: "
                "L1 device, L2 DRAM, L3 disk. A dash is a score below zero: no match."
            )
        )
        self._choice.set_name(self.tr("Shown per page"))
        self.plot.setAccessibleName(self.tr("Score of every page at every block"))
        self.plot.set_hint(
            self.tr("Each page of the past gets a row here, once eight latent frames are made.")
        )
        self._draw()

    @property
    def choice(self) -> Segments:
        """The selector of what is shown."""
        return self._choice

    def highlight(self, page: PageRecord | None) -> None:
        """Frames the row of a page that something else points at."""
        index = self.history.index_of(page.page) if page is not None else -1
        self.plot.mark_row(index // self.history.pages_per_row if index >= 0 else None)

    def show_blocks(self, telemetry: list[BlockTelemetry]) -> None:
        """Takes in blocks, in order, and draws once."""
        for record in telemetry:
            self.history.add(record)
        self._draw()

    def clear(self) -> None:
        """A new world: no page yet."""
        self.history = PageHistory()
        self.plot.clear_values()
        self._strip.clear()
        self._frames.setData([], [])
        self._marks.setData([], [])
        self._letter()
        self.scale.clear()
        self.set_readout("")

    def _colour_marks(self) -> None:
        self._frames.setPen(pg.mkPen(MARK, width=1))
        self._marks.setBrush(pg.mkBrush(MARK))
        self._draw()

    def _draw(self) -> None:
        history = self.history
        if not history.pages:
            return
        values = history.matrix("score" if self._choice.choice == SCORE else "similarity")
        rows, columns = values.shape
        known, there = values[np.isfinite(values)], history.banked()
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        low, high = min(low, 0.0), max(high, low + 1e-3)
        first, group = history.first_block, history.pages_per_row
        left = first - 0.5
        pages = rows * group
        self.plot.show_values(values, QRectF(left, -0.5, columns, pages), low, high, there)
        shown = min(max(columns, 24), COLUMNS)
        strip = shown * STRIP_SHARE
        self.scale.show_scale(
            (low, high) if known.size else None, self._signs(bool((np.isnan(values) & there).any()))
        )
        self._draw_strip(left - 2 * strip, strip, pages)
        self._draw_runs(left)
        self.plot.setRange(QRectF(left - 2.5 * strip, -0.5, shown + 2.5 * strip, max(pages, 4)), padding=0)
        self._letter()
        self.plot.set_ticks(
            "bottom",
            steps(first and first + shown // 32, first + shown - 1, 8),  # clear of the strip's name
            self.tr("block"),
            named=1,  # the strip may leave no room for a name at the edge
            also=((left - 1.5 * strip, self.tr("tier")),),
        )
        self.plot.set_ticks("left", steps(0, max(int(0.97 * pages), 4) - 1, 5), self.tr("page"))
        self._hovered(self.plot.reading)

    def _signs(self, unscored: bool) -> tuple[Sign, ...]:
        tiers = {page.tier for page in self.history.pages}
        signs = []
        if any(page.recalled for page in self.history.pages):
            signs.append(Sign(MARK, self.tr("in the window")))
        if unscored:
            signs.append(Sign(theme.HOVER, self.tr("not scored")))
        for tier in theme.TIER_LEVELS:
            if tier in tiers:
                name = theme.tier_name(tier)
                signs.append(Sign(theme.tier_colour(tier), name, name.split()[0]))
        return tuple(signs)

    def _draw_strip(self, left: float, width: float, pages: int) -> None:
        tiers = [page.tier for page in self.history.pages]
        inks = {tier: QColor(theme.tier_colour(tier)) for tier in theme.TIER_LEVELS}
        table = {tier: (ink.red(), ink.green(), ink.blue(), 255) for tier, ink in inks.items()}
        colours = np.zeros((pages, 1, 4), np.uint8)
        colours[: len(tiers), 0] = [table[tier] for tier in tiers]
        self._strip.setImage(colours, levels=(0, 255), autoLevels=False)
        self._strip.setRect(QRectF(left, -0.5, width, pages))
        self._strip_middle = left + width / 2

    def _letter(self) -> None:
        """The tier of each page in a letter, where every row is high enough for one."""
        view = self.plot.view
        roomy = view.height() >= LETTER_HEIGHT * view.viewRect().height()
        tiers = [page.tier for page in self.history.pages] if roomy else []
        while len(self._letters) < len(tiers):
            text = pg.TextItem("", anchor=(0.5, 0.5))
            text.setFont(theme.font(9))
            self.plot.addItem(text)
            self._letters.append(text)
        for index, item in enumerate(self._letters):
            item.setVisible(index < len(tiers))
            if index < len(tiers):
                item.setText(theme.TIER_LEVELS[tiers[index]], theme.WINDOW)
                item.setPos(self._strip_middle, index)

    def _draw_runs(self, left: float) -> None:
        x: list[float] = []
        y: list[float] = []
        marks_x, marks_y = [], []
        for run in self.history.runs():
            start, end = left + run.first, left + run.last + 1
            bottom, top = run.page - 0.5, run.page + 0.5
            x += [start, end, start, end, start, start, end, end]
            y += [bottom, bottom, top, top, bottom, top, bottom, top]
            marks_x.append(start + 0.5)
            marks_y.append(float(run.page))
        self._frames.setData(np.array(x), np.array(y))
        self._marks.setData(marks_x, marks_y)

    def _page(self, row: int) -> PageRecord | None:
        page = row * self.history.pages_per_row
        return self.history.pages[page] if 0 <= page < len(self.history.pages) else None

    def _describe(self, row: int, column: int) -> str:
        record = self._page(row)
        if record is None:
            return ""
        value = self.plot.values[row, column]
        kind = translate("Segments", self._choice.choice).lower()
        number = self.tr("not scored") if np.isnan(value) else f"{kind} {fit_text(float(value))}"
        mark = self.tr(" · in the window") if self.history.was_recalled(record.page, column) else ""
        tier = theme.tier_name(record.tier)
        block = self.history.first_block + column
        words = self.tr("page {0} block {1} · {2} · {3}").format(record.page, block, number, tier)
        return words + mark

    def _hovered(self, text: str) -> None:
        pages = self.history.pages
        if text or not pages:
            self.set_readout(text)
            return
        recalled = sum(page.recalled for page in pages)
        count = self.tr("{} page") if len(pages) == 1 else self.tr("{} pages")
        numbers = count.format(len(pages)) + self.tr(" · {} in the window").format(recalled)
        self.set_readout(numbers, self.history.newest_block)
