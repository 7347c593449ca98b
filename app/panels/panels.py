"""All live panels of a window: made, placed, fed together, and linked by the pages that they show."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QMainWindow

from worldattention.app.panels.dock import PanelDock
from worldattention.app.panels.memory import MemoryPanel
from worldattention.app.panels.pages import PagesPanel
from worldattention.app.panels.provenance import ProvenancePanel, Span, Thumbnail
from worldattention.app.panels.sparsity import SparsityPanel
from worldattention.app.panels.stages import StagesPanel
from worldattention.core.telemetry import BlockTelemetry, PageRecord

HEIGHTS = (158, 188, 224)


class Panels(QObject):
    """Three places at the right: sparsity (or time per block), pages (or remembered moments), memory.

    What one panel points at, all others show; `page_pointed` and `page_chosen` tell the rest of the window.
    """

    page_pointed = Signal(object)  # PageRecord, or None
    page_chosen = Signal(object)  # PageRecord

    def __init__(self, window: QMainWindow, thumbnail: Thumbnail, span: Span) -> None:
        super().__init__(window)
        self._window = window
        self.sparsity, self.pages, self.memory = SparsityPanel(), PagesPanel(), MemoryPanel()
        self.stages, self.provenance = StagesPanel(), ProvenancePanel(thumbnail, span)
        self.all: tuple[PanelDock, ...] = (
            self.sparsity,
            self.stages,
            self.pages,
            self.provenance,
            self.memory,
        )
        for panel in (self.sparsity, self.pages, self.memory):
            window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, panel)
        window.tabifyDockWidget(self.sparsity, self.stages)
        window.tabifyDockWidget(self.pages, self.provenance)
        self.sparsity.raise_()
        self.pages.raise_()
        for panel in (self.pages, self.provenance):
            panel.page_pointed.connect(self.highlight)
            panel.page_pointed.connect(self.page_pointed)
            panel.page_chosen.connect(self.page_chosen)

    def size(self) -> None:
        """Gives the panels their first sizes."""
        places = [self.sparsity, self.pages, self.memory]
        self._window.resizeDocks(places, [400] * 3, Qt.Orientation.Horizontal)
        self._window.resizeDocks(places, list(HEIGHTS), Qt.Orientation.Vertical)

    def show_blocks(self, telemetry: list[BlockTelemetry]) -> None:
        """Takes in blocks, in order; every panel draws once."""
        for panel in (self.sparsity, self.stages, self.pages, self.provenance, self.memory):
            panel.show_blocks(telemetry)

    def clear(self) -> None:
        """A new world: every panel says what it will show."""
        for panel in (self.sparsity, self.stages, self.pages, self.provenance, self.memory):
            panel.clear()

    def highlight(self, page: PageRecord | None) -> None:
        """Shows a page that is pointed at, wherever it stands."""
        for panel in (self.pages, self.provenance):
            panel.highlight(page)
