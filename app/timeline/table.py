"""The timeline as a table: the same events for keyboard, screen reader and exact numbers."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from worldattention.app import theme
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.rules import locked_sentence
from worldattention.core.errors import UserError
from worldattention.core.timeline import Event, Timeline

Index = QModelIndex | QPersistentModelIndex
COLUMNS = (
    QT_TRANSLATE_NOOP("EventTable", "Start (s)"),
    QT_TRANSLATE_NOOP("EventTable", "End (s)"),
    QT_TRANSLATE_NOOP("EventTable", "State"),
    QT_TRANSLATE_NOOP("EventTable", "Prompt"),
)
START, END, STATE, PROMPT = range(4)


def parse_seconds(text: str) -> float:
    """A time as people type it, with comma or point in every locale. Raises UserError."""
    try:
        value = float(text.strip().removesuffix("s").strip().replace(",", "."))
    except ValueError:
        raise UserError(f"'{text.strip()}' is no time in seconds: type a number such as 12.5.") from None
    if not math.isfinite(value):
        raise UserError(f"'{text.strip()}' is no time in seconds: type a number such as 12.5.")
    return value


class EventTable(QAbstractTableModel):
    """Events as rows; edits go through the model and its undo stack."""

    def __init__(self, model: TimelineModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._events: tuple[Event, ...] = ()
        self._states: list[str] = []
        self._refresh()
        model.changed.connect(self._refresh)
        model.world_changed.connect(self._refresh_states)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's names and defaults)
        return 0 if parent.isValid() else len(self._events)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return translate("EventTable", COLUMNS[section])
        return str(section + 1)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._events):
            return None
        event = self._events[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return (f"{event.start:.2f}", f"{event.end:.2f}", self._states[index.row()], event.prompt)[
                index.column()
            ]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in (START, END):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.FontRole and index.column() in (START, END):
            return theme.font(12, fixed=True)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        base = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return base if index.column() == STATE else base | Qt.ItemFlag.ItemIsEditable

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or not index.isValid():
            return False
        event = self._events[index.row()]
        if index.column() == PROMPT:
            return self._model.reword(event.id, str(value))
        return self._model.edit(
            self.tr("Change time"),
            lambda old: _retimed(old, event, index.column(), str(value), self._model.locked),
        )

    def event_at(self, row: int) -> Event | None:
        """The event of a row."""
        return self._events[row] if 0 <= row < len(self._events) else None

    def row_of(self, event_id: int) -> int:
        """The row of an event, or -1."""
        return next((row for row, event in enumerate(self._events) if event.id == event_id), -1)

    def _refresh(self) -> None:
        self.beginResetModel()
        self._events = self._model.timeline.events
        self._states = self._state_texts()
        self.endResetModel()

    def _refresh_states(self) -> None:
        states = self._state_texts()
        if states != self._states and len(states) == len(self._events):
            self._states = states
            self.dataChanged.emit(self.index(0, STATE), self.index(len(states) - 1, STATE))

    def _state_texts(self) -> list[str]:
        locked = self._model.locked
        return [
            self.tr("made")
            if event.end <= locked
            else self.tr("playing")
            if event.start < locked
            else self.tr("to come")
            for event in self._events
        ]


def _retimed(timeline: Timeline, event: Event, column: int, text: str, locked: float) -> Timeline:
    seconds = parse_seconds(text)
    edge = event.start if column == START else event.end
    if edge < locked or seconds < locked:
        raise UserError(locked_sentence())
    if column == START:
        return timeline.change(event.id, start=seconds)
    return timeline.change(event.id, end=seconds)


class EventTableView(QTableView):
    """Insert adds an event, Delete removes the selected one; a selection here is one on the timeline."""

    def __init__(self, model: TimelineModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._table = EventTable(model, self)
        self.setModel(self._table)
        self.setAccessibleName(self.tr("Events as a table"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().setDefaultSectionSize(26)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setSectionResizeMode(PROMPT, QHeaderView.ResizeMode.Stretch)
        for column in (START, END, STATE):
            self.setColumnWidth(column, 90)
        self.selectionModel().currentRowChanged.connect(self._row_changed)
        model.selection_changed.connect(self._show_selection)
        model.changed.connect(self._show_selection)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self._model.delete_selected()
        elif event.key() == Qt.Key.Key_Insert:
            self.add_at(max(self._model.timeline.seconds, self._model.locked))
        else:
            super().keyPressEvent(event)

    def add_at(self, seconds: float) -> None:
        """A new event there, its prompt open for typing."""
        if self._model.add(seconds, self.tr("New event")) and (added := self._model.selected) is not None:
            index = self._table.index(self._table.row_of(added.id), PROMPT)
            self.setCurrentIndex(index)
            self.edit(index)

    def _row_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        event = self._table.event_at(current.row())
        if event is not None:
            self._model.select(event.id)

    def _show_selection(self) -> None:
        selected = self._model.selected
        row = self._table.row_of(selected.id) if selected is not None else -1
        if row < 0:
            self.clearSelection()
        elif self.currentIndex().row() != row:
            self.selectRow(row)
