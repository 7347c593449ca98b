"""The timeline as a table: the same events for keyboard, screen reader and exact numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import groupby
from operator import attrgetter
from typing import Any

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from worldattention.app import theme
from worldattention.app.texts import QT_TRANSLATE_NOOP, worded
from worldattention.app.timeline.keys import move_key
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.rows import Index, RowModel, RowTable
from worldattention.app.timeline.words import state_of, states
from worldattention.core.timeline import Event

COLUMNS = (
    QT_TRANSLATE_NOOP("EventTable", "Start (s)"),
    QT_TRANSLATE_NOOP("EventTable", "End (s)"),
    QT_TRANSLATE_NOOP("EventTable", "State"),
    QT_TRANSLATE_NOOP("EventTable", "Prompt"),
)
START, END, STATE, PROMPT = range(4)


class EventTable(RowModel):
    """Events as rows; edits go through the model and its undo stack."""

    numbers = (START, END)

    def __init__(self, model: TimelineModel, parent: QObject | None = None) -> None:
        super().__init__("EventTable", COLUMNS, parent)
        self._model = model
        self._events: tuple[Event, ...] = ()
        self._locked = 0.0  # of which the states tell
        self._rows: dict[int, int] = {}
        self._refresh()
        model.changed.connect(self._refresh)
        model.world_changed.connect(self._refresh_states)

    def count(self) -> int:
        return len(self._events)

    def may_edit(self, row: int, column: int) -> bool:
        return column != STATE

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._events):
            return None
        event = self._events[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            if index.column() == STATE:
                return states()[state_of(event, self._locked)]
            return {START: f"{event.start:.2f}", END: f"{event.end:.2f}", PROMPT: event.prompt}[
                index.column()
            ]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in self.numbers:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.FontRole and index.column() in (START, END):
            return theme.font(12, fixed=True)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or not index.isValid():
            return False
        event = self._events[index.row()]
        if index.column() == PROMPT:
            return self._model.reword(event.id, str(value))
        return self._model.retime(event.id, "start" if index.column() == START else "end", str(value))

    def event_at(self, row: int) -> Event | None:
        """The event of a row."""
        return self._events[row] if 0 <= row < len(self._events) else None

    def row_of(self, event_id: int) -> int:
        """The row of an event, or -1."""
        return self._rows.get(event_id, -1)

    def _refresh(self) -> None:
        events, before = self._model.timeline.events, self._events
        if [event.id for event in events] == [event.id for event in before]:
            self._events = events
            changed = [row for row, event in enumerate(events) if event is not before[row]]
            if changed:
                first, last = self.index(changed[0], START), self.index(changed[-1], PROMPT)
                self.dataChanged.emit(first, last)
            return
        self.beginResetModel()
        self._events, self._locked = events, self._model.locked
        self._rows = {event.id: row for row, event in enumerate(events)}
        self.endResetModel()

    def _refresh_states(self) -> None:
        """Of the events between the past's end as it was told and as it is now."""
        before, self._locked = self._locked, self._model.locked
        low, high = sorted((before, self._locked))
        first = bisect_left(self._events, low, key=attrgetter("end"))
        last = bisect_right(self._events, high, lo=first, key=attrgetter("start")) - 1
        if before != self._locked and first <= last:
            self.dataChanged.emit(self.index(first, STATE), self.index(last, STATE))


class EventTableView(RowTable):
    """Does with keys what the mouse does on the painted timeline; a selection here is one there.

    Insert or A adds, Delete removes, S splits at the playhead, M marks it, Alt with the arrows moves by a block,
    with Shift the end, with Ctrl the beginning; Enter or F2 edits a cell.
    """

    def __init__(self, model: TimelineModel, parent: QWidget | None = None) -> None:
        super().__init__(PROMPT, parent)
        self._model = model
        self._table = EventTable(model, self)
        self._syncing = False
        self.setModel(self._table)
        self.size_columns({START: 84, END: 84, STATE: 84})
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.selectionModel().selectionChanged.connect(self._rows_selected)
        model.selection_changed.connect(self._show_selection)
        model.changed.connect(self._show_selection)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("Events as a table"))
        self._table.speak()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if event.key() == Qt.Key.Key_Delete:
            self._model.delete_selected()
        elif plain and event.key() in (Qt.Key.Key_Insert, Qt.Key.Key_A):
            self.add_at(max(self._model.timeline.seconds, self._model.locked))
        elif plain and event.key() == Qt.Key.Key_S:
            self._model.split()
        elif plain and event.key() == Qt.Key.Key_M:
            self._model.toggle_marker()
        elif not move_key(self._model, event):
            super().keyPressEvent(event)

    def add_at(self, seconds: float) -> None:
        """A new event there, its prompt open for typing."""
        if self._model.add(seconds, self.tr("New event")) and (added := self._model.selected) is not None:
            index = self._table.index(self._table.row_of(added.id), PROMPT)
            self.setCurrentIndex(index)
            self.edit(index)

    def _rows_selected(self) -> None:
        if self._syncing:
            return
        rows = self._selected_rows()
        current = self.currentIndex().row()
        rows.sort(key=lambda row: (row == current, row))  # the row under the cursor last
        events = [event for row in rows if (event := self._table.event_at(row)) is not None]
        self._model.select_all(event.id for event in events)

    def _selected_rows(self) -> list[int]:
        """In order."""
        chosen = self.selectionModel().selection()
        spans = [chosen.at(number) for number in range(chosen.count())]
        return sorted({row for span in spans for row in range(span.top(), span.bottom() + 1)})

    def _show_selection(self) -> None:
        rows = [row for event_id in self._model.selection if (row := self._table.row_of(event_id)) >= 0]
        ordered = sorted(rows)
        if ordered == self._selected_rows():
            return
        chosen = QItemSelection()
        for _, run in groupby(enumerate(ordered), lambda place: place[1] - place[0]):  # rows without a gap
            span = [row for _, row in run]
            chosen.select(self._table.index(span[0], START), self._table.index(span[-1], PROMPT))
        flags = QItemSelectionModel.SelectionFlag
        self._syncing = True
        self.selectionModel().select(chosen, flags.ClearAndSelect)
        if rows:
            column = max(self.currentIndex().column(), START)
            self.selectionModel().setCurrentIndex(self._table.index(rows[-1], column), flags.NoUpdate)
        self._syncing = False
