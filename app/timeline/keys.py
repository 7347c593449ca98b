"""Keys of the painted timeline that no action of the window has."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from worldattention.app.timeline.model import TimelineModel
from worldattention.core.timeline import Event

_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_PAGES = {Qt.Key.Key_PageUp: -1, Qt.Key.Key_PageDown: 1}


class Editing(Protocol):
    """The view, as far as keys need it."""

    def cancel_gesture(self) -> bool: ...
    def edit_prompt(self, event: Event) -> None: ...
    def reveal(self, seconds: float) -> None: ...


def press_key(view: Editing, model: TimelineModel, event: QKeyEvent) -> bool:
    """Does what the key means here; False when it means nothing.

    Esc cancels a gesture, then the aim, then the selection. Page Up and Page Down select (with Shift, more);
    Enter or F2 edits the prompt; Alt with the arrows moves by a block, with Shift the end, with Ctrl the beginning.
    """
    key, held = event.key(), event.modifiers()
    shift = bool(held & Qt.KeyboardModifier.ShiftModifier)
    control = bool(held & Qt.KeyboardModifier.ControlModifier)
    selected = model.selected
    if key == Qt.Key.Key_Escape:
        return view.cancel_gesture() or model.aim_at(None) or _unselect(model)
    if key == Qt.Key.Key_A and control:
        model.select_all(one.id for one in model.timeline.events)
    elif (step := _PAGES.get(Qt.Key(key))) is not None:
        _select(view, model, step, shift)
    elif move_key(model, event):
        pass
    elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2) and selected is not None:
        view.edit_prompt(selected)
    else:
        return False
    return True


def move_key(model: TimelineModel, event: QKeyEvent) -> bool:
    """Alt with Left or Right moves the selected events by a block, with Shift the end, with Ctrl the beginning."""
    step, held = _STEPS.get(Qt.Key(event.key())), event.modifiers()
    if step is None or not held & Qt.KeyboardModifier.AltModifier:
        return False
    if held & Qt.KeyboardModifier.ShiftModifier:
        model.stretch_selected("end", step)
    elif held & Qt.KeyboardModifier.ControlModifier:
        model.stretch_selected("start", step)
    else:
        model.nudge_selected(step)
    return True


def _unselect(model: TimelineModel) -> bool:
    had = bool(model.selection)
    model.select(None)
    return had


def _select(view: Editing, model: TimelineModel, step: int, more: bool) -> None:
    before = model.selection
    model.select_neighbour(step)
    if (event := model.selected) is None:
        return
    if more:
        model.select_all([*(other for other in before if other != event.id), event.id])
    view.reveal(event.start)
