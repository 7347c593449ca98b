"""The timeline as the window knows it: events, selection, undo, and what the world has made of it so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QImage, QUndoStack

from worldattention.app import theme
from worldattention.app.commands import MarkerEdit, TimelineEdit
from worldattention.app.timeline import rules
from worldattention.core.errors import UserError
from worldattention.core.geometry import POCKET_GEOMETRY, Geometry
from worldattention.core.telemetry import PageRecord
from worldattention.core.timeline import Event, Timeline, check_prompt

MAX_PICTURES = 2000
MAX_ARCS = 400
UNDO_LIMIT = 500
MARKER_REACH = 0.1
"""Seconds within which the playhead stands on a marker."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A recall: at time `at` the page that holds `start`..`end` was read again (seconds)."""

    at: float
    start: float
    end: float
    score: float | None


class TimelineModel(QObject):
    """Every edit goes through `edit`: it is checked, put on the undo stack, and told by `changed`."""

    changed = Signal()  # the events
    world_changed = Signal()  # locked past, arcs, pictures, the event that plays
    playhead_moved = Signal()
    selection_changed = Signal()
    refused = Signal(str)  # why an edit was not possible

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(UNDO_LIMIT)
        self.geometry: Geometry = POCKET_GEOMETRY
        self.pictures: dict[int, QImage] = {}  # by block
        self.arcs: list[Arc] = []
        self.highlight: tuple[float, float] | None = None  # of the past, in seconds
        self._markers: tuple[float, ...] = ()
        self._colours: dict[str, int] = {}
        self._timeline = Timeline()
        self._selected: int | None = None
        self._locked = 0.0
        self._playhead = 0.0

    @property
    def timeline(self) -> Timeline:
        """The events."""
        return self._timeline

    @property
    def markers(self) -> tuple[float, ...]:
        """Marked times in seconds, in order."""
        return self._markers

    @property
    def locked(self) -> float:
        """End of the past that has been made, in seconds."""
        return self._locked

    @property
    def playhead(self) -> float:
        """Time of the frame that is shown, in seconds."""
        return self._playhead

    @property
    def selected(self) -> Event | None:
        """The selected event."""
        return next((event for event in self._timeline.events if event.id == self._selected), None)

    def select(self, event_id: int | None) -> None:
        """Selects an event, or none."""
        if event_id != self._selected:
            self._selected = event_id
            self.selection_changed.emit()

    def open(self, timeline: Timeline, markers: Iterable[float] = ()) -> None:
        """Another project: forgets the undo history and the world."""
        self._markers = tuple(markers)
        self._selected = None
        self._timeline = timeline
        self._colours.clear()
        self.undo_stack.clear()
        self.forget_world()
        self.changed.emit()

    def forget_world(self) -> None:
        """A new world begins: nothing is made, nothing is locked."""
        self.pictures.clear()
        self.arcs.clear()
        self.highlight = None
        self._locked = self._playhead = 0.0
        self.playhead_moved.emit()
        self.world_changed.emit()

    def set_locked(self, seconds: float) -> None:
        """The past now ends at `seconds`."""
        if seconds != self._locked:
            self._locked = seconds
            self.world_changed.emit()

    def set_playhead(self, seconds: float) -> None:
        """Moves the playhead's mark."""
        if seconds == self._playhead:
            return
        before = self._timeline.event_at(self._playhead)
        self._playhead = seconds
        self.playhead_moved.emit()
        if self._timeline.event_at(seconds) != before:
            self.world_changed.emit()

    def add_picture(self, block: int, picture: QImage) -> None:
        """A small picture of a block; of a very long past every second one goes."""
        self.pictures[block] = picture
        if len(self.pictures) > MAX_PICTURES:
            for old in sorted(self.pictures)[1 : MAX_PICTURES // 2 : 2]:
                del self.pictures[old]
        self.world_changed.emit()

    def picture_of(self, block: int) -> QImage | None:
        """The picture of a block, or of the nearest one before it."""
        if block in self.pictures:
            return self.pictures[block]
        before = [other for other in self.pictures if other < block]
        return self.pictures[max(before)] if before else None

    def set_highlight(self, span: tuple[float, float] | None) -> None:
        """Marks a part of the past that something else points at."""
        if span != self.highlight:
            self.highlight = span
            self.world_changed.emit()

    def page_span(self, page: PageRecord) -> tuple[float, float]:
        """When a page's frames were made, in seconds."""
        end = self.latent_seconds(page.first_frame + page.frames)
        return self.latent_seconds(page.first_frame), end

    def add_arcs(self, arcs: Iterable[Arc]) -> None:
        """Recalls to draw."""
        self.arcs.extend(arcs)
        del self.arcs[:-MAX_ARCS]
        self.world_changed.emit()

    def edit(self, text: str, change: Callable[[Timeline], Timeline]) -> bool:
        """Applies a pure change as one undo step. False, and `refused`, when it is not possible."""
        try:
            after = change(self._timeline)
        except (UserError, KeyError) as error:
            self.refused.emit(str(error) if isinstance(error, UserError) else "The event is gone.")
            return False
        if after == self._timeline:
            return True
        new = {event.id for event in after.events} - {event.id for event in self._timeline.events}
        self.undo_stack.push(TimelineEdit(text, self._timeline, after, self._show))
        if len(new) == 1:
            self.select(new.pop())
        return True

    def add(self, seconds: float, prompt: str) -> bool:
        """A new event at a free place."""
        return self.edit(
            self.tr("Add event"), lambda old: rules.add(old, seconds, _checked(prompt), self._locked)
        )

    def put(self, seconds: float, prompt: str) -> bool:
        """The prompt from `seconds` on (or from the end of the past), cutting what is there."""
        start = max(rules.to_frame(seconds), self._locked)
        return self.edit(self.tr("Add event"), lambda old: old.set_prompt_from(start, _checked(prompt)))

    def reword(self, event_id: int, prompt: str) -> bool:
        """Another prompt for the event."""
        return self.edit(
            self.tr("Change prompt"), lambda old: rules.reword(old, event_id, _checked(prompt), self._locked)
        )

    def toggle_marker(self) -> None:
        """Marks the playhead's time, or takes the mark there away."""
        at = rules.to_frame(self._playhead)
        near = tuple(marker for marker in self._markers if abs(marker - at) < MARKER_REACH)
        after = tuple(sorted({*self._markers, at} if not near else set(self._markers) - set(near)))
        text = self.tr("Remove marker") if near else self.tr("Add marker")
        self.undo_stack.push(MarkerEdit(text, self._markers, after, self._show_markers))

    def delete_selected(self) -> None:
        """Deletes the selected event, or what of it is still to come."""
        if (event := self.selected) is not None:
            self.edit(self.tr("Delete event"), lambda old: rules.delete(old, event.id, self._locked))

    def duplicate_selected(self) -> None:
        """Copies the selected event behind itself."""
        if (event := self.selected) is not None:
            self.edit(self.tr("Duplicate event"), lambda old: rules.duplicate(old, event.id, self._locked))

    def split(self) -> None:
        """Cuts the event at the playhead."""
        self.edit(self.tr("Split event"), lambda old: rules.split(old, self._playhead, self._locked))

    def nudge_selected(self, blocks: int) -> None:
        """Moves the selected event by whole blocks."""
        if (event := self.selected) is not None:
            seconds = blocks * self.geometry.block_seconds(2) - blocks * self.geometry.block_seconds(1)
            self.edit(
                self.tr("Move event"),
                lambda old: rules.move(old, event.id, event.start + seconds, self._locked)[0],
            )

    def colour_of(self, prompt: str) -> QColor:
        """The same words have the same colour wherever they stand."""
        words = " ".join(prompt.lower().split())
        return theme.event_colour(self._colours.setdefault(words, len(self._colours)))

    def snapping(self, event_id: int, tolerance: float) -> rules.Snapping:
        """Block edges near the event, the playhead, the end of the past, and other events' edges."""
        edges = [edge for e in self._timeline.events if e.id != event_id for edge in (e.start, e.end)]
        last = max([self._locked, self._timeline.seconds]) + 120.0
        first_block = self.geometry.block_seconds(1)
        block = self.geometry.block_seconds(2) - first_block
        blocks = [0.0, *(first_block + block * index for index in range(int(last / block)))]
        return rules.Snapping((*edges, *self._markers, self._playhead, self._locked, *blocks), tolerance)

    def latent_seconds(self, latent: int) -> float:
        """Start of a latent frame in seconds."""
        block, rest = divmod(latent, self.geometry.block_latents)
        start = self.geometry.block_seconds(block)
        return start + rest * (self.geometry.block_seconds(block + 1) - start) / self.geometry.block_latents

    def _show_markers(self, markers: tuple[float, ...]) -> None:
        self._markers = markers
        self.changed.emit()

    def _show(self, timeline: Timeline) -> None:
        self._timeline = rules.with_past_kept(self._timeline, timeline, self._locked)
        if self._selected is not None and self.selected is None:
            self.select(None)
        self.changed.emit()


def _checked(prompt: str) -> str:
    prompt = prompt.strip()
    check_prompt(prompt)
    if not prompt:
        raise UserError("The prompt is empty: write what shall be seen.")
    return prompt
