"""The look and the keys that both tables of the timeline share."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget


class RowTable(QTableView):
    """Whole rows are selected; Enter and F2 edit a cell, letters are free for keys of the timeline."""

    def __init__(self, name: str, wide_column: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wide_column = wide_column
        self.setAccessibleName(name)
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
