"""What both tables of the timeline share: how rows are counted and headed, their look and their keys."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from worldattention.app.texts import translate

Index = QModelIndex | QPersistentModelIndex


class RowModel(QAbstractTableModel):
    """Rows of one thing each. `columns` are their titles, translated in `context`."""

    numbers: tuple[int, ...] = ()
    """Columns whose cells stand at the right, and their titles above them."""

    def __init__(self, context: str, columns: tuple[str, ...], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._columns = context, columns

    def speak(self) -> None:
        """The language has changed: titles and cells have other words."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self._columns) - 1)
        if rows := self.count():
            self.dataChanged.emit(self.index(0, 0), self.index(rows - 1, len(self._columns) - 1))

    def count(self) -> int:
        """How many rows there are."""
        return 0

    def may_edit(self, _row: int, _column: int) -> bool:
        """Whether a cell can be changed."""
        return False

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's names and defaults)
        return 0 if parent.isValid() else self.count()

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole and section in self.numbers:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return translate(self._context, self._columns[section])
        return str(section + 1)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        base = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return base | Qt.ItemFlag.ItemIsEditable if self.may_edit(index.row(), index.column()) else base


class RowTable(QTableView):
    """Whole rows are selected; Enter and F2 edit a cell, letters are free for keys of the timeline."""

    def __init__(self, wide_column: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wide_column = wide_column
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.verticalHeader().setDefaultSectionSize(26)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)

    def size_columns(self, widths: dict[int, int]) -> None:
        """Widths in pixels; the wide column takes the rest."""
        self.horizontalHeader().setSectionResizeMode(self._wide_column, QHeaderView.ResizeMode.Stretch)
        for column, width in widths.items():
            self.setColumnWidth(column, width)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        editing = self.state() == QAbstractItemView.State.EditingState
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not editing:
            self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)
