"""The timeline's rules: whatever is asked, events never overlap and the past stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldattention.app.timeline import rules, shifting
from worldattention.core.errors import UserError
from worldattention.core.timeline import Event, Timeline, make_timeline

FRAME = 1 / 16


def timeline(*spans):
    return make_timeline(Event(i, start, end, f"prompt {i}") for i, (start, end) in enumerate(spans, 1))


@st.composite
def timelines(draw):
    lengths = draw(st.lists(st.tuples(st.integers(0, 80), st.integers(4, 200)), min_size=1, max_size=6))
    events, at = [], 0
    for number, (gap, length) in enumerate(lengths, 1):
        at += gap
        events.append(Event(number, at * FRAME, (at + length) * FRAME, f"prompt {number % 3}"))
        at += length
    return make_timeline(events)


def sound(one):
    assert make_timeline(one.events) == one  # ordered, positive, no overlap


def past(one, locked):
    """What is asked for in every frame before `locked`."""
    return [one.event_at(n * FRAME) and one.event_at(n * FRAME).prompt for n in range(round(locked / FRAME))]


@given(timelines(), st.data())
def test_a_move_keeps_the_length_and_never_overlaps_or_enters_the_past(one, data):
    locked = data.draw(st.integers(0, 400)) * FRAME
    event = data.draw(st.sampled_from(one.events))
    to = data.draw(st.floats(-20, 120))
    if event.start < locked:
        with pytest.raises(UserError):
            shifting.move(one, event.id, to, locked)
        return
    moved, _ = shifting.move(one, event.id, to, locked)
    sound(moved)
    assert moved.get(event.id).seconds == pytest.approx(event.seconds)
    assert moved.get(event.id).start >= locked
    assert past(moved, locked) == past(one, locked)
    assert moved.remove(event.id) == one.remove(event.id)


@given(timelines(), st.data())
def test_a_resize_moves_one_edge_only(one, data):
    locked = data.draw(st.integers(0, 400)) * FRAME
    event = data.draw(st.sampled_from(one.events))
    edge = data.draw(st.sampled_from(["start", "end"]))
    try:
        changed, _ = rules.resize(one, event.id, edge, data.draw(st.floats(0, 120)), locked)
    except UserError:
        assert getattr(event, edge) < locked
        return
    sound(changed)
    other = "end" if edge == "start" else "start"
    assert getattr(changed.get(event.id), other) == getattr(event, other)
    assert changed.get(event.id).seconds >= 0.25
    assert past(changed, locked) == past(one, locked)


@given(timelines(), timelines(), st.integers(0, 600))
def test_undo_never_changes_the_past_and_restores_all_that_is_to_come(current, target, frames):
    locked = frames * FRAME
    merged = rules.with_past_kept(current, target, locked)
    sound(merged)
    assert past(merged, locked) == past(current, locked)
    for n in range(frames, frames + 200):
        wanted, got = target.event_at(n * FRAME), merged.event_at(n * FRAME)
        assert (wanted and wanted.prompt) == (got and got.prompt)


def test_with_nothing_made_undo_is_exact():
    before, after = timeline((0, 5), (6, 9)), timeline((1, 4))
    assert rules.with_past_kept(after, before, 0.0) == before


def test_a_move_hops_over_a_neighbour_into_the_next_gap():
    one = timeline((0, 2), (4, 6), (10, 12))
    assert shifting.move(one, 1, 7.0, 0.0)[0].get(1) == Event(1, 7.0, 9.0, "prompt 1")
    assert shifting.move(one, 1, 5.5, 0.0)[0].get(1).start == 6.0  # half over its neighbour: beside it
    assert shifting.move(one, 1, 9.0, 0.0)[0].get(1).start == 8.0


def test_edges_snap_within_the_tolerance_only():
    one = timeline((0, 2), (5, 7))
    snapping = rules.Snapping((3.0, 4.5), 0.3)
    moved, guide = shifting.move(one, 1, 2.8, 0.0, snapping)
    assert (moved.get(1).start, guide) == (3.0, 3.0)
    moved, guide = shifting.move(one, 1, 2.4, 0.0, snapping)  # its end is near 4.5
    assert (moved.get(1).end, guide) == (4.5, 4.5)
    moved, guide = shifting.move(one, 1, 1.5, 0.0, snapping)
    assert (moved.get(1).start, guide) == (1.5, None)


def test_the_part_under_way_is_cut_not_changed():
    one = timeline((0, 10))
    assert rules.delete(one, [1], 4.0).events == (Event(1, 0, 4.0, "prompt 1"),)
    assert rules.delete(one, [1], 0.0).events == ()
    reworded = rules.reword(one, 1, "other", 4.0)
    assert [(e.start, e.end, e.prompt) for e in reworded.events] == [(0, 4, "prompt 1"), (4, 10, "other")]
    for refused in (
        lambda t, i, lock: rules.delete(t, [i], lock),
        lambda t, i, lock: rules.reword(t, i, "x", lock),
    ):
        with pytest.raises(UserError):
            refused(one, 1, 10.0)


def test_add_split_and_duplicate():
    one = timeline((0, 8))
    assert rules.add(one, 9.0, "new", 0.0).get(2) == Event(2, 9.0, 19.0, "new")
    with pytest.raises(UserError):
        rules.add(one, 3.0, "new", 0.0)
    assert [(e.start, e.end) for e in rules.split(one, 3.0, 0.0).events] == [(0, 3), (3, 8)]
    for at in (0.1, 7.9, 12.0):
        with pytest.raises(UserError):
            rules.split(one, at, 0.0)
    gap_too_small = timeline((0, 8), (9, 12))
    assert shifting.duplicate(gap_too_small, [1], 0.0).events[-1] == Event(3, 12, 20, "prompt 1")


def test_gaps_are_the_complement_of_the_events():
    one = timeline((1, 2), (4, 6))
    assert rules.gaps(one, 0.0) == [(0.0, 1), (2, 4), (6, float("inf"))]
    assert rules.gaps(one, 5.0) == [(6, float("inf"))]
    assert rules.gaps(Timeline(), 3.0) == [(3.0, float("inf"))]


@given(timelines(), st.data())
def test_a_group_keeps_its_distances_and_takes_the_nearest_room(one, data):
    ids = data.draw(st.sets(st.sampled_from([event.id for event in one.events]), min_size=1))
    first = min(one.get(event_id).start for event_id in ids)
    locked = data.draw(st.integers(0, int(first / FRAME))) * FRAME
    by = data.draw(st.integers(-400, 800)) * FRAME
    moved, guide = shifting.Shifting.of(one, ids).to(by, locked)
    sound(moved)
    assert guide is None
    shifts = {moved.get(event_id).start - one.get(event_id).start for event_id in ids}
    assert len(shifts) == 1
    (shift,) = shifts
    assert all(moved.get(event_id).seconds == one.get(event_id).seconds for event_id in ids)
    assert all(moved.get(event.id) == event for event in one.events if event.id not in ids)
    assert past(moved, locked) == past(one, locked)
    others = [event for event in one.events if event.id not in ids]

    def fits(wanted):
        """A plain transcription: no overlap with any other event, and nothing in the past."""
        placed = [(one.get(i).start + wanted, one.get(i).end + wanted) for i in ids]
        return all(start >= locked for start, _ in placed) and not any(
            start < other.end and other.start < end for start, end in placed for other in others
        )

    nearer = abs(shift - by) / FRAME
    assert not any(fits(by + sign * n * FRAME) for n in range(int(nearer)) for sign in (-1, 1))


@given(timelines(), st.data())
def test_copies_of_a_group_overlap_nothing_and_come_after_it(one, data):
    ids = data.draw(st.sets(st.sampled_from([event.id for event in one.events]), min_size=1))
    locked = data.draw(st.integers(0, 600)) * FRAME
    copied = shifting.duplicate(one, ids, locked)
    sound(copied)
    new = [event for event in copied.events if event.id not in {e.id for e in one.events}]
    old = [one.get(event_id) for event_id in sorted(ids)]
    assert [event.prompt for event in new] == [event.prompt for event in old]
    assert all(event in copied.events for event in one.events)
    assert new[0].start >= max(old[-1].end, locked)
    assert {b.start - a.start for a, b in zip(old, new, strict=True)} == {new[0].start - old[0].start}


def test_a_cut_at_the_very_present_is_undone_and_redone_exactly():
    whole = timeline((0, 8))
    cut = rules.split(whole, 1.0, 3.0)  # the playhead is in the past: the cut falls on the present
    assert [(event.start, event.end) for event in cut.events] == [(0, 3), (3, 8)]
    assert rules.with_past_kept(cut, whole, 3.0) == whole
    assert rules.with_past_kept(whole, cut, 3.0) == cut
