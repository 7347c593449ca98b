"""All live panels of a window: made, placed, fed together, and linked by the pages that they show."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow, QTabBar, QTabWidget

from worldattention.app.panels.dock import PanelDock
from worldattention.app.panels.memory import MemoryPanel
from worldattention.app.panels.pages import PagesPanel
from worldattention.app.panels.provenance import ProvenancePanel, Span, Thumbnail
from worldattention.app.panels.sparsity import SparsityPanel
from worldattention.app.panels.stages import StagesPanel
from worldattention.app.texts import worded
from worldattention.core.telemetry import BlockTelemetry, PageRecord

Panel = SparsityPanel | PagesPanel | ProvenancePanel | MemoryPanel | StagesPanel
HEIGHTS = (138, 176, 228)
LOW_HEIGHTS = (112, 152, 134)
"""In a window of less than LOW pixels: heads and pages are read best, so they keep their rows."""
LOW = 760
TURN_MS = 20
"""Between two panels that draw, so that nothing waits for all of them."""


class Panels(QObject):
    """Three places at the right: sparsity, pages or remembered moments, memory or time per block.

    `page_pointed` and `page_chosen` tell what any of them points at; `highlight` shows it in all.
    """

    page_pointed = Signal(object)  # PageRecord, or None
    page_chosen = Signal(object)  # PageRecord

    def __init__(self, window: QMainWindow, thumbnail: Thumbnail, span: Span) -> None:
        super().__init__(window)
        self._window = window
        self.sparsity, self.pages, self.memory = SparsityPanel(), PagesPanel(), MemoryPanel()
        self.stages, self.provenance = StagesPanel(), ProvenancePanel(thumbnail, span)
        self._fed = (self.sparsity, self.pages, self.provenance, self.memory, self.stages)
        self.all: tuple[PanelDock, ...] = self._fed
        places: tuple[PanelDock, ...] = (self.sparsity, self.pages, self.memory)
        for panel in places:
            window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, panel)
        window.tabifyDockWidget(self.pages, self.provenance)
        window.tabifyDockWidget(self.memory, self.stages)
        self.pages.raise_()
        self.memory.raise_()
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(0)
        self._settle.timeout.connect(self._dress)
        self._fresh: dict[Panel, list[BlockTelemetry]] = {}  # not taken in yet
        self._turns = QTimer(self)
        self._turns.setInterval(TURN_MS)
        self._turns.timeout.connect(self._take_turn)
        window.installEventFilter(self)
        worded(window, self._settle.start)
        for panel in self.all:
            for moved in (panel.visibilityChanged, panel.topLevelChanged, panel.dockLocationChanged):
                moved.connect(lambda *_: self._settle.start())
        for source in (self.pages, self.provenance):
            source.page_pointed.connect(self.page_pointed)
            source.page_chosen.connect(self.page_chosen)

    def size(self) -> None:
        """Gives the panels their first sizes."""
        places = [self.sparsity, self.pages, self.memory]
        self._window.resizeDocks(places, [400] * 3, Qt.Orientation.Horizontal)
        heights = HEIGHTS if self._window.height() >= LOW else LOW_HEIGHTS
        self._window.resizeDocks(places, list(heights), Qt.Orientation.Vertical)

    def show_blocks(self, telemetry: list[BlockTelemetry]) -> None:
        """Takes in blocks, in order; the panels draw one after the other, each once."""
        for panel in self._fed:
            self._fresh.setdefault(panel, []).extend(telemetry)
        if not self._turns.isActive():
            self._turns.start()
            self._take_turn()

    @property
    def settled(self) -> bool:
        """Whether every panel has taken in all blocks."""
        return not self._fresh

    def clear(self) -> None:
        """A new world: every panel says what it will show."""
        self._fresh.clear()
        for panel in self._fed:
            panel.clear()

    def _take_turn(self) -> None:
        if not self._fresh:
            self._turns.stop()
            return
        panel = next(iter(self._fresh))
        panel.show_blocks(self._fresh.pop(panel))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ChildPolished:  # tab bars come and go as docks are moved
            self._settle.start()
        return super().eventFilter(watched, event)

    def _dress(self) -> None:
        """Docks that came to share a place, or left one, are dressed for it."""
        places = set()
        for panel in self._window.findChildren(PanelDock):
            beside = [] if panel.isFloating() else self._window.tabifiedDockWidgets(panel)
            panel.set_tabbed(bool(beside))
            places.add(frozenset(dock.windowTitle() for dock in (panel, *beside)))
        for tabs in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if frozenset(tabs.tabText(index) for index in range(tabs.count())) not in places:
                tabs.hide()  # Qt left it behind when docks came together one by one, with the focus of Tab
            tabs.setAccessibleName(self.tr("Panels in this place"))
            tabs.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            tabs.setDrawBase(False)
            tabs.setExpanding(False)
            tabs.setElideMode(Qt.TextElideMode.ElideNone)

    def highlight(self, page: PageRecord | None) -> None:
        """Shows a page that is pointed at, wherever it stands."""
        for panel in (self.pages, self.provenance):
            panel.highlight(page)
