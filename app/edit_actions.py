"""Undo, redo, delete and duplicate in the menus: enabled, and named after what they would do."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from worldattention.app.actions import SPECS
from worldattention.app.timeline.model import TimelineModel


class EditActions(QObject):
    """Follows the timeline's undo stack and selection."""

    def __init__(self, model: TimelineModel, actions: dict[str, QAction], parent: QObject) -> None:
        super().__init__(parent)
        self._model, self._actions = model, actions
        stack = model.undo_stack
        model.changed.connect(self._refresh)
        model.selection_changed.connect(self._refresh)
        stack.canUndoChanged.connect(actions["undo"].setEnabled)
        stack.canRedoChanged.connect(actions["redo"].setEnabled)
        stack.undoTextChanged.connect(lambda text: self._name("undo", text))
        stack.redoTextChanged.connect(lambda text: self._name("redo", text))
        self._refresh()

    def _refresh(self) -> None:
        selected, stack = self._model.selected is not None, self._model.undo_stack
        for name in ("delete", "duplicate"):
            self._actions[name].setEnabled(selected)
        self._actions["undo"].setEnabled(stack.canUndo())
        self._actions["redo"].setEnabled(stack.canRedo())

    def _name(self, name: str, text: str) -> None:
        self._actions[name].setText(f"{SPECS[name].title} {text[:1].lower()}{text[1:]}".strip())
