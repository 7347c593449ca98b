"""Several events at once, scrolling while dragging, markers, recalls and mode flags: by hand, as people do it."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.fakes_window import FakeEngine, Script
from tests.timeline_hands import (
    MIDDLE,
    NONE,
    THREE,
    at,
    click,
    drag,
    key,
    move,
    open_dock,
    open_view,
    press,
    release,
)
from worldattention.app.timeline.arcs import arc_points
from worldattention.app.timeline.marks import (
    Arc,
    Marker,
    markers_from_json,
    markers_to_json,
    mode_changes,
    mode_words,
)
from worldattention.app.timeline.signs import signs_of
from worldattention.core.config import EngineConfig

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def view(qtbot):
    widget = open_view(qtbot)
    yield widget
    widget.model.undo_stack.clear()


def spans(view):
    return {event.id: (event.start, event.end) for event in view.model.timeline.events}


def test_control_adds_shift_extends_and_a_plain_click_leaves_one(view):
    click(view, at(view, 4))
    click(view, at(view, 35), CONTROL)
    assert view.model.selection == (1, 3)
    click(view, at(view, 35), CONTROL)
    assert view.model.selection == (1,)
    click(view, at(view, 35), SHIFT)
    assert set(view.model.selection) == {1, 2, 3}
    click(view, at(view, 15))
    assert view.model.selection == (2,)
    assert view.model.undo_stack.count() == 0


def test_a_group_moves_together_in_one_undo_step(view):
    click(view, at(view, 4))
    click(view, at(view, 15), CONTROL)
    drag(view, at(view, 15), at(view, 18))
    assert spans(view) == {1: (3, 12), 2: (15, 21), 3: (30, 39)}
    drag(view, at(view, 5), at(view, 60))  # as far as there is room: here, over the third
    moved = spans(view)
    assert moved[2][0] - moved[1][0] == 12
    assert moved[1][0] >= 39 or moved[2][1] <= 30
    assert view.model.undo_stack.count() == 2
    view.model.undo_stack.undo()
    view.model.undo_stack.undo()
    assert view.model.timeline == THREE


def test_a_band_selects_what_it_touches_and_escape_gives_the_selection_back(view):
    click(view, at(view, 35))
    drag(view, at(view, 20), at(view, 8))
    assert view.model.selection == (1, 2)
    drag(view, at(view, 25), at(view, 33), SHIFT)
    assert set(view.model.selection) == {1, 2, 3}
    drag(view, at(view, 26), at(view, 20), let_go=False)
    assert view.model.selection == ()
    key(view, "Escape")
    release(view, at(view, 20))
    assert set(view.model.selection) == {1, 2, 3}
    click(view, at(view, 26))
    assert view.model.selection == ()


def test_groups_are_deleted_and_duplicated_in_one_step(view):
    view.model.select_all((1, 2))
    view.model.duplicate_selected()
    added = {event.id: event for event in view.model.timeline.events if event.id > 3}
    assert [event.prompt for event in added.values()] == ["one", "two"]
    first, second = added.values()
    assert second.start - first.start == 12
    assert first.start >= 18
    assert set(view.model.selection) == set(added)
    view.model.delete_selected()
    assert view.model.timeline == THREE
    assert view.model.undo_stack.undoText() == "Delete events"
    assert view.model.undo_stack.count() == 2


def test_the_middle_button_pans_and_escape_goes_back(view):
    drag(view, at(view, 30, "film"), at(view, 10, "film"), button=MIDDLE)
    assert view.offset == pytest.approx(20.0, abs=0.1)
    start = QPoint(600, 60)
    drag(view, start, start + QPoint(100, 0), button=MIDDLE, let_go=False)
    assert view.offset == pytest.approx(15.0, abs=0.1)
    key(view, "Escape")
    release(view, start, button=MIDDLE)
    assert view.offset == pytest.approx(20.0, abs=0.1)
    assert view.model.undo_stack.count() == 0


def test_a_drag_held_at_the_edge_scrolls_on(view, qtbot):
    start = at(view, 35)
    press(view, start)
    move(view, QPoint(view.width() - 5, start.y()))
    qtbot.waitUntil(lambda: view.offset > 30.0, timeout=20000)
    far = view._gesture.draft.timeline.get(3).start
    assert far > 39
    move(view, QPoint(600, start.y()))  # away from the edge: it stands still
    offset = view.offset
    qtbot.wait(120)
    assert view.offset == offset
    release(view, QPoint(600, start.y()))
    assert view.model.undo_stack.count() == 1


def test_markers_are_dragged_named_and_clicked(qtbot):
    view = open_dock(qtbot)
    view.model.set_playhead(20.0)
    key(view, "M")
    drag(view, at(view, 20, "signs") + QPoint(3, 0), at(view, 24.1, "signs") + QPoint(3, 0))
    assert view.model.markers == (Marker(24.0),)  # on a block's edge
    QTest.mouseDClick(view, Qt.MouseButton.LeftButton, NONE, at(view, 24, "signs") + QPoint(3, 0))
    QTest.keyClicks(view._editor, "the ribbon, ")
    view._editor.insert("리본")  # as an input method would
    key(view._editor, "Return")
    assert view.model.markers == (Marker(24.0, "the ribbon, 리본"),)
    click(view, at(view, 24, "signs") + QPoint(3, 0))
    assert view.model.playhead == 24.0
    stored = markers_to_json((*view.model.markers, Marker(3.0)))
    assert stored == [{"at": 24.0, "name": "the ribbon, 리본"}, 3.0]
    assert markers_from_json(stored) == (Marker(3.0), Marker(24.0, "the ribbon, 리본"))
    key(view, "M")
    assert view.model.markers == ()
    for _ in range(4):
        key(view, "Z", CONTROL)
    assert view.model.markers == ()
    assert not view.model.undo_stack.canUndo()


def test_an_arc_says_its_similarity_and_a_click_shows_the_moment(view, qtbot):
    view.model.add_arcs([Arc(30.0, 4.0, 6.0, 0.4, 0.83), Arc(30.0, 12.0, 14.0, 0.3, 0.21)])
    top = arc_points(view.layout_now, view.model.arcs[0])[3]
    on_arc = QPoint(round(top.x()), round(top.y()) - 2)
    move(view, on_arc, button=Qt.MouseButton.NoButton)
    assert "similarity 0.83" in view.toolTip()
    assert "score 0.40" in view.toolTip()
    assert view._pointed.arc == view.model.arcs[0]
    seeks = []
    view.seek_requested.connect(seeks.append)
    with qtbot.waitSignal(view.moment_requested) as shown:
        click(view, on_arc)
    assert shown.args == [4.0]
    assert seeks == []
    move(view, at(view, 50, "arcs"), button=Qt.MouseButton.NoButton)
    assert view._pointed.arc is None


def records(count=3):
    engine = FakeEngine(Script(step_s=0.0), EngineConfig())
    return [engine.step("a prompt").telemetry for _ in range(count)]


def test_mode_changes_stand_as_flags_at_their_block(view):
    first, second, third = records()
    second = replace(second, attention="dense", asked_density=0.1)
    third = replace(second, block=2, seed=7, steps=2)
    for record in (first, second, third):
        view.model.add_record(record)
    words = [(change.at, mode_words(change)) for change in view.model.mode_changes]
    assert words == [
        (0.75, "attention hsa → dense"),
        (0.75, "density τ → 10%"),
        (1.5, "seed 0 → 7"),
        (1.5, "steps 4 → 2"),
    ]
    assert [sign.text for sign in signs_of((), view.model.mode_changes)] == [
        "dense · density 10%",
        "seed 7 · steps 2",
    ]
    move(view, at(view, 0.75, "signs") + QPoint(3, 0), button=Qt.MouseButton.NoButton)
    assert "attention hsa → dense" in view.toolTip()
    assert mode_changes(None, first, 0.0) == []
    view.model.forget_world()
    assert view.model.mode_changes == []


def test_a_screen_reader_is_told_what_is_selected(view):
    view.setFocus()
    assert "3 prompt events" in view.accessibleDescription()
    view.model.set_locked(13.0)
    key(view, "PageDown")
    key(view, "PageDown")
    assert view.accessibleDescription() == "Event 2 of 3, 0:12.0 to 0:18.0, being made: two"
    key(view, "PageDown", SHIFT)
    assert view.accessibleDescription().endswith("three; 2 events are selected")


def test_letters_typed_into_an_editor_are_no_commands_case_27(qtbot):
    view = open_dock(qtbot)
    view.model.select(2)
    key(view, "F2")
    QTest.keyClicks(view._editor, "s m f d k j l ")
    key(view._editor, "Delete")
    key(view._editor, "Return")
    assert [event.prompt for event in view.model.timeline.events] == ["one", "s m f d k j l", "three"]
    assert view.model.markers == ()
    fields = view.dock.times
    for field in (fields.playhead, fields.start):
        field.setFocus()
        QTest.keyClicks(field, "sm ")
        assert QApplication.focusWidget() is field
    assert view.model.markers == ()
    assert len(view.model.timeline.events) == 3


def test_a_syllable_that_is_being_composed_keeps_the_editor_open(view):
    view.edit_prompt(view.model.timeline.get(2))
    editor = view._editor
    editor.selectAll()
    QApplication.sendEvent(editor, QInputMethodEvent("바", []))
    for name in ("Return", "Escape"):
        key(editor, name)
        assert view._editor is editor
    commit = QInputMethodEvent("", [])
    commit.setCommitString("밤에 연")
    QApplication.sendEvent(editor, commit)
    key(editor, "Return")
    assert view.model.timeline.get(2).prompt == "밤에 연"
    assert view.model.undo_stack.count() == 1


def test_every_row_says_what_it_shows_under_the_mouse(view):
    def said(point):
        move(view, point, button=Qt.MouseButton.NoButton)
        return view.toolTip()

    layout = view.layout_now
    rows = {
        "seconds": QPoint(500, 8),
        "Blocks": QPoint(500, round(layout.signs.top()) - 6),
        "Flags": at(view, 50, "signs"),
        "Arcs": at(view, 50, "arcs"),
        "pictures": at(view, 50, "film"),
    }
    for word, point in rows.items():
        assert word in said(point), word
    assert "Arcs" not in said(at(view, 50))


def test_rows_are_named_at_their_right_end_until_something_stands_there(view):
    def inked(lane):
        """Pixels of the lane's last 120 that differ from its ground."""
        image = view.grab().toImage()
        right, top = view.width() - 12, round(lane.top()) + 2
        ground = image.pixelColor(right - 170, top)
        pixels = (image.pixelColor(x, y) for x in range(right - 120, right) for y in range(top, top + 10))
        return sum(colour != ground for colour in pixels)

    layout = view.layout_now
    assert inked(layout.signs) > 60
    assert inked(layout.film.translated(0, 5)) > 60
    view.model.set_locked(layout.seconds(view.width() - 60))
    assert inked(layout.signs) == 0
    view.model.set_locked(0.0)
    assert inked(layout.signs) > 60
    view.model.open(THREE, [Marker(layout.seconds(view.width() - 300), "a name")])
    assert inked(layout.signs) == 0
