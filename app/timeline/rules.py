"""What an edit of the timeline may do, as pure functions: no overlap, the past is locked, snapping.

Times are seconds. `locked` is the end of the past: everything before it has been made and stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from worldattention.core.errors import UserError
from worldattention.core.geometry import FPS
from worldattention.core.timeline import MIN_EVENT_SECONDS, Event, Timeline, make_timeline

NEW_EVENT_SECONDS = 10.0
LOCKED_SENTENCE = "This part of the world has been made already: change what is still to come, or restart."


@dataclass(frozen=True, slots=True)
class Snapping:
    """Times that edges stick to within `tolerance` seconds; a tolerance of 0 switches it off."""

    targets: tuple[float, ...] = ()
    tolerance: float = 0.0

    def nearest(self, seconds: float) -> float | None:
        """The closest target within the tolerance."""
        best = min(self.targets, key=lambda target: abs(target - seconds), default=None)
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
    event = timeline.get(event_id)
    if event.start < locked:
        raise UserError(LOCKED_SENTENCE)
    length = event.seconds
    start = to_frame(start)
    guide: float | None = None
    snapped = [
        (abs(target - edge), target, target - offset)
        for offset, edge in ((0.0, start), (length, start + length))
        if (target := snapping.nearest(edge)) is not None
    ]
    if snapped:
        _, guide, start = min(snapped)
    room = [(low, high - length) for low, high in gaps(timeline, locked, event_id) if high - low >= length]
    placed = min((min(max(start, low), high) for low, high in room), key=lambda at: abs(at - start))
    if placed != start:
        guide = None
    return timeline.change(event_id, start=placed, end=placed + length), guide


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
        raise UserError(LOCKED_SENTENCE)
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


def add(timeline: Timeline, seconds: float, prompt: str, locked: float) -> Timeline:
    """A new event at `seconds`, as long as there is room, at most ten seconds. Raises UserError."""
    start = max(to_frame(seconds), locked)
    for low, high in gaps(timeline, locked):
        if low <= start < high and high - start >= MIN_EVENT_SECONDS:
            return timeline.add(start, min(start + NEW_EVENT_SECONDS, high), prompt)
    raise UserError("There is no room for an event here: choose a free place.")


def delete(timeline: Timeline, event_id: int, locked: float) -> Timeline:
    """Without the event; of one under way, its past stays. Raises UserError when it is all past."""
    event = timeline.get(event_id)
    if event.start < locked:
        if event.end <= locked:
            raise UserError(LOCKED_SENTENCE)
        return timeline.change(event_id, end=locked)
    return timeline.remove(event_id)


def reword(timeline: Timeline, event_id: int, prompt: str, locked: float) -> Timeline:
    """The event with another prompt; one under way is cut at `locked`. Raises UserError."""
    event = timeline.get(event_id)
    if event.prompt == prompt:
        return timeline
    if not prompt.strip():
        raise UserError("The prompt is empty: write what shall be seen.")
    if event.end <= locked:
        raise UserError(LOCKED_SENTENCE)
    if event.start < locked:
        return timeline.change(event_id, end=locked).add(locked, event.end, prompt)
    return timeline.change(event_id, prompt=prompt)


def split(timeline: Timeline, seconds: float, locked: float) -> Timeline:
    """The event at `seconds` cut in two. Raises UserError where that is not possible."""
    at = max(to_frame(seconds), locked)
    event = timeline.event_at(at)
    if event is None:
        raise UserError("There is no event at the playhead to split.")
    if at - event.start < MIN_EVENT_SECONDS or event.end - at < MIN_EVENT_SECONDS:
        raise UserError("Too close to an edge to split here: move the playhead into the event.")
    return timeline.change(event.id, end=at).add(at, event.end, event.prompt)


def duplicate(timeline: Timeline, event_id: int, locked: float) -> Timeline:
    """A copy of the event in the first gap behind it that holds it."""
    event = timeline.get(event_id)
    for low, high in gaps(timeline, max(locked, event.end)):
        if high - low >= event.seconds:
            return timeline.add(low, low + event.seconds, event.prompt)
    raise AssertionError("the last gap is endless")


def with_past_kept(current: Timeline, target: Timeline, locked: float) -> Timeline:
    """`target` from `locked` on, `current` before it: undo and redo never change what has been made."""
    past = [replace(e, end=min(e.end, locked)) for e in current.events if e.start < locked]
    future = [replace(e, start=max(e.start, locked)) for e in target.events if e.end > locked]
    past = [event for event in past if event.end > event.start]
    if past and future and past[-1].end == future[0].start == locked and past[-1].prompt == future[0].prompt:
        past[-1:] = [replace(past[-1], end=future.pop(0).end)]
    used = {event.id for event in past}
    next_id = 1 + max([0, *used, *(event.id for event in future)])
    renamed: list[Event] = []
    for event in future:
        if event.id in used:
            event, next_id = replace(event, id=next_id), next_id + 1
        renamed.append(event)
    return make_timeline([*past, *renamed])
