"""Prompt events as pure data: what the world is asked for at which time (DESIGN 6, 7)."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace

from worldattention.core.errors import UserError

MAX_PROMPT_CHARACTERS = 10_000
MAX_SECONDS = 7 * 24 * 3600.0
MIN_EVENT_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Event:
    """A prompt that holds from `start` to `end` (seconds). `id` is unique within its timeline."""

    id: int
    start: float
    end: float
    prompt: str

    @property
    def seconds(self) -> float:
        """Length of the event."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events in order of time; they never overlap. Every edit returns a new timeline (so undo is exact)."""

    events: tuple[Event, ...] = ()

    @property
    def seconds(self) -> float:
        """End of the last event; 0 for an empty timeline."""
        return self.events[-1].end if self.events else 0.0

    def event_at(self, seconds: float) -> Event | None:
        """The event whose span holds `seconds`, else None."""
        index = bisect_right(self.events, seconds, key=_start) - 1
        if index >= 0 and seconds < self.events[index].end:
            return self.events[index]
        return None

    def prompt_at(self, seconds: float) -> str | None:
        """The prompt in force at `seconds`: of the event there, else of the last one before it, else the first."""
        if not self.events:
            return None
        index = bisect_right(self.events, seconds, key=_start) - 1
        return self.events[max(index, 0)].prompt

    def between(self, low: float, high: float) -> tuple[Event, ...]:
        """The events that reach into `low`..`high` (seconds), in order."""
        first = bisect_right(self.events, low, key=_end)
        return self.events[first : bisect_left(self.events, high, lo=first, key=_start)]

    def index(self, event: Event) -> int:
        """The place of one of these events."""
        return bisect_left(self.events, event.start, key=_start)

    def get(self, event_id: int) -> Event:
        """The event of that id. Raises KeyError."""
        for event in self.events:
            if event.id == event_id:
                return event
        raise KeyError(event_id)

    def add(self, start: float, end: float, prompt: str) -> Timeline:
        """With a new event (its id is the next free one). Raises UserError when it is bad or overlaps."""
        next_id = 1 + max((event.id for event in self.events), default=0)
        return make_timeline((*self.events, Event(next_id, start, end, prompt)))

    def remove(self, event_id: int) -> Timeline:
        """Without that event. Raises KeyError."""
        self.get(event_id)
        return Timeline(tuple(event for event in self.events if event.id != event_id))

    def change(
        self,
        event_id: int,
        *,
        start: float | None = None,
        end: float | None = None,
        prompt: str | None = None,
    ) -> Timeline:
        """With that event moved, resized or re-worded. Raises KeyError, or UserError when it is bad or overlaps."""
        event = self.get(event_id)
        changed = replace(
            event,
            start=event.start if start is None else start,
            end=event.end if end is None else end,
            prompt=event.prompt if prompt is None else prompt,
        )
        return make_timeline(changed if event.id == event_id else event for event in self.events)

    def set_prompt_from(self, seconds: float, prompt: str, default_seconds: float = 10.0) -> Timeline:
        """The prompt typed live at `seconds`: it holds from there to the next event, else `default_seconds`.

        An event that is under way is cut there; one that starts exactly there is re-worded.
        """
        events: list[Event] = []
        end: float | None = None
        for event in self.events:
            if event.start < seconds < event.end:
                events.append(replace(event, end=seconds))
                end = event.end
            elif event.start == seconds:
                end = event.end
            else:
                events.append(event)
        later = [event.start for event in events if event.start > seconds]
        limit = min(later, default=math.inf)
        stop = min(limit, end if end is not None else seconds + default_seconds)
        next_id = 1 + max((event.id for event in self.events), default=0)
        return make_timeline((*events, Event(next_id, seconds, stop, prompt)))


def _start(event: Event) -> float:
    return event.start


def _end(event: Event) -> float:
    return event.end


def make_timeline(events: Iterable[Event]) -> Timeline:
    """A sound timeline of these events. Raises UserError on bad times, prompts, ids or overlaps."""
    ordered = sorted(events, key=lambda event: event.start)
    seen: set[int] = set()
    for event in ordered:
        if not (math.isfinite(event.start) and math.isfinite(event.end)):
            raise UserError(
                f"Event {event.id} has a time that is no number: give its start and end in seconds."
            )
        if event.start < 0:
            raise UserError(f"Event {event.id} starts before 0 s: move it to 0 or later.")
        if event.end <= event.start:
            raise UserError(f"Event {event.id} ends at or before its start: give it a positive length.")
        if event.end > MAX_SECONDS:
            raise UserError(
                f"Event {event.id} ends after {MAX_SECONDS / 3600:.0f} hours: let it end earlier."
            )
        if event.id in seen:
            raise UserError(f"Two events share the id {event.id}: give each event an id of its own.")
        seen.add(event.id)
        check_prompt(event.prompt)
    for before, after in itertools.pairwise(ordered):
        if after.start < before.end:
            raise UserError(f"Events {before.id} and {after.id} overlap: move one so that they do not.")
    return Timeline(tuple(ordered))


def check_prompt(prompt: str) -> None:
    """Raises UserError when a prompt cannot be used: NUL characters, lone surrogates, far too long."""
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise UserError(
            f"The prompt has {len(prompt):,} characters: shorten it to at most {MAX_PROMPT_CHARACTERS:,}."
        )
    if "\0" in prompt:
        raise UserError("The prompt holds a NUL character: remove it.")
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(
            "The prompt holds half of a character pair (a lone surrogate): type it again."
        ) from None
