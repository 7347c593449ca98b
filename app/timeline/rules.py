"""What an edit of the timeline may do, as pure functions: no overlap, the past is locked, snapping.

Times are seconds. `locked` is the end of the past: everything before it has been made and stays as it is.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, replace

from worldattention.app.texts import translate
from worldattention.core.errors import UserError
from worldattention.core.geometry import FPS
from worldattention.core.timeline import MIN_EVENT_SECONDS, Event, Timeline, make_timeline

NEW_EVENT_SECONDS = 10.0
ROUNDING = 1e-9
"""Seconds that two times may differ by and still be the same."""


def locked_sentence() -> str:
    """Why the past cannot be edited."""
    return translate(
        "TimelineRules",
        "This part of the world has been made already: change what is still to come, or restart.",
    )


class PastError(UserError):
    """An edit of what has been made; from `at` on, in seconds, another branch could have it."""

    def __init__(self, at: float) -> None:
        super().__init__(locked_sentence())
        self.at = at


@dataclass(frozen=True, slots=True)
class Snapping:
    """Times that edges stick to within `tolerance` seconds; a tolerance of 0 switches it off.

    `targets` are in order; beside them every `block` seconds from `first_block` on is one (0: none).
    """

    targets: tuple[float, ...] = ()
    tolerance: float = 0.0
    first_block: float = 0.0
    block: float = 0.0

    def nearest(self, seconds: float) -> float | None:
        """The closest target within the tolerance."""
        index = bisect_left(self.targets, seconds)
        near = [*self.targets[max(index - 1, 0) : index + 1]]
        if self.block > 0:
            count = max(0, round((seconds - self.first_block) / self.block))
            near.append(self.first_block + count * self.block)
        best = min(near, key=lambda target: abs(target - seconds), default=None)
        return best if best is not None and abs(best - seconds) <= self.tolerance else None


NO_SNAPPING = Snapping()


def to_frame(seconds: float) -> float:
    """`seconds` on the grid of pixel frames."""
    return round(seconds * FPS) / FPS


def gaps(timeline: Timeline, locked: float, without: int | None = None) -> list[tuple[float, float]]:
    """Free spans from `locked` on, in order; the last one is endless. Event `without` counts as free."""
    free: list[tuple[float, float]] = []
    start = locked
    for event in timeline.events:
        if event.id == without:
            continue
        if event.start > start:
            free.append((start, event.start))
        start = max(start, event.end)
    return [*free, (start, math.inf)]


def move(
    timeline: Timeline, event_id: int, start: float, locked: float, snapping: Snapping = NO_SNAPPING
) -> tuple[Timeline, float | None]:
    """The event moved to where there is room nearest to `start`, and the time it snapped to.

    Raises UserError when it has begun already.
    """
    by = start - timeline.get(event_id).start
    return shift(timeline, (event_id,), by, locked, snapping)


def shift(
    timeline: Timeline,
    ids: Collection[int],
    by: float,
    locked: float,
    snapping: Snapping = NO_SNAPPING,
    anchor: int | None = None,
) -> tuple[Timeline, float | None]:
    """All these events moved by the same time, as near to `by` as there is room, and the time that snapped.

    `anchor` is the event under the hand: it lands on the grid of frames, its edges and those of the whole
    group snap. Raises UserError when one of them has begun already, KeyError when there is none.
    """
    moved = [event for event in timeline.events if event.id in ids]
    if not moved:
        raise KeyError("no event to move")
    if moved[0].start < locked:
        raise PastError(moved[0].start)
    held = next((event for event in moved if event.id == anchor), moved[0])
    by = to_frame(held.start + by) - held.start
    edges = (held.start, held.end, moved[0].start, moved[-1].end)
    snapped = [
        (abs(target - edge - by), target, target - edge)
        for edge in edges
        if (target := snapping.nearest(edge + by)) is not None
    ]
    guide: float | None = None
    if snapped:
        _, guide, by = min(snapped)
    others = [event for event in timeline.events if event.id not in ids]
    placed = _room(moved, others, by, locked)
    return _shifted(moved, others, placed), guide if placed == by else None


def _room(moved: list[Event], others: list[Event], by: float, locked: float) -> float:
    """The shift nearest to `by` with which nothing overlaps and nothing enters the past."""
    lowest = locked - moved[0].start
    starts = [event.start for event in others]
    right = _pushed(moved, others, starts, max(by, lowest), forward=True)
    left = _pushed(moved, others, starts, max(by, lowest), forward=False)
    if left < lowest:
        return right
    return left if abs(left - by) <= abs(right - by) else right


def _pushed(moved: list[Event], others: list[Event], starts: list[float], by: float, forward: bool) -> float:
    """The first shift from `by` on, in one direction, with which nothing overlaps."""
    again = True
    while again:
        again = False
        for event in reversed(moved) if forward else moved:
            low, high = event.start + by, event.end + by
            last = bisect_left(starts, high - ROUNDING) - 1
            if last < 0 or others[last].end <= low + ROUNDING:
                continue
            again = True
            if forward:
                by = others[last].end - event.start
            else:
                first = last
                while first > 0 and others[first - 1].end > low + ROUNDING:
                    first -= 1
                by = others[first].start - event.end
    return by


def _shifted(moved: list[Event], others: list[Event], by: float) -> Timeline:
    """Neighbours that touch share the very same number, whatever the sum was rounded to."""
    ids = {event.id for event in moved}
    placed = [replace(event, start=event.start + by, end=event.end + by) for event in moved]
    events = sorted([*others, *placed], key=lambda event: event.start)
    for index in range(1, len(events)):
        before, after = events[index - 1], events[index]
        if before.end != after.start and abs(before.end - after.start) <= ROUNDING:
            if after.id in ids:
                events[index] = replace(after, start=before.end)
            else:
                events[index - 1] = replace(before, end=after.start)
    if events[0].id in ids and -ROUNDING <= events[0].start < 0:
        events[0] = replace(events[0], start=0.0)
    return make_timeline(events)


def resize(
    timeline: Timeline,
    event_id: int,
    edge: str,
    seconds: float,
    locked: float,
    snapping: Snapping = NO_SNAPPING,
) -> tuple[Timeline, float | None]:
    """The event with its `edge` ("start" or "end") as near to `seconds` as there is room; the snapped time.

    Raises UserError when that edge is past.
    """
    event = timeline.get(event_id)
    if (event.start if edge == "start" else event.end) < locked:
        raise PastError(event.start)
    guide = snapping.nearest(seconds)
    wanted = to_frame(seconds) if guide is None else guide
    if edge == "start":
        before = max((other.end for other in timeline.events if other.end <= event.start), default=0.0)
        placed = min(max(wanted, before, locked), event.end - MIN_EVENT_SECONDS)
        changed = timeline.change(event_id, start=placed)
    else:
        after = min((other.start for other in timeline.events if other.start >= event.end), default=math.inf)
        placed = max(min(wanted, after), event.start + MIN_EVENT_SECONDS, locked)
        changed = timeline.change(event_id, end=placed)
    return changed, guide if placed == guide else None


def retime(timeline: Timeline, event_id: int, edge: str, seconds: float, locked: float) -> Timeline:
    """One edge of the event at exactly that time. Raises UserError where it is past or another event is."""
    event = timeline.get(event_id)
    if (event.start if edge == "start" else event.end) < locked or 0 <= seconds < locked:
        raise PastError(min(event.start, seconds))
    if edge == "start":
        return timeline.change(event_id, start=seconds)
    return timeline.change(event_id, end=seconds)


def add(timeline: Timeline, seconds: float, prompt: str, locked: float) -> Timeline:
    """A new event at `seconds`, as long as there is room, at most ten seconds. Raises UserError."""
    start = max(to_frame(seconds), locked)
    for low, high in gaps(timeline, locked):
        if low <= start < high and high - start >= MIN_EVENT_SECONDS:
            return timeline.add(start, min(start + NEW_EVENT_SECONDS, high), prompt)
    raise UserError(translate("TimelineRules", "There is no room for an event here: choose a free place."))


def delete(timeline: Timeline, ids: Collection[int], locked: float) -> Timeline:
    """Without these events; of one under way, its past stays. Raises UserError when they are all past."""
    chosen = [event for event in timeline.events if event.id in ids]
    if not any(event.end > locked for event in chosen):
        raise PastError(min((event.start for event in chosen), default=0.0))
    gone = {event.id for event in chosen if event.start >= locked}
    cut = {event.id for event in chosen if event.start < locked < event.end}
    return Timeline(
        tuple(
            replace(event, end=locked) if event.id in cut else event
            for event in timeline.events
            if event.id not in gone
        )
    )


def reword(timeline: Timeline, event_id: int, prompt: str, locked: float) -> Timeline:
    """The event with another prompt; one under way is cut at `locked`. Raises UserError."""
    event = timeline.get(event_id)
    if event.prompt == prompt:
        return timeline
    if not prompt.strip():
        raise UserError(translate("TimelineRules", "The prompt is empty: write what shall be seen."))
    if event.end <= locked:
        raise PastError(event.start)
    if event.start < locked:
        return timeline.change(event_id, end=locked).add(locked, event.end, prompt)
    return timeline.change(event_id, prompt=prompt)


def split(timeline: Timeline, seconds: float, locked: float) -> Timeline:
    """The event at `seconds` cut in two. Raises UserError where that is not possible."""
    at = max(to_frame(seconds), locked)
    event = timeline.event_at(at)
    if event is None:
        raise UserError(translate("TimelineRules", "There is no event at the playhead to split."))
    if at - event.start < MIN_EVENT_SECONDS or event.end - at < MIN_EVENT_SECONDS:
        raise UserError(
            translate(
                "TimelineRules", "Too close to an edge to split here: move the playhead into the event."
            )
        )
    return timeline.change(event.id, end=at).add(at, event.end, event.prompt)


def duplicate(timeline: Timeline, ids: Collection[int], locked: float) -> Timeline:
    """Copies of these events, at the same distances, where there is first room for all behind them."""
    chosen = [event for event in timeline.events if event.id in ids]
    if not chosen:
        raise KeyError("no event to copy")
    next_id = 1 + max(event.id for event in timeline.events)
    copies = [replace(event, id=next_id + number) for number, event in enumerate(chosen)]
    starts = [event.start for event in timeline.events]
    by = max(chosen[-1].end, locked) - chosen[0].start
    by = _pushed(copies, list(timeline.events), starts, by, forward=True)
    return _shifted(copies, list(timeline.events), by)


def with_past_kept(current: Timeline, target: Timeline, locked: float) -> Timeline:
    """`target` from `locked` on, `current` before it: undo and redo never change what has been made."""
    past = [replace(e, end=min(e.end, locked)) for e in current.events if e.start < locked]
    future = [replace(e, start=max(e.start, locked)) for e in target.events if e.end > locked]
    past = [event for event in past if event.end > event.start]
    under_way = target.event_at(locked)
    spans = under_way is not None and under_way.start < locked
    if spans and past and past[-1].end == locked and past[-1].prompt == future[0].prompt:
        past[-1:] = [replace(past[-1], end=future.pop(0).end)]
    used = {event.id for event in past}
    next_id = 1 + max([0, *used, *(event.id for event in future)])
    renamed: list[Event] = []
    for event in future:
        if event.id in used:
            event, next_id = replace(event, id=next_id), next_id + 1
        renamed.append(event)
    return make_timeline([*past, *renamed])
