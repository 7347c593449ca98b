"""The timeline by hand: real presses, moves and keys, and what is seen of them."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.timeline_hands import THREE, at, drag, move, open_dock, open_view, release
from worldattention.app.timeline.layout import tick_step
from worldattention.app.timeline.marks import Marker
from worldattention.core.timeline import Event, make_timeline


@pytest.fixture
def view(qtbot):
    widget = open_view(qtbot)
    yield widget
    widget.model.undo_stack.clear()


def test_a_drag_moves_an_event_in_one_undo_step(view):
    drag(view, at(view, 15), at(view, 22))
    moved = view.model.timeline.get(2)
    assert (moved.start, moved.end) == (18.75, 24.75)  # snapped to the block edge nearest to 19 s
    assert view.model.undo_stack.count() == 1
    view.model.undo_stack.undo()
    assert view.model.timeline == THREE
    view.model.undo_stack.redo()
    assert view.model.timeline.get(2) == moved


def test_alt_drags_without_snapping(view):
    drag(view, at(view, 15), at(view, 22.2), Qt.KeyboardModifier.AltModifier)
    assert view.model.timeline.get(2).start == pytest.approx(19.2, abs=1 / 16)
    assert view.model.timeline.get(2).start % 0.75 != 0


def test_an_edge_resizes_and_stops_at_the_neighbour(view):
    drag(view, at(view, 18) - QPoint(2, 0), at(view, 35))
    assert (view.model.timeline.get(2).start, view.model.timeline.get(2).end) == (12, 30)
    drag(view, at(view, 12) + QPoint(2, 0), at(view, 2))
    assert view.model.timeline.get(2).start == 9
    assert view.model.undo_stack.count() == 2


def test_escape_cancels_a_drag(view):
    drag(view, at(view, 15), at(view, 24), let_go=False)
    assert view._gesture.draft.timeline.get(2).start > 18
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at(view, 24))
    assert view.model.timeline == THREE
    assert view.model.undo_stack.count() == 0


def test_a_click_selects_and_delete_deletes(view):
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at(view, 15))
    assert view.model.selected.id == 2
    assert view.model.undo_stack.count() == 0
    view.model.delete_selected()
    assert [event.id for event in view.model.timeline.events] == [1, 3]
    assert view.model.selected is None
    view.model.undo_stack.undo()
    assert view.model.timeline == THREE


def test_a_double_click_adds_an_event_and_opens_its_prompt(view, qtbot):
    QTest.mouseDClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at(view, 42))
    added = view.model.selected
    assert (added.start, added.seconds) == (42.0, 10.0)
    editor = view._editor
    qtbot.waitUntil(lambda: editor.isVisible())
    editor.selectAll()
    QTest.keyClicks(editor, "a walk in the rain ")
    editor.insert("走")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert view.model.timeline.get(added.id).prompt == "a walk in the rain 走"
    assert view._editor is None


def test_escape_leaves_the_prompt_as_it_was(view):
    QTest.mouseDClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at(view, 15))
    QTest.keyClicks(view._editor, "never mind")
    QTest.keyClick(view._editor, Qt.Key.Key_Escape)
    assert view.model.timeline == THREE


def test_the_past_is_locked(view):
    view.model.set_locked(15.0)
    drag(view, at(view, 4), at(view, 24))
    drag(view, at(view, 14), at(view, 24))
    assert view.model.timeline == THREE
    assert len(view.refusals) == 2
    drag(view, at(view, 18) - QPoint(2, 0), at(view, 10))  # its end is still to come, but not before now
    assert view.model.timeline.get(2).end == 15.0
    drag(view, at(view, 33), at(view, 5))
    assert view.model.timeline.get(3).start == 15.0


def test_undo_in_a_later_present_leaves_the_past_alone(view):
    drag(view, at(view, 15), at(view, 22.5))
    moved = view.model.timeline.get(2)
    view.model.set_locked(moved.start + 3)
    view.model.undo_stack.undo()
    now = view.model.timeline
    assert now.event_at(moved.start + 1).prompt == "two"  # it was made, so it stays on the record
    assert now.event_at(moved.start + 3.5) is None
    view.model.undo_stack.redo()
    assert view.model.timeline.event_at(moved.start + 3.5).prompt == "two"


def test_a_click_on_the_film_seeks(view, qtbot):
    view.model.set_locked(8.0)
    with qtbot.waitSignal(view.seek_requested) as seek:
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at(view, 7, "film"))
    assert seek.args[0] == pytest.approx(7.0, abs=0.06)


def test_nudge_split_duplicate(view):
    view.model.select(2)
    QTest.keyClick(view, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert view.model.timeline.get(2).start == 12.75
    view.model.set_playhead(15.0)
    view.model.split()
    assert [(e.start, e.end) for e in view.model.timeline.events if e.prompt == "two"] == [
        (12.75, 15.0), (15.0, 18.75)
    ]  # fmt: skip
    view.model.select(3)
    view.model.duplicate_selected()
    assert view.model.timeline.events[-1].start == 39
    for _ in range(3):
        view.model.undo_stack.undo()
    assert view.model.timeline == THREE


def test_painting_survives_anything(view):
    view.model.open(make_timeline([Event(1, 0, 0.25, "😀" * 500), Event(2, 1e5, 1e5 + 1, "مرحبا بالعالم")]))
    for offset, scale in ((0, 400), (9e4, 0.2), (0, 0.2)):
        view.set_range(offset, scale)
        assert not view.grab().isNull()
    view.resize(240, 60)
    assert not view.grab().isNull()


def test_the_past_is_hatched(view):
    plain = view.grab().toImage()
    view.model.set_locked(30.0)
    hatched = view.grab().toImage()
    lane = view.layout_now.events
    row = round(lane.bottom()) - 4
    free = range(round(view.layout_now.x(19)), round(view.layout_now.x(29)))
    assert len({plain.pixel(x, row) for x in free}) == 1
    assert len({hatched.pixel(x, row) for x in free}) > 2


def test_following_turns_the_page_but_leaves_an_editor_of_the_future_alone(view):
    view.set_range(0.0, 100.0)
    span = view.span
    for step in range(200):
        view.model.set_playhead(step * span / 150)
        view.follow()
        layout = view.layout_now
        assert 0 <= layout.x(view.model.playhead) <= view.width()
    view.set_range(300.0)
    view.model.set_playhead(view.model.playhead + 1 / 16)
    view.follow()
    assert view.offset == 300.0


def test_markers_are_set_snapped_to_and_undone(view):
    view.model.set_playhead(20.3125)
    view.model.toggle_marker()
    assert view.model.markers == (Marker(20.3125),)
    view.model.set_playhead(0.0)
    drag(view, at(view, 15), at(view, 23.4))
    assert view.model.timeline.get(2).start == 20.3125
    view.model.undo_stack.undo()
    view.model.undo_stack.undo()
    assert view.model.markers == ()
    view.model.undo_stack.redo()
    view.model.set_playhead(20.35)
    view.model.toggle_marker()
    assert view.model.markers == ()


def test_a_drag_that_the_world_overtakes_ends_with_a_sentence(view):
    drag(view, at(view, 15), at(view, 20), let_go=False)
    view.model.set_locked(13.0)  # the world has begun the event meanwhile
    move(view, at(view, 21))
    release(view, at(view, 21))
    assert view.model.timeline == THREE
    assert "made already" in view.refusals[-1]


def test_a_drop_beside_what_was_said_meanwhile_finds_its_place(view):
    drag(view, at(view, 35), at(view, 25), let_go=False)
    view.model.put(19.5, "said meanwhile")
    release(view, at(view, 25))
    timeline = view.model.timeline
    assert make_timeline(timeline.events) == timeline
    assert {event.prompt for event in timeline.events} == {"one", "two", "three", "said meanwhile"}
    assert timeline.get(3).seconds == 9


def test_the_wheel_zooms_at_the_cursor_and_f_fits(qtbot):
    one = open_dock(qtbot)
    where = at(one, 33.0)
    for turn in (120, 240, -120, -480, 360):
        fixed = one.layout_now.time(where.x())
        event = QWheelEvent(
            QPointF(where), one.mapToGlobal(QPointF(where)), QPoint(), QPoint(0, turn), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(one, event)
        assert one.offset == 0 or one.layout_now.time(where.x()) == pytest.approx(fixed, abs=1e-6)
    QTest.keyClick(one, Qt.Key.Key_F)
    first, last = one.model.timeline.events[0], one.model.timeline.events[-1]
    assert 0 <= one.layout_now.x(first.start) < 20
    assert 0.8 * one.width() < one.layout_now.x(last.end) < one.width()


def test_a_guide_shows_what_an_edge_sticks_to(view):
    drag(view, at(view, 15), at(view, 20.93), let_go=False)  # near 18 s, a block's edge
    assert view._gesture.draft.guide == 18.0
    x, row = round(view.layout_now.x(18.0)), round(view.layout_now.film.center().y())
    guided = view.grab().toImage()
    move(view, at(view, 20.93), Qt.KeyboardModifier.AltModifier)
    assert view._gesture.draft.guide is None
    free = view.grab().toImage()
    column = range(row - 10, row + 10)
    assert any(guided.pixel(x, y) != free.pixel(x, y) for y in column)
    release(view, at(view, 20.93))


def test_the_playheads_time_covers_the_rulers_whole(view):
    view.model.set_playhead(0.0)
    step = tick_step(view.layout_now.scale)
    x = view.layout_now.x(2 * step) + 4  # where a time of the ruler begins
    for shift in (-20, 0, 20):
        view.model.set_playhead(view.layout_now.seconds(x + shift))
        picture = view.grab().toImage()
        left, right = (round(view.layout_now.x(view.model.playhead)) + side for side in (-24, 24))
        ink = [
            picture.pixelColor(column, 8) for column in (*range(left - 24, left), *range(right, right + 24))
        ]
        assert len({colour.name() for colour in ink}) <= 1
