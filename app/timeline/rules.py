"""What an edit of the timeline may do, as pure functions: no overlap, the past is locked, snapping.

Times are seconds. `locked` is the end of the past: everything before it has been made and stays as it is.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from worldattention.app.texts import translate
from worldattention.core.errors import UserError
from worldattention.core.geometry import FPS
from worldattention.core.timeline import (
    MAX_SECONDS,
    MIN_EVENT_SECONDS,
    Event,
    Timeline,
    check_prompt,
)

_START, _END = attrgetter("start"), attrgetter("end")
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

    `targets` are in order; beside them every `block` seconds from `first_block` on is one (0: none), and so is
    each edge of `events`, also in order, but of those with an id of `without`.
    """

    targets: tuple[float, ...] = ()
    tolerance: float = 0.0
    first_block: float = 0.0
    block: float = 0.0
    events: tuple[Event, ...] = ()
    without: frozenset[int] = frozenset()

    def nearest(self, seconds: float) -> float | None:
        """The closest target within the tolerance."""
        index = bisect_left(self.targets, seconds)
        near = sorted([*self.targets[max(index - 1, 0) : index + 1], *self._edges(seconds)])
        if self.block > 0:
            count = max(0, round((seconds - self.first_block) / self.block))
            near.append(self.first_block + count * self.block)
        best = min(near, key=lambda target: abs(target - seconds), default=None)
        return best if best is not None and abs(best - seconds) <= self.tolerance else None

    def _edges(self, seconds: float) -> Iterator[float]:
        """Those of the neighbours: no other edge is nearer."""
        index = bisect_left(self.events, seconds, key=_START)
        for side in (range(index - 1, -1, -1), range(index, len(self.events))):
            neighbours = (self.events[place] for place in side)
            event = next((event for event in neighbours if event.id not in self.without), None)
            if event is not None:
                yield from (event.start, event.end)


NO_SNAPPING = Snapping()


def checked(prompt: str) -> str:
    """The prompt without blanks around it. Raises UserError when it is empty or cannot be used."""
    prompt = prompt.strip()
    check_prompt(prompt)
    if not prompt:
        raise UserError(translate("TimelineRules", "The prompt is empty: write what shall be seen."))
    return prompt


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
    events = timeline.events
    index = bisect_left(events, event.start, key=_START)  # a drag looks at neighbours only
    if edge == "start":
        before = events[index - 1].end if index else 0.0
        placed = max(min(max(wanted, locked), event.end - MIN_EVENT_SECONDS), before)
        changed = replace(event, start=placed)
    else:
        after = events[index + 1].start if index + 1 < len(events) else MAX_SECONDS
        placed = min(max(wanted, event.start + MIN_EVENT_SECONDS, locked), after)
        changed = replace(event, end=placed)
    resized = Timeline((*events[:index], changed, *events[index + 1 :]))
    return resized, guide if placed == guide else None


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
    checked(prompt)
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


def with_past_kept(current: Timeline, target: Timeline, locked: float) -> Timeline:
    """`target` from `locked` on, `current` before it: undo and redo never change what has been made."""
    past = list(current.events[: bisect_left(current.events, locked, key=_START)])
    future = list(target.events[bisect_right(target.events, locked, key=_END) :])
    if past and past[-1].end > locked:
        past[-1] = replace(past[-1], end=locked)
    spans = bool(future) and future[0].start < locked
    if spans:
        future[0] = replace(future[0], start=locked)
    if spans and past and past[-1].end == locked and past[-1].prompt == future[0].prompt:
        past[-1:] = [replace(past[-1], end=future.pop(0).end)]
    used = {event.id for event in past}
    next_id = 1 + max([0, *used, *(event.id for event in future)])
    renamed: list[Event] = []
    for event in future:
        if event.id in used:
            event, next_id = replace(event, id=next_id), next_id + 1
        renamed.append(event)
    return Timeline((*past, *renamed))  # sound, since both are and only meet at `locked`
