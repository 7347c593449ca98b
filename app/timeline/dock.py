"""The timeline's dock: tools, the painted view with its scroll bar, and the table twin."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QFrame,
    QMenu,
    QScrollBar,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from worldattention.app import icons
from worldattention.app.panels.dock import PanelDock, Segments, flat_button, name_button
from worldattention.app.texts import QT_TRANSLATE_NOOP, worded
from worldattention.app.timeline.marks import Marker
from worldattention.app.timeline.marks_table import MarksTableView
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.table import EventTableView
from worldattention.app.timeline.time_fields import TimeFields
from worldattention.app.timeline.view import TimelineView
from worldattention.core.timeline import Event

PAINTED = QT_TRANSLATE_NOOP("Segments", "Timeline")
TABLE = QT_TRANSLATE_NOOP("Segments", "Table")
_MILLI = 1000


class TimelineDock(PanelDock):
    """Shows a `TimelineModel` as a picture or as a table."""

    add_requested = Signal()

    def __init__(
        self, model: TimelineModel, actions: dict[str, QAction], parent: QWidget | None = None
    ) -> None:
        super().__init__("timeline", parent)
        self._model = model
        self.view = TimelineView(model)
        self.table = EventTableView(model)
        self.marks = MarksTableView(model)
        self.times = TimeFields(model)
        self._scroll = QScrollBar(Qt.Orientation.Horizontal)
        self._stack = QStackedWidget()
        self._segments = Segments((PAINTED, TABLE))
        self._actions = actions
        painted = QFrame()
        column = QVBoxLayout(painted)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.view, 1)
        column.addWidget(self._scroll)
        self._stack.addWidget(painted)
        tables = QSplitter(Qt.Orientation.Horizontal)
        tables.addWidget(self.table)
        tables.addWidget(self.marks)
        tables.setSizes([540, 460])
        tables.setChildrenCollapsible(False)
        self._stack.addWidget(tables)
        self._add = flat_button("add", 18)
        self._add.clicked.connect(self.add_requested)
        self._tools = {name: self._tool(name) for name in ("split", "delete", "undo", "redo", "fit")}
        self.fill(self._stack, [self.times, self._add, *self._tools.values(), self._segments])
        self._segments.chosen.connect(self._show)
        self.marks.seek_requested.connect(self.view.seek_requested)
        self.marks.moment_requested.connect(self.view.moment_requested)
        self.times.seek_requested.connect(self.view.seek_requested)
        self._scroll.valueChanged.connect(self._scrolled)
        self.view.range_changed.connect(self._range_changed)
        self.view.menu_requested.connect(self._menu)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.set_title(self.tr("Timeline"))
        self._scroll.setAccessibleName(self.tr("Scroll the timeline"))
        self._segments.set_name(self.tr("Events as"))
        name_button(self._add, self.tr("Add an event at the playhead"))
        for name, button in self._tools.items():
            name_button(button, self._actions[name].toolTip())

    def add_at(self, seconds: float) -> None:
        """A new event there, its prompt open for typing where the events are seen."""
        if self._stack.currentIndex() == 1:
            self.table.add_at(seconds)
        else:
            self.view.add_at(seconds)

    def show_table(self, table: bool) -> None:
        """Switches between picture and table."""
        self._segments.choose(TABLE if table else PAINTED)

    def _show(self, choice: str) -> None:
        self._stack.setCurrentIndex(1 if choice == TABLE else 0)

    def _tool(self, name: str) -> QToolButton:
        action = self._actions[name]
        button = flat_button(name, 18)
        button.setEnabled(action.isEnabled())
        button.clicked.connect(action.trigger)
        action.enabledChanged.connect(button.setEnabled)
        return button

    def _range_changed(self) -> None:
        view, bar = self.view, self._scroll
        bar.blockSignals(True)
        bar.setRange(0, max(0, round((view.end - view.span) * _MILLI)))
        bar.setPageStep(round(view.span * _MILLI))
        bar.setSingleStep(round(view.span * _MILLI / 20))
        bar.setValue(round(view.offset * _MILLI))
        bar.blockSignals(False)

    def _scrolled(self, value: int) -> None:
        self.view.set_range(value / _MILLI)

    def _menu(self, position: QPoint, what: Event | Marker | None) -> None:
        menu, view = QMenu(self), self.view
        names: tuple[str, ...] = ("split", "duplicate", "delete")
        if isinstance(what, Event):
            edit = menu.addAction(icons.icon("new", "muted"), self.tr("Edit prompt"))
            edit.triggered.connect(lambda: view.edit_prompt(what))
        elif isinstance(what, Marker):
            menu.addAction(self.tr("Name the marker")).triggered.connect(lambda: view.name_marker(what))
            menu.addAction(self.tr("Remove the marker")).triggered.connect(
                lambda: self._model.remove_marker(what)
            )
            names = ("undo", "redo")
        else:
            add = menu.addAction(icons.icon("add", "muted"), self.tr("Add event here"))
            seconds = view.layout_now.seconds(view.mapFromGlobal(position).x())
            add.triggered.connect(lambda: view.add_at(seconds))
            if seconds < self._model.locked:
                here = menu.addAction(icons.icon("branch", "muted"), self._actions["branch"].text())
                here.triggered.connect(lambda: view.moment_requested.emit(seconds))
                here.triggered.connect(self._actions["branch"].trigger)
            names = ("undo", "redo", "fit")
        menu.addSeparator()
        for name in names:
            menu.addAction(self._actions[name])
        menu.exec(position)
