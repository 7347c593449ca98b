"""The timeline as the window knows it: events, selection, undo, and what the world has made of it so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QImage, QUndoStack

from worldattention.app import commands, theme
from worldattention.app.commands import MarkerEdit, TimelineEdit, counted
from worldattention.app.timeline import marks, rules, shifting
from worldattention.app.timeline.marks import Arc, Marker, ModeChange
from worldattention.app.timeline.shifting import Shifting
from worldattention.app.timeline.timecode import parse_time
from worldattention.core.errors import UserError
from worldattention.core.geometry import POCKET_GEOMETRY, Geometry
from worldattention.core.telemetry import BlockTelemetry, PageRecord
from worldattention.core.timeline import Event, Timeline

MAX_PICTURES = 2000
MAX_ARCS = 400
MAX_MODE_CHANGES = 400
UNDO_LIMIT = 2000
MARKER_REACH = 0.1
"""Seconds within which the playhead stands on a marker."""


class TimelineModel(QObject):
    """Every edit goes through `edit`: it is checked, put on the undo stack, and told by `changed`."""

    changed = Signal()  # the events
    world_changed = Signal()  # locked past, arcs, pictures, the event that plays
    playhead_moved = Signal()
    selection_changed = Signal()
    refused = Signal(str)  # why an edit was not possible
    past_refused = Signal(object, object)  # PastError; a function that tries the edit again

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(UNDO_LIMIT)
        self.geometry: Geometry = POCKET_GEOMETRY
        self.pictures: dict[int, QImage] = {}  # by block
        self.arcs: list[Arc] = []
        self.mode_changes: list[ModeChange] = []
        self.highlight: tuple[float, float] | None = None  # of the past, in seconds
        self._markers: tuple[Marker, ...] = ()
        self._colours: dict[str, int] = {}
        self._timeline = Timeline()
        self._selection: tuple[int, ...] = ()  # ids, the one under the hand last
        self._newest: BlockTelemetry | None = None
        self._locked = 0.0
        self._playhead = 0.0
        self._aim: float | None = None

    @property
    def timeline(self) -> Timeline:
        """The events."""
        return self._timeline

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Marked times, in order."""
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
    def aim(self) -> float | None:
        """A time to come that was pointed at, until the world gets there."""
        return self._aim

    @property
    def cursor(self) -> float:
        """Where an edit happens that names no time: at the aim, else at the playhead."""
        return self._playhead if self._aim is None else self._aim

    @property
    def selection(self) -> tuple[int, ...]:
        """Ids of the selected events; the one that was chosen last stands last."""
        return self._selection

    @property
    def selected(self) -> Event | None:
        """The selected event; of several the one that was chosen last."""
        if not self._selection:
            return None
        last = self._selection[-1]
        return next((event for event in self._timeline.events if event.id == last), None)

    def select(self, event_id: int | None) -> None:
        """Selects one event, or none."""
        self.select_all(() if event_id is None else (event_id,))

    def select_all(self, ids: Iterable[int]) -> None:
        """Selects these events, the last as the one under the hand."""
        chosen = tuple(dict.fromkeys(ids))
        if chosen != self._selection:
            self._selection = chosen
            self.selection_changed.emit()

    def toggle_selected(self, event_id: int) -> None:
        """Adds an event to the selection, or takes it out."""
        rest = [other for other in self._selection if other != event_id]
        self.select_all(rest if event_id in self._selection else [*rest, event_id])

    def select_to(self, event_id: int) -> None:
        """Selects all events from the one under the hand to this one."""
        ids = [event.id for event in self._timeline.events]
        if self.selected is None or event_id not in ids:
            self.select(event_id)
            return
        first, last = sorted((ids.index(self.selected.id), ids.index(event_id)))
        self.select_all([*(other for other in ids[first : last + 1] if other != event_id), event_id])

    def select_neighbour(self, step: int) -> None:
        """Selects the next event, or the one before; with none selected the one at the playhead."""
        events = self._timeline.events
        if not events:
            return
        if (event := self.selected) is None:
            at = self._timeline.event_at(self.cursor)
            self.select((at or events[0]).id)
            return
        index = self._timeline.index(event) + step
        self.select(events[min(max(index, 0), len(events) - 1)].id)

    def open(self, timeline: Timeline, markers: Iterable[Marker] = ()) -> None:
        """Another project: forgets the undo history and the world."""
        self._markers = marks.in_order(markers)
        self.select(None)
        self._timeline = timeline
        self._colours.clear()
        self.undo_stack.clear()
        self.forget_world()
        self.changed.emit()

    def forget_world(self) -> None:
        """A new world begins: nothing is made, nothing is locked."""
        self.pictures.clear()
        self.arcs.clear()
        self.mode_changes.clear()
        self._newest = None
        self.highlight = None
        self._locked, self._playhead, self._aim = 0.0, 0.0, None
        self.playhead_moved.emit()
        self.world_changed.emit()

    def show_branch(self, timeline: Timeline, block: int) -> None:
        """The world goes on from `block` under `timeline`: what another branch made from there on goes."""
        at = self.geometry.block_seconds(block)
        self.pictures = {made: picture for made, picture in self.pictures.items() if made < block}
        self.arcs = [arc for arc in self.arcs if arc.at < at]
        self.mode_changes = [change for change in self.mode_changes if change.at < at]
        self._newest, self.highlight, self._locked, self._aim = None, None, at, None
        self._timeline = timeline
        self.changed.emit()
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
        if self._aim is not None and self._aim <= seconds:
            self._aim = None
        self.playhead_moved.emit()
        if self._timeline.event_at(seconds) != before:
            self.world_changed.emit()

    def aim_at(self, seconds: float | None) -> bool:
        """Points at a time to come, or at none. False when that was so before."""
        before, self._aim = self._aim, seconds
        if before != seconds:
            self.playhead_moved.emit()
        return before != seconds

    def add_picture(self, block: int, picture: QImage) -> None:
        """A small picture of a block; of a very long past every second one goes."""
        self.pictures[block] = picture
        if len(self.pictures) > MAX_PICTURES:
            for old in sorted(self.pictures)[1 : MAX_PICTURES // 2 : 2]:
                del self.pictures[old]
        self.world_changed.emit()

    def picture_of(self, block: int) -> QImage | None:
        """The picture of a block, or of the nearest one before it."""
        if block not in self.pictures:
            block = max((other for other in self.pictures if other < block), default=-1)
        return self.pictures.get(block)

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

    def add_record(self, record: BlockTelemetry) -> None:
        """A block was made: where its modes differ from the last one's, a flag stands."""
        at = self.geometry.block_seconds(record.block)
        changes = marks.mode_changes(self._newest, record, at)
        self._newest = record
        if changes:
            self.mode_changes.extend(changes)
            del self.mode_changes[:-MAX_MODE_CHANGES]
            self.world_changed.emit()

    def edit(self, text: str, change: Callable[[Timeline], Timeline]) -> bool:
        """Applies a pure change as one undo step. False, and `refused`, when it is not possible."""
        try:
            after = change(self._timeline)
        except rules.PastError as error:
            self.past_refused.emit(error, lambda: self.edit(text, change))
            return False
        except (UserError, KeyError) as error:
            self.refused.emit(str(error) if isinstance(error, UserError) else self.tr("The event is gone."))
            return False
        if after == self._timeline:
            return True
        before = {event.id for event in self._timeline.events}
        new = [event.id for event in after.events if event.id not in before]
        self.undo_stack.push(TimelineEdit(text, self._timeline, after, self._show))
        if new:
            self.select_all(new)
        return True

    def add(self, seconds: float, prompt: str) -> bool:
        """A new event at a free place."""
        return self.edit(
            commands.ADD_EVENT,
            lambda old: rules.add(old, seconds, rules.checked(prompt), self._locked),
        )

    def put(self, seconds: float, prompt: str) -> bool:
        """The prompt from `seconds` on (or from the end of the past), cutting what is there."""
        start = max(rules.to_frame(seconds), self._locked)
        return self.edit(
            commands.ADD_EVENT,
            lambda old: old.set_prompt_from(start, rules.checked(prompt)),
        )

    def reword(self, event_id: int, prompt: str) -> bool:
        """Another prompt for the event."""
        return self.edit(
            commands.CHANGE_PROMPT,
            lambda old: rules.reword(old, event_id, rules.checked(prompt), self._locked),
        )

    def toggle_marker(self) -> None:
        """Marks the time of the cursor, or takes the mark there away."""
        if (near := self.marker_near(self.cursor)) is not None:
            self.remove_marker(near)
        else:
            self.edit_markers(
                commands.ADD_MARKER,
                (*self._markers, Marker(rules.to_frame(self.cursor))),
            )

    def marker_near(self, seconds: float, reach: float = MARKER_REACH) -> Marker | None:
        """The marker within reach of a time."""
        near = min(self._markers, key=lambda marker: abs(marker.at - seconds), default=None)
        return near if near is not None and abs(near.at - seconds) < reach else None

    def remove_marker(self, marker: Marker) -> None:
        """Takes a marker away."""
        self.edit_markers(
            commands.REMOVE_MARKER,
            [other for other in self._markers if other != marker],
        )

    def name_marker(self, marker: Marker, name: str) -> bool:
        """Another name for a marker; none when it is empty."""
        named = Marker(marker.at, marks.clean_name(name))
        others = [named if other == marker else other for other in self._markers]
        return self.edit_markers(commands.NAME_MARKER, others)

    def move_marker(self, marker: Marker, seconds: float) -> bool:
        """Another time for a marker."""
        return self.edit_markers(commands.MOVE_MARKER, marks.moved(self._markers, marker, seconds))

    def edit_markers(self, text: str, markers: Iterable[Marker]) -> bool:
        """Other markers, as one undo step."""
        after = marks.in_order(markers)
        if after != self._markers:
            self.undo_stack.push(MarkerEdit(text, self._markers, after, self._show_markers))
        return True

    def delete_selected(self) -> None:
        """Deletes the selected events, or what of them is still to come."""
        if ids := self._selection:
            self.edit(counted("Delete", ids), lambda old: rules.delete(old, ids, self._locked))

    def duplicate_selected(self) -> None:
        """Copies the selected events behind themselves."""
        if ids := self._selection:
            self.edit(counted("Duplicate", ids), lambda old: shifting.duplicate(old, ids, self._locked))

    def split(self) -> None:
        """Cuts the event at the cursor."""
        self.edit(
            commands.SPLIT_EVENT,
            lambda old: rules.split(old, self.cursor, self._locked),
        )

    def nudge_selected(self, blocks: int) -> None:
        """Moves the selected events by whole blocks."""
        if ids := self._selection:
            by = blocks * self.block_seconds
            self.edit(counted("Move", ids), lambda old: Shifting.of(old, ids).to(by, self._locked)[0])

    def retime(self, event_id: int, edge: str, text: str) -> bool:
        """A typed time for one edge ("start" or "end") of an event."""

        def change(old: Timeline) -> Timeline:
            return rules.retime(
                old, event_id, edge, parse_time(text, self.geometry.block_seconds), self._locked
            )

        return self.edit(commands.CHANGE_TIME, change)

    def stretch_selected(self, edge: str, blocks: int) -> None:
        """Moves one edge ("start" or "end") of the event under the hand by whole blocks."""
        if (event := self.selected) is not None:
            to = (event.start if edge == "start" else event.end) + blocks * self.block_seconds
            self.edit(
                commands.RESIZE_EVENT,
                lambda old: rules.resize(old, event.id, edge, to, self._locked)[0],
            )

    @property
    def block_seconds(self) -> float:
        """Length of a block (but a world's first) in seconds."""
        return self.geometry.block_seconds(2) - self.geometry.block_seconds(1)

    def colour_of(self, prompt: str) -> QColor:
        """The same words have the same colour wherever they stand."""
        words = " ".join(prompt.lower().split())
        return theme.event_colour(self._colours.setdefault(words, len(self._colours)))

    def snapping(self, without: Collection[int], tolerance: float, aim: bool = True) -> rules.Snapping:
        """Block edges, playhead and aim, the end of the past, markers, and the edges of all other events."""
        marked = [marker.at for marker in self._markers]
        targets = tuple(sorted({0.0, *marked, self._playhead, self.cursor if aim else 0.0, self._locked}))
        first = self.geometry.block_seconds(1)
        events, left_out = self._timeline.events, frozenset(without)
        return rules.Snapping(targets, tolerance, first, self.block_seconds, events, left_out)

    def sought(self, seconds: float, tolerance: float) -> float:
        """What is made is seen frame by frame; in what is to come, where edits are made, edges attract."""
        near = self.snapping((), tolerance, aim=False).nearest(seconds) if seconds > self._locked else None
        return seconds if near is None else near

    def latent_seconds(self, latent: int) -> float:
        """Start of a latent frame in seconds."""
        block, rest = divmod(latent, self.geometry.block_latents)
        start = self.geometry.block_seconds(block)
        return start + rest * (self.geometry.block_seconds(block + 1) - start) / self.geometry.block_latents

    def _show_markers(self, markers: tuple[Marker, ...]) -> None:
        self._markers = markers
        self.changed.emit()

    def _show(self, timeline: Timeline) -> None:
        self._timeline = rules.with_past_kept(self._timeline, timeline, self._locked)
        if self._selection:
            ids = {event.id for event in self._timeline.events}
            self.select_all([event_id for event_id in self._selection if event_id in ids])
        self.changed.emit()
