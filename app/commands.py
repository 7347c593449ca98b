"""Undo: one command a finished edit, whatever the edit was.

A command keeps one of these texts; it is translated when a menu shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtGui import QUndoCommand

from worldattention.app.texts import QT_TRANSLATE_NOOP
from worldattention.app.timeline.marks import Marker
from worldattention.core.timeline import Timeline

SAY = QT_TRANSLATE_NOOP("TimelineModel", "Say")
ADD_EVENT = QT_TRANSLATE_NOOP("TimelineModel", "Add event")
CHANGE_PROMPT = QT_TRANSLATE_NOOP("TimelineModel", "Change prompt")
CHANGE_TIME = QT_TRANSLATE_NOOP("TimelineModel", "Change time")
SPLIT_EVENT = QT_TRANSLATE_NOOP("TimelineModel", "Split event")
RESIZE_EVENT = QT_TRANSLATE_NOOP("TimelineModel", "Resize event")
ADD_MARKER = QT_TRANSLATE_NOOP("TimelineModel", "Add marker")
NAME_MARKER = QT_TRANSLATE_NOOP("TimelineModel", "Name marker")
MOVE_MARKER = QT_TRANSLATE_NOOP("TimelineModel", "Move marker")
REMOVE_MARKER = QT_TRANSLATE_NOOP("TimelineModel", "Remove marker")
CONTINUE_FROM_HERE = QT_TRANSLATE_NOOP("TimelineModel", "Continue from here")
SWITCH_BRANCH = QT_TRANSLATE_NOOP("TimelineModel", "Switch branch")
RENAME_BRANCH = QT_TRANSLATE_NOOP("TimelineModel", "Rename branch")
DELETE_BRANCH = QT_TRANSLATE_NOOP("TimelineModel", "Delete branch")

_STEPS = {
    "Move": (
        QT_TRANSLATE_NOOP("TimelineModel", "Move event"),
        QT_TRANSLATE_NOOP("TimelineModel", "Move events"),
    ),
    "Delete": (
        QT_TRANSLATE_NOOP("TimelineModel", "Delete event"),
        QT_TRANSLATE_NOOP("TimelineModel", "Delete events"),
    ),
    "Duplicate": (
        QT_TRANSLATE_NOOP("TimelineModel", "Duplicate event"),
        QT_TRANSLATE_NOOP("TimelineModel", "Duplicate events"),
    ),
}


def counted(what: str, ids: Collection[int]) -> str:
    """The name of an undo step that changes one event or several."""
    one, many = _STEPS[what]
    return one if len(ids) == 1 else many


class MarkerEdit(QUndoCommand):
    """Replaces the markers."""

    def __init__(
        self,
        text: str,
        before: tuple[Marker, ...],
        after: tuple[Marker, ...],
        show: Callable[[tuple[Marker, ...]], None],
    ) -> None:
        super().__init__(text)
        self._before = before
        self._after = after
        self._show = show

    def redo(self) -> None:
        """Shows the markers after the edit."""
        self._show(self._after)

    def undo(self) -> None:
        """Shows the markers before the edit."""
        self._show(self._before)


class TimelineEdit(QUndoCommand):
    """Replaces one timeline by another; both are immutable, so undo is exact."""

    def __init__(
        self, text: str, before: Timeline, after: Timeline, show: Callable[[Timeline], None]
    ) -> None:
        super().__init__(text)
        self._before = before
        self._after = after
        self._show = show

    def redo(self) -> None:
        """Shows the timeline after the edit."""
        self._show(self._after)

    def undo(self) -> None:
        """Shows the timeline before the edit."""
        self._show(self._before)
