"""Markers, recalls and mode changes as a table: what the painted timeline draws beside events."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from worldattention.app import theme
from worldattention.app.texts import QT_TRANSLATE_NOOP, tip, worded
from worldattention.app.timeline.arcs import arc_words, span_words
from worldattention.app.timeline.marks import Arc, Marker, ModeChange, mode_words
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.rows import Index, RowModel, RowTable
from worldattention.app.timeline.timecode import parse_time, timecode
from worldattention.core.errors import UserError

COLUMNS = (
    QT_TRANSLATE_NOOP("MarksTable", "Time"),
    QT_TRANSLATE_NOOP("MarksTable", "Kind"),
    QT_TRANSLATE_NOOP("MarksTable", "What"),
)
TIME, KIND, WHAT = range(3)
Mark = Marker | Arc | ModeChange


class MarksTable(RowModel):
    """Markers can be edited; recalls and mode changes are what happened."""

    def __init__(self, model: TimelineModel, parent: QObject | None = None) -> None:
        super().__init__("MarksTable", COLUMNS, parent)
        self._model = model
        self._marks: tuple[Mark, ...] = ()
        self._refresh()
        model.changed.connect(self._refresh)
        model.world_changed.connect(self._refresh)

    def count(self) -> int:
        return len(self._marks)

    def may_edit(self, row: int, column: int) -> bool:
        return isinstance(self.mark_at(row), Marker) and column != KIND

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        mark = self.mark_at(index.row()) if index.isValid() else None
        if mark is None:
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return (timecode(mark.at), self._kind(mark), self._words(mark))[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(arc_words(mark) if isinstance(mark, Arc) else self._words(mark))
        if role == Qt.ItemDataRole.FontRole and index.column() == TIME:
            return theme.font(12, fixed=True)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        mark = self.mark_at(index.row()) if index.isValid() else None
        if role != Qt.ItemDataRole.EditRole or not isinstance(mark, Marker):
            return False
        if index.column() == WHAT:
            return self._model.name_marker(mark, str(value))
        try:
            seconds = parse_time(str(value), self._model.geometry.block_seconds)
        except UserError as error:
            self._model.refused.emit(str(error))
            return False
        return self._model.move_marker(mark, seconds)

    def mark_at(self, row: int) -> Mark | None:
        """What stands in a row."""
        return self._marks[row] if 0 <= row < len(self._marks) else None

    def row_of(self, mark: Mark) -> int:
        """The row of a mark, or -1."""
        return self._marks.index(mark) if mark in self._marks else -1

    def _refresh(self) -> None:
        marks: list[Mark] = [*self._model.markers, *self._model.arcs, *self._model.mode_changes]
        ordered = tuple(sorted(marks, key=lambda mark: mark.at))
        if ordered != self._marks:
            self.beginResetModel()
            self._marks = ordered
            self.endResetModel()

    def _kind(self, mark: Mark) -> str:
        if isinstance(mark, Marker):
            return self.tr("marker")
        return self.tr("recall") if isinstance(mark, Arc) else self.tr("mode")

    def _words(self, mark: Mark) -> str:
        if isinstance(mark, Marker):
            return mark.name
        return span_words(mark) if isinstance(mark, Arc) else mode_words(mark)


class MarksTableView(RowTable):
    """Enter shows a recall's moment or edits a marker; Delete removes a marker, M sets one at the playhead."""

    moment_requested = Signal(float)
    seek_requested = Signal(float)

    def __init__(self, model: TimelineModel, parent: QWidget | None = None) -> None:
        super().__init__(WHAT, parent)
        self._model = model
        self._table = MarksTable(model, self)
        self._kept: Mark | None = None
        self._table.modelAboutToBeReset.connect(self._keep)
        self._table.modelReset.connect(self._restore)
        self.setModel(self._table)
        self.size_columns({TIME: 84, KIND: 72})
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("Markers, recalls and modes as a table"))
        self._table.speak()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        mark = self._table.mark_at(self.currentIndex().row())
        if event.key() == Qt.Key.Key_M and not event.modifiers():
            self._model.toggle_marker()
        elif event.key() == Qt.Key.Key_Delete and isinstance(mark, Marker):
            self._model.remove_marker(mark)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(mark, Arc):
            self.moment_requested.emit(mark.start)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(mark, ModeChange):
            self.seek_requested.emit(mark.at)
        else:
            super().keyPressEvent(event)

    def _keep(self) -> None:
        self._kept = self._table.mark_at(self.currentIndex().row())

    def _restore(self) -> None:
        row = self._table.row_of(self._kept) if self._kept is not None else -1
        if row >= 0:
            self.setCurrentIndex(self._table.index(row, TIME))
