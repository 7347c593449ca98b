"""The tree of branches: a picture, a name, when it leaves its parent, and what is asked for there."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QIcon, QImage, QKeyEvent, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QTreeWidget, QTreeWidgetItem, QWidget

from worldattention.app.panels.dock import PanelDock, flat_button, name_button
from worldattention.app.texts import tip, worded
from worldattention.app.timeline.layout import clock
from worldattention.core.geometry import Geometry
from worldattention.core.history import Branch, History

NAME, FROM, PROMPT = range(3)
_ROLE = Qt.ItemDataRole.UserRole
_PICTURE = QSize(48, 24)


class BranchesDock(PanelDock):
    """Enter or a double click goes to a branch, F2 renames it, Delete forgets it."""

    switch_wanted = Signal(str)
    rename_wanted = Signal(str, str)
    delete_wanted = Signal(str)

    def __init__(
        self, picture: Callable[[Branch], QImage | None], branch: QAction, parent: QWidget | None = None
    ) -> None:
        super().__init__("branches", parent)
        self._picture = picture
        self._branch = branch
        self._shown: History | None = None
        self._known: tuple[History, Geometry] | None = None
        self.tree = _Tree()
        self.tree.itemActivated.connect(lambda item: self.switch_wanted.emit(item.data(NAME, _ROLE)))
        self.tree.itemChanged.connect(self._changed)
        self.tree.itemSelectionChanged.connect(self._set_tools)
        self.tree.delete_pressed.connect(self._delete)
        self.here = flat_button("branch")
        self.here.clicked.connect(branch.trigger)
        self.go = flat_button("play")
        self.go.clicked.connect(lambda: self._of_selected(self.switch_wanted.emit))
        self.delete = flat_button("delete")
        self.delete.clicked.connect(self._delete)
        self.fill(self.tree, [self.here, self.go, self.delete])
        self._set_tools()
        worded(self, self._speak)

    def _speak(self) -> None:
        self.set_title(self.tr("Branches"))
        self.tree.setAccessibleName(self.tr("Branches of this world"))
        self.tree.setHeaderLabels([self.tr("Name"), self.tr("From"), self.tr("Prompt")])
        name_button(self.here, self._branch.toolTip())
        name_button(self.go, self.tr("Go to this branch"))
        name_button(self.delete, self.tr("Delete this branch"))
        if self._known is not None:
            self._shown = None
            self.show_history(*self._known)

    def show_history(self, history: History, sizes: Geometry) -> None:
        """The tree as it is now; the selection stays."""
        outline, self._known = history.outline, (history, sizes)
        if outline == self._shown:
            return
        moved = self._shown is None or self._shown.current != outline.current
        self._shown = outline
        selected = None if moved else self.selected
        self.tree.blockSignals(True)
        self.tree.clear()
        items: dict[str, QTreeWidgetItem] = {}
        for branch in history.branches:
            item = self._item(branch, branch.name == history.current, sizes)
            if branch.parent is None:
                self.tree.addTopLevelItem(item)
            else:
                items[branch.parent].addChild(item)
            items[branch.name] = item
        self.tree.expandAll()
        self.tree.setCurrentItem(items.get(selected or history.current, items[history.current]))
        self.tree.blockSignals(False)
        self.tree.resizeColumnToContents(NAME)
        count = self.tr("{} branch") if len(items) == 1 else self.tr("{} branches")
        self.set_readout(count.format(len(items)))
        self._set_tools()

    @property
    def selected(self) -> str | None:
        """Name of the selected branch."""
        item = self.tree.currentItem()
        return None if item is None else str(item.data(NAME, _ROLE))

    def _item(self, branch: Branch, current: bool, sizes: Geometry) -> QTreeWidgetItem:
        seconds = sizes.block_seconds(branch.from_block)
        prompt = branch.timeline.prompt_at(seconds) or ""
        item = QTreeWidgetItem([branch.name, clock(seconds, True), prompt])
        item.setData(NAME, _ROLE, branch.name)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
        item.setToolTip(PROMPT, tip(prompt))
        font = item.font(NAME)
        font.setBold(current)
        item.setFont(NAME, font)
        words = self.tr("{name}, from {time}: {prompt}").format(
            name=branch.name, time=clock(seconds, True), prompt=prompt
        )
        if current:
            words = self.tr("{branch} (the one that goes on)").format(branch=words)
        item.setData(NAME, Qt.ItemDataRole.AccessibleTextRole, words)
        picture = self._picture(branch)
        if picture is not None:
            item.setIcon(NAME, QIcon(QPixmap.fromImage(picture)))
        return item

    def _changed(self, item: QTreeWidgetItem, column: int) -> None:
        name, new = str(item.data(NAME, _ROLE)), item.text(NAME)
        if column == NAME and new != name:
            self._shown = None  # whatever comes of it, the tree is drawn anew
            self.rename_wanted.emit(name, new)

    def _delete(self) -> None:
        self._of_selected(self.delete_wanted.emit)

    def _of_selected(self, act: Callable[[str], None]) -> None:
        if (name := self.selected) is not None:
            act(name)

    def _set_tools(self) -> None:
        history, name = self._shown, self.selected
        other = history is not None and name is not None and name != history.current
        self.go.setEnabled(other)
        self.delete.setEnabled(other)


class _Tree(QTreeWidget):
    delete_pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setIconSize(_PICTURE)
        self.setUniformRowHeights(True)
        self.setRootIsDecorated(True)
        self.setIndentation(14)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setTabKeyNavigation(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_pressed.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentItem() is not None:
            self.itemActivated.emit(self.currentItem(), NAME)
        else:
            super().keyPressEvent(event)
