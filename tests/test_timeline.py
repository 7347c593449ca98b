"""The timeline as pure data: order, no overlaps, exact edits, prompts by time."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldattention.core.errors import UserError
from worldattention.core.timeline import MAX_SECONDS, Event, Timeline, check_prompt, make_timeline

TIMES = st.floats(0, 600).map(lambda value: round(value, 3))


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Up to eight events with gaps."""
    edges = sorted(set(draw(st.lists(TIMES, max_size=16))))
    pairs = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False) if b - a > 0]
    return make_timeline(Event(index + 1, a, b, f"prompt {index}") for index, (a, b) in enumerate(pairs))


def sound(timeline: Timeline) -> bool:
    spans = [(event.start, event.end) for event in timeline.events]
    ids = [event.id for event in timeline.events]
    apart = all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    return apart and all(a < b for a, b in spans) and len(set(ids)) == len(ids)


@given(timelines(), TIMES)
def test_the_prompt_in_force_by_brute_force(timeline: Timeline, seconds: float) -> None:
    before = [event for event in timeline.events if event.start <= seconds]
    expected = (before[-1] if before else timeline.events[0]).prompt if timeline.events else None
    assert timeline.prompt_at(seconds) == expected
    inside = [event for event in timeline.events if event.start <= seconds < event.end]
    assert timeline.event_at(seconds) == (inside[0] if inside else None)


@given(timelines(), TIMES)
def test_a_typed_prompt_holds_from_then_to_the_next_event(timeline: Timeline, seconds: float) -> None:
    said = timeline.set_prompt_from(seconds, "typed")
    assert sound(said)
    assert said.prompt_at(seconds) == "typed"
    for event in timeline.events:
        if event.end <= seconds or event.start > seconds:
            assert event in said.events  # the past and the future stand
        if event.start > seconds:
            assert said.prompt_at(event.start) == event.prompt


@given(timelines(), TIMES, TIMES)
def test_an_edit_is_exact_or_refused(timeline: Timeline, start: float, end: float) -> None:
    try:
        added = timeline.add(start, end, "new")
    except UserError:
        clash = any(event.start < end and start < event.end for event in timeline.events)
        assert clash or end <= start
        return
    assert sound(added)
    new = next(event for event in added.events if event not in timeline.events)
    assert added.remove(new.id) == timeline
    assert added.change(new.id, prompt="other").change(new.id, prompt="new") == added


@pytest.mark.parametrize(
    ("start", "end"),
    [(math.nan, 1), (0, math.nan), (-0.1, 1), (0, math.inf), (1, 1), (2, 1), (0, 1e9), (0, MAX_SECONDS + 1)],
)
def test_impossible_times_are_refused_in_a_sentence(start: float, end: float) -> None:
    with pytest.raises(UserError, match=r"^Event 1 "):
        Timeline().add(start, end, "a prompt")


@pytest.mark.parametrize("prompt", ["x" * 100_000, "a\0b", "\ud83d"])
def test_impossible_prompts_are_refused(prompt: str) -> None:
    with pytest.raises(UserError, match="prompt"):
        check_prompt(prompt)


@pytest.mark.parametrize(
    "prompt", ["", "\U0001f409 flies", "\u0645\u0631\u062d\u0628\u0627", "\ud55c\uae00", "line\nline"]
)
def test_odd_prompts_are_fine(prompt: str) -> None:
    assert Timeline().add(0, 1, prompt).prompt_at(0.5) == prompt


def test_two_events_with_one_id_are_refused() -> None:
    with pytest.raises(UserError, match="share the id"):
        make_timeline([Event(1, 0, 1, "a"), Event(1, 2, 3, "b")])
