"""Undo: one command a finished edit, whatever the edit was."""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtGui import QUndoCommand

from worldattention.app.texts import QT_TRANSLATE_NOOP, translate
from worldattention.app.timeline.marks import Marker
from worldattention.core.timeline import Timeline

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
    return translate("TimelineModel", one if len(ids) == 1 else many)


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
