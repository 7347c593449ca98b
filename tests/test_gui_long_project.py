"""A project of 12,000 events: what every poll, paint and mouse move costs is counted, not timed."""

from __future__ import annotations

import random
from bisect import bisect_left
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint

from tests.timeline_hands import at, move, open_dock, press, release
from worldattention.app.timeline import paint, rules, table
from worldattention.app.timeline.shifting import Shifting
from worldattention.core.timeline import Event, Timeline, make_timeline

COUNT = 12_000
SECONDS = 4.0
FEW = 60
"""Events that a search among 12,000 may look at, a few times over."""


class Counted(tuple):
    """Events that count how often one of them is looked at, and how often all are gone through."""

    looks = passes = 0

    def __getitem__(self, place):
        Counted.looks += 1
        return super().__getitem__(place)

    def __iter__(self):
        Counted.passes += 1
        return super().__iter__()


@pytest.fixture
def long(qtbot):
    """The painted view with the table beside it; nothing is counted yet."""
    events = [
        Event(n + 1, SECONDS * n, SECONDS * (n + 1), f"a {('red', 'blue')[n % 2]} house {n % 40}")
        for n in range(COUNT)
    ]
    view = open_dock(qtbot, Timeline(Counted(make_timeline(events).events)))
    view.set_range(20_000.0, 20.0)
    qtbot.waitUntil(lambda: view._painted is not None, timeout=20000)
    Counted.looks = Counted.passes = 0
    return view


def looked_at(work) -> int:
    """How many events `work` looks at."""
    before = Counted.looks + COUNT * Counted.passes
    work()
    return Counted.looks + COUNT * Counted.passes - before


def test_a_poll_of_a_running_world_looks_at_few_events(long, monkeypatch):
    model, told = long.model, []
    monkeypatch.setattr(table, "state_of", lambda *of: told.append(of) or 0)
    changed = []
    long.dock.table.model().dataChanged.connect(lambda a, b: changed.append(b.row() - a.row() + 1))
    for second in range(100, 120):
        assert looked_at(lambda at=second: model.set_playhead(at + 0.5)) <= FEW
        assert looked_at(lambda at=second: model.set_locked(at)) <= FEW
        assert looked_at(lambda at=second: model.timeline.prompt_at(at)) <= FEW
        assert looked_at(lambda at=second: model.sought(at + 900.0, 0.3)) <= FEW
        assert looked_at(lambda at=second: hover(long, 20_000 + at / 4)) <= FEW
    assert told == []  # the table is not seen
    assert max(changed[1:]) <= 3  # the first tells of all that was made at once


def hover(view, seconds):
    move(view, at(view, seconds))


def test_only_what_is_seen_is_painted(long, monkeypatch):
    painted = []
    wide, narrow = paint._event, paint._slivers
    monkeypatch.setattr(paint, "_event", lambda *all: painted.append(all[-1]) or wide(*all))
    monkeypatch.setattr(paint, "_slivers", lambda *all: painted.extend(all[-1]) or narrow(*all))

    def repaint():
        painted.clear()
        long._painted = None
        long._background()
        return len(painted)

    assert looked_at(repaint) <= FEW
    assert 14 <= repaint() <= 18  # a minute of it
    long.fit()
    assert 500 < repaint() <= long.width() + 1  # one for a pixel, whatever lies behind it
    long.model.select_all(range(1, COUNT + 1))
    assert repaint() <= 2 * long.width()
    long.model.select(3003)
    repaint()
    assert 3003 in {event.id for event in painted}


def test_a_move_of_the_mouse_goes_through_no_list_of_all_events(long):
    start = at(long, 20_002.0)
    press(long, start)
    move(long, start + QPoint(8, 0))  # from here on it is a drag
    passes = Counted.passes
    for step in range(40):
        move(long, start + QPoint(8 + 2 * step, 0))
    assert Counted.passes == passes
    release(long, start + QPoint(90, 0))
    assert long.refusals == []
    ids = [event.id for event in long.model.timeline.events]
    assert sorted(ids) == list(range(1, COUNT + 1))


def test_a_selection_of_all_is_one_span_of_the_table(long):
    long.model.select_all(range(1, COUNT + 1))
    chosen = long.dock.table.selectionModel().selection()
    assert (chosen.count(), chosen.at(0).height()) == (1, COUNT)
    long.model.select_all([*range(5, 9), 2, 11])
    spans = [(span.top() + 1, span.bottom() + 1) for span in map(chosen_of(long).at, range(3))]
    assert sorted(spans) == [(2, 2), (5, 8), (11, 11)]


def chosen_of(view):
    return view.dock.table.selectionModel().selection()


def pushed(moved, others, by, forward):
    """The first shift with which nothing overlaps, event by event."""
    again = True
    while again:
        again = False
        for event in reversed(moved) if forward else moved:
            low, high = event.start + by, event.end + by
            inside = [o for o in others if o.start < high - rules.ROUNDING and o.end > low + rules.ROUNDING]
            if inside:
                again = True
                by = inside[-1].end - event.start if forward else inside[0].start - event.end
    return by


def test_room_and_edges_are_those_of_a_search_through_all_events():
    draw = random.Random()
    for _ in range(60):
        events, end = [], 0.0
        for number in range(draw.randrange(3, 40)):
            start = end + draw.choice((0.0, 0.0, 0.0, 0.25, 1.0, 3.0))
            end = start + draw.choice((0.25, 0.5, 1.0, 2.0))
            events.append(Event(number + 1, start, end, "x"))
        ids = set(draw.sample(range(1, len(events) + 1), draw.randrange(1, 3)))
        shifting = Shifting.of(Timeline(tuple(events)), ids)
        others = [event for event in events if event.id not in ids]
        for _ in range(8):
            by, forward = draw.uniform(-10, 10), draw.random() < 0.5
            assert shifting.pushed(by, forward) == pushed(shifting.moved, others, by, forward)
            edges = sorted(edge for event in others for edge in (event.start, event.end))
            seconds = draw.uniform(-1, end + 1)
            snapping = rules.Snapping((), 0.5, events=tuple(events), without=frozenset(ids))
            near = [e for e in edges if abs(e - seconds) <= 0.5]
            assert snapping.nearest(seconds) == min(near, key=lambda e: abs(e - seconds), default=None)


def test_a_packed_stretch_counts_as_one_event_in_the_way():
    events = [Event(n + 1, SECONDS * n, SECONDS * (n + 1), "x") for n in range(COUNT)]
    shifting = Shifting.of(Timeline(tuple(events)), {6001})
    assert len(shifting.starts) == len(shifting.ends) == 2
    timeline, _ = shifting.to(1.0, 0.0)
    assert timeline.get(6001) == events[6000], "there is no room nearer than where it was"
    longer = replace(events[6000], end=events[6000].end - 2.0)
    narrow = Timeline((*events[:6000], longer, *events[6001:]))
    moved, _ = Shifting.of(narrow, {6001}).to(1.0, 0.0)
    assert moved.get(6001).start == longer.start + 1.0
    assert bisect_left(moved.events, moved.get(6001).start, key=lambda event: event.start) == 6000
