"""Moving events together: where there is room, and what snaps. Made once for a drag, whose moves cost little."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

from worldattention.app.timeline.rules import NO_SNAPPING, ROUNDING, PastError, Snapping, to_frame
from worldattention.core.errors import UserError
from worldattention.core.timeline import MAX_SECONDS, Event, Timeline

_START = attrgetter("start")


@dataclass(frozen=True, slots=True)
class Shifting:
    """The events that move, those that stay, in order, and where of the latter stretches without room begin and end."""

    moved: tuple[Event, ...]
    others: tuple[Event, ...]
    starts: tuple[float, ...]
    ends: tuple[float, ...]

    @classmethod
    def of(cls, timeline: Timeline, ids: Collection[int]) -> Shifting:
        """Raises KeyError when there is none of `ids`."""
        chosen = frozenset(ids)
        moved = tuple(event for event in timeline.events if event.id in chosen)
        if not moved:
            raise KeyError("no event to move")
        return cls.among(moved, tuple(event for event in timeline.events if event.id not in chosen))

    @classmethod
    def among(cls, moved: tuple[Event, ...], others: tuple[Event, ...]) -> Shifting:
        """Both in order, `moved` not empty."""
        need = min(event.seconds for event in moved) - 2 * ROUNDING
        gaps = [place for place, (a, b) in enumerate(pairwise(others)) if b.start - a.end >= need]
        starts = tuple(others[place].start for place in (0, *(gap + 1 for gap in gaps)) if others)
        ends = tuple(others[place].end for place in (*gaps, -1) if others)
        return cls(moved, others, starts, ends)

    def to(
        self, by: float, locked: float, snapping: Snapping = NO_SNAPPING, anchor: int | None = None
    ) -> tuple[Timeline, float | None]:
        """All moved by the same time, as near to `by` as there is room, and the time that snapped.

        `anchor` is the event under the hand: it lands on the grid of frames, its edges and those of the whole
        group snap. Raises UserError when one of them has begun already.
        """
        if self.moved[0].start < locked:
            raise PastError(self.moved[0].start)
        held = next((event for event in self.moved if event.id == anchor), self.moved[0])
        by = to_frame(held.start + by) - held.start
        edges = (held.start, held.end, self.moved[0].start, self.moved[-1].end)
        snapped = [
            (abs(target - edge - by), target, target - edge)
            for edge in edges
            if (target := snapping.nearest(edge + by)) is not None
        ]
        guide: float | None = None
        if snapped:
            _, guide, by = min(snapped)
        placed = self._room(by, locked)
        return self.at(placed), guide if placed == by else None

    def at(self, by: float) -> Timeline:
        """All moved by exactly that time. Raises UserError where they do not fit.

        Neighbours that touch share the very same number, whatever the sum was rounded to.
        """
        placed = [replace(event, start=event.start + by, end=event.end + by) for event in self.moved]
        if -ROUNDING <= placed[0].start < 0:
            placed[0] = replace(placed[0], start=0.0)
        if placed[0].start < 0:
            raise UserError(f"Event {placed[0].id} starts before 0 s: move it to 0 or later.")
        if placed[-1].end > MAX_SECONDS:
            hours = f"{MAX_SECONDS / 3600:.0f}"
            raise UserError(f"Event {placed[-1].id} ends after {hours} hours: let it end earlier.")
        events: list[Event] = []
        taken = 0
        for event in placed:
            until = bisect_right(self.others, event.start, lo=taken, key=_START)
            events += (*self.others[taken:until], event)
            taken = until
        events += self.others[taken:]
        ids = {event.id for event in placed}
        for event in placed:
            index = bisect_left(events, event.start, key=_START)
            _join(events, index, ids)
            _join(events, index + 1, ids)
        return Timeline(tuple(events))

    def pushed(self, by: float, forward: bool) -> float:
        """The first shift from `by` on, in one direction, with which nothing overlaps."""
        again = True
        while again:
            again = False
            for event in reversed(self.moved) if forward else self.moved:
                low, high = event.start + by, event.end + by
                last = bisect_left(self.starts, high - ROUNDING) - 1
                if last < 0 or self.ends[last] <= low + ROUNDING:
                    continue
                again = True
                if forward:
                    by = self.ends[last] - event.start
                else:
                    first = last
                    while first > 0 and self.ends[first - 1] > low + ROUNDING:
                        first -= 1
                    by = self.starts[first] - event.end
        return by

    def _room(self, by: float, locked: float) -> float:
        """The shift nearest to `by` with which nothing overlaps and nothing enters the past."""
        lowest = locked - self.moved[0].start
        right = self.pushed(max(by, lowest), forward=True)
        left = self.pushed(max(by, lowest), forward=False)
        if left < lowest:
            return right
        return left if abs(left - by) <= abs(right - by) else right


def _join(events: list[Event], index: int, moved: Collection[int]) -> None:
    """Lets two neighbours touch that nearly do. Raises UserError where they overlap."""
    if not 0 < index < len(events):
        return
    before, after = events[index - 1], events[index]
    if before.end == after.start:
        return
    if abs(before.end - after.start) <= ROUNDING:
        if after.id in moved:
            events[index] = replace(after, start=before.end)
        else:
            events[index - 1] = replace(before, end=after.start)
    elif before.end > after.start:
        raise UserError(f"Events {before.id} and {after.id} overlap: move one so that they do not.")


def move(
    timeline: Timeline, event_id: int, start: float, locked: float, snapping: Snapping = NO_SNAPPING
) -> tuple[Timeline, float | None]:
    """The event moved to where there is room nearest to `start`, and the time it snapped to.

    Raises UserError when it has begun already.
    """
    by = start - timeline.get(event_id).start
    return Shifting.of(timeline, (event_id,)).to(by, locked, snapping)


def duplicate(timeline: Timeline, ids: Collection[int], locked: float) -> Timeline:
    """Copies of these events, at the same distances, where there is first room for all behind them.

    Raises KeyError when there is none, UserError when there is no room.
    """
    chosen = [event for event in timeline.events if event.id in ids]
    if not chosen:
        raise KeyError("no event to copy")
    next_id = 1 + max(event.id for event in timeline.events)
    copies = tuple(replace(event, id=next_id + number) for number, event in enumerate(chosen))
    shifting = Shifting.among(copies, timeline.events)
    by = max(chosen[-1].end, locked) - chosen[0].start
    return shifting.at(shifting.pushed(by, forward=True))
