"""What the mouse does between press and release. One finished gesture is one undo step; Esc cancels it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPointF

from worldattention.app.commands import RESIZE_EVENT, counted
from worldattention.app.texts import translate
from worldattention.app.timeline import marks, rules
from worldattention.app.timeline.marks import Arc, Marker
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.shifting import Shifting
from worldattention.core.errors import UserError
from worldattention.core.timeline import Event, Timeline

DRAG_PIXELS = 4


@dataclass(frozen=True, slots=True)
class Hand:
    """Where the mouse is. `tolerance`: seconds within which edges snap, 0 while Alt is held."""

    point: QPointF
    seconds: float
    tolerance: float
    adds: bool = False  # Ctrl or Shift is held


@dataclass(frozen=True, slots=True)
class Ways:
    """Where a click can lead: the playhead to a time, or the viewport to a moment that was remembered."""

    seek: Callable[[float], None]
    moment: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a gesture adds to the picture while it lasts."""

    timeline: Timeline | None = None
    markers: tuple[Marker, ...] | None = None
    dragged: frozenset[int] = frozenset()
    guide: float | None = None
    band: tuple[float, float] | None = None


class Gesture:
    """A press that may become a drag. `scrolls`: the view follows when the mouse leaves it."""

    scrolls = True

    def __init__(self, press: Hand) -> None:
        self._press = press
        self.moving = False
        self.draft = Draft()

    def move(self, hand: Hand) -> None:
        """The mouse moved. Raises UserError or KeyError when the gesture is no longer possible."""
        if not self.moving and (hand.point - self._press.point).manhattanLength() < DRAG_PIXELS:
            return
        self.moving = True
        self._drag(hand)

    def finish(self) -> None:
        """The button was let go."""

    def cancel(self) -> None:
        """Esc: nothing happened."""

    def _drag(self, hand: Hand) -> None:
        """Shows where things would be."""


class _EventGesture(Gesture):
    """A drag of events: a preview while it lasts, one edit at its end."""

    def __init__(self, model: TimelineModel, event: Event, press: Hand) -> None:
        super().__init__(press)
        self._model = model
        self._event = event
        self._base: Timeline | None = None
        self._snapping = rules.NO_SNAPPING

    @property
    def gone(self) -> bool:
        """Whether the event under the hand is no longer there."""
        return all(event.id != self._event.id for event in self._model.timeline.events)

    def _snap(self, hand: Hand, ids: tuple[int, ...]) -> rules.Snapping:
        if not hand.tolerance:
            return rules.NO_SNAPPING
        if self._base is not self._model.timeline or self._snapping.tolerance != hand.tolerance:
            self._snapping = self._model.snapping(ids, hand.tolerance)
        return self._snapping

    def _edit(self, text: str, again: Callable[[Timeline], Timeline]) -> None:
        """The preview as an edit; done `again` where the world moved on since the last mouse move."""
        preview, base = self.draft.timeline, self._base
        if self.moving and preview is not None:
            self._model.edit(text, lambda now: preview if now is base else again(now))


class MoveGesture(_EventGesture):
    """Moves the selected events together."""

    def __init__(self, model: TimelineModel, event: Event, press: Hand, alone: bool) -> None:
        super().__init__(model, event, press)
        self._shifting: Shifting | None = None  # of the timeline and events that were dragged last
        self._alone = alone  # a click without a drag leaves this event as the only one selected

    def finish(self) -> None:
        """Moves, or selects."""
        if not self.moving and self._alone:
            self._model.select(self._event.id)
        ids = self._ids()
        by = self.draft.timeline.get(self._event.id).start - self._event.start if self.draft.timeline else 0.0
        self._edit(
            counted("Move", ids),
            lambda now: Shifting.of(now, ids).to(by, self._model.locked, anchor=self._event.id)[0],
        )

    def _ids(self) -> tuple[int, ...]:
        selection = self._model.selection
        return selection if self._event.id in selection else (self._event.id,)

    def _drag(self, hand: Hand) -> None:
        ids, now = self._ids(), self._model.timeline
        snapping = self._snap(hand, ids)
        if self._base is not now or self._shifting is None or len(self._shifting.moved) != len(ids):
            self._shifting = Shifting.of(now, ids)
        held = next(event for event in self._shifting.moved if event.id == self._event.id)
        by = hand.seconds - self._press.seconds + self._event.start - held.start
        preview, guide = self._shifting.to(by, self._model.locked, snapping, self._event.id)
        self._base = now
        self.draft = Draft(timeline=preview, dragged=frozenset(ids), guide=guide)


class ResizeGesture(_EventGesture):
    """Moves one edge of an event."""

    def __init__(self, model: TimelineModel, event: Event, edge: str, press: Hand) -> None:
        super().__init__(model, event, press)
        self._edge = edge

    def finish(self) -> None:
        """Resizes, or selects."""
        if not self.moving:
            self._model.select(self._event.id)
            return
        target = self._time(self.draft.timeline.get(self._event.id)) if self.draft.timeline else 0.0
        self._edit(
            RESIZE_EVENT,
            lambda now: rules.resize(now, self._event.id, self._edge, target, self._model.locked)[0],
        )

    def _time(self, event: Event) -> float:
        return event.start if self._edge == "start" else event.end

    def _drag(self, hand: Hand) -> None:
        now = self._model.timeline
        to = self._time(self._event) + hand.seconds - self._press.seconds
        snapping = self._snap(hand, (self._event.id,))
        preview, guide = rules.resize(now, self._event.id, self._edge, to, self._model.locked, snapping)
        self._base = now
        self.draft = Draft(timeline=preview, dragged=frozenset((self._event.id,)), guide=guide)


class BandGesture(Gesture):
    """Draws a band over the events to select."""

    def __init__(self, model: TimelineModel, press: Hand) -> None:
        super().__init__(press)
        self._model = model
        self._before = model.selection

    def finish(self) -> None:
        """A click beside all events selects none."""
        if not self.moving and not self._press.adds:
            self._model.select(None)

    def cancel(self) -> None:
        """Selects what was selected before."""
        self._model.select_all(self._before)

    def _drag(self, hand: Hand) -> None:
        low, high = sorted((max(0.0, self._press.seconds), max(0.0, hand.seconds)))
        self.draft = Draft(band=(low, high))
        inside = [event.id for event in self._model.timeline.between(low, high)]
        kept, covered = self._before if self._press.adds else (), set(inside)
        self._model.select_all([*(event_id for event_id in kept if event_id not in covered), *inside])


class MarkerGesture(Gesture):
    """Moves a marker; a click goes to its time."""

    def __init__(
        self, model: TimelineModel, marker: Marker, press: Hand, seek: Callable[[float], None]
    ) -> None:
        super().__init__(press)
        self._model = model
        self._marker = marker
        self._seek = seek
        self._to = marker.at

    def finish(self) -> None:
        """Moves, or seeks."""
        if self.moving:
            self._model.move_marker(self._marker, self._to)
        else:
            self._seek(self._marker.at)

    def _drag(self, hand: Hand) -> None:
        if self._marker not in self._model.markers:
            raise UserError(translate("TimelineModel", "The marker is gone."))
        to = self._marker.at + hand.seconds - self._press.seconds
        guide = self._model.snapping((), hand.tolerance).nearest(to) if hand.tolerance else None
        self._to = max(0.0, rules.to_frame(to) if guide is None else guide)
        moved = marks.moved(self._model.markers, self._marker, self._to)
        self.draft = Draft(markers=moved, guide=guide)


class ScrubGesture(Gesture):
    """The playhead follows the mouse; on an arc, a click without a drag goes to what was remembered."""

    def __init__(self, press: Hand, arc: Arc | None, ways: Ways) -> None:
        super().__init__(press)
        self._arc = arc
        self._ways = ways
        if arc is None:
            ways.seek(max(0.0, press.seconds))

    def finish(self) -> None:
        """Goes to the moment that was remembered."""
        if self._arc is not None and not self.moving:
            self._ways.moment(self._arc.start)

    def _drag(self, hand: Hand) -> None:
        self._ways.seek(max(0.0, hand.seconds))


class PanGesture(Gesture):
    """The sheet under the middle button."""

    scrolls = False

    def __init__(self, press: Hand, offset: float, scale: float, show: Callable[[float], None]) -> None:
        super().__init__(press)
        self._offset, self._scale = offset, scale
        self._show = show

    def cancel(self) -> None:
        """Back to where it was."""
        self._show(self._offset)

    def _drag(self, hand: Hand) -> None:
        self._show(self._offset - (hand.point.x() - self._press.point.x()) / self._scale)
