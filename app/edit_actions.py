"""Undo, redo, delete and duplicate in the menus: enabled, and named after what they would do."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from worldattention.app.actions import SPECS
from worldattention.app.texts import translate, worded
from worldattention.app.timeline.model import TimelineModel


class EditActions(QObject):
    """Follows the timeline's undo stack and selection."""

    def __init__(self, model: TimelineModel, actions: dict[str, QAction], window: QWidget) -> None:
        super().__init__(window)
        self._model, self._actions = model, actions
        stack = model.undo_stack
        model.changed.connect(self._refresh)
        model.selection_changed.connect(self._refresh)
        stack.canUndoChanged.connect(actions["undo"].setEnabled)
        stack.canRedoChanged.connect(actions["redo"].setEnabled)
        stack.undoTextChanged.connect(lambda text: self._name("undo", text))
        stack.redoTextChanged.connect(lambda text: self._name("redo", text))
        self._refresh()
        worded(window, self._speak)

    def _speak(self) -> None:
        self._name("undo", self._model.undo_stack.undoText())
        self._name("redo", self._model.undo_stack.redoText())

    def _refresh(self) -> None:
        selected, stack = self._model.selected is not None, self._model.undo_stack
        for name in ("delete", "duplicate"):
            self._actions[name].setEnabled(selected)
        self._actions["undo"].setEnabled(stack.canUndo())
        self._actions["redo"].setEnabled(stack.canRedo())

    def _name(self, name: str, step: str) -> None:
        text = translate("TimelineModel", step) if step else ""
        self._actions[name].setText(f"{SPECS[name].title} {text[:1].lower()}{text[1:]}".strip())
