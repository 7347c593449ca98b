"""Undo: one command a finished edit, whatever the edit was."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from worldattention.app.timeline.marks import Marker
from worldattention.core.timeline import Timeline


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
