"""Any gesture in any order: no overlap, no negative time, and undo leads back to the very first state (case_24)."""

import random

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.timeline_hands import MIDDLE, NONE, at, click, drag, key, open_dock, release
from worldattention.app.timeline.marks import Marker
from worldattention.core.timeline import Event, make_timeline

ALT, CONTROL, SHIFT = (
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)
ODD = make_timeline(  # times on no grid, and two events that touch
    [
        Event(1, 0.1, 7.3, "one"),
        Event(2, 7.3, 7.3 + 1 / 3, "two"),
        Event(5, 12.0, 18.0, "one"),
        Event(9, 30, 39, "x"),
    ]
)


class Hands:
    """Random gestures with real mouse and key events."""

    def __init__(self, view, draw):
        self.view, self.model, self.draw = view, view.model, draw

    def gesture(self):
        names = [name for name in dir(self) if name.startswith("do_")]
        name = self.draw.choice(names)
        getattr(self, name)()
        return name

    def point(self, lane="events"):
        """Somewhere; mostly at an event or an edge of one."""
        events = self.model.timeline.events
        seconds = self.draw.random() * 60
        if events and self.draw.random() < 0.8:
            event = self.draw.choice(events)
            seconds = self.draw.choice([event.start, event.end, self.draw.uniform(event.start, event.end)])
        point = at(self.view, seconds, lane)
        return QPoint(min(max(point.x(), 0), self.view.width() - 1), point.y())

    def anywhere(self, y):
        return QPoint(self.draw.randrange(-200, self.view.width() + 200), y)

    def held(self):
        return self.draw.choice([NONE, NONE, ALT])

    def do_drag(self):
        start = self.point()
        drag(self.view, start, self.anywhere(start.y()), self.held(), steps=3)

    do_drag_again = do_drag_once_more = do_drag

    def do_drag_and_cancel(self):
        before = (self.model.timeline, self.model.markers)
        start = self.point(self.draw.choice(["events", "signs"]))
        drag(self.view, start, self.anywhere(start.y()), steps=2, let_go=False)
        key(self.view, "Escape")
        release(self.view, start)
        assert (self.model.timeline, self.model.markers) == before

    def do_choose(self):
        click(self.view, self.point(), self.draw.choice([NONE, CONTROL, SHIFT]))

    def do_band(self):
        start = self.point()
        drag(self.view, start, self.anywhere(start.y()), self.draw.choice([CONTROL, SHIFT]), steps=2)

    def do_scrub(self):
        start = self.point("ruler")
        drag(self.view, start, self.anywhere(start.y()), steps=2)

    def do_drag_marker(self):
        if self.model.markers:
            start = at(self.view, self.draw.choice(self.model.markers).at, "signs") + QPoint(3, 0)
            if self.view.rect().contains(start):
                drag(self.view, start, self.anywhere(start.y()), self.held(), steps=2)

    def do_pan(self):
        drag(self.view, self.point("film"), self.anywhere(60), steps=2, button=MIDDLE)

    def do_wheel(self):
        where, turn = QPointF(self.point()), QPoint(0, self.draw.choice([-240, -120, 120, 240]))
        held = self.draw.choice([NONE, CONTROL])
        event = QWheelEvent(
            where, self.view.mapToGlobal(where), QPoint(), turn, Qt.MouseButton.NoButton, held,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(self.view, event)

    def do_add(self):
        """A double-click on a free place, and a prompt typed there."""
        QTest.mouseDClick(self.view, Qt.MouseButton.LeftButton, NONE, self.point())
        self.type_prompt()

    def type_prompt(self):
        editor = self.view._editor
        if editor is not None:
            QTest.keyClicks(editor, self.draw.choice(["one", "a b", "s m d"]))
            key(editor, self.draw.choice(["Return", "Escape"]))

    def do_edit_prompt(self):
        key(self.view, "F2")
        self.type_prompt()

    def do_key(self):
        name, held = self.draw.choice(
            [("S", NONE), ("M", NONE), ("D", CONTROL), ("Delete", NONE), ("F", NONE), ("PageDown", SHIFT),
             ("PageUp", NONE), ("Left", ALT), ("Right", ALT), ("Left", ALT | SHIFT), ("Right", ALT | CONTROL),
             ("A", CONTROL), ("Escape", NONE)]
        )  # fmt: skip
        key(self.view, name, held)

    do_another_key = do_key

    def do_undo_and_redo(self):
        for _ in range(self.draw.randrange(1, 4)):
            key(self.view, "Z", CONTROL)
        for _ in range(self.draw.randrange(3)):
            key(self.view, "Z", CONTROL | SHIFT)

    def do_type_a_time(self):
        fields = self.view.dock.times
        field = self.draw.choice([fields.start, fields.end, fields.playhead])
        if field.isEnabled():
            field.setFocus()
            field.selectAll()
            QTest.keyClicks(field, self.draw.choice(["12,5", "0:20.25", "b7", "soon", "-3", "1e9", "17.1"]))
            key(field, "Return")
            self.view.setFocus()


def asked(timeline, until):
    """What every quarter second before `until` shows."""
    events = [timeline.event_at(t / 4) for t in range(int(until * 4))]
    return [event and event.prompt for event in events]


def gestures_keep_the_timeline_sound(qtbot, count, locked=0.0, moves_on=False):
    view = open_dock(qtbot, ODD)
    model = view.model
    model.edit_markers("", (Marker(20.3), Marker(25.0, "here")))
    model.undo_stack.clear()
    model.set_locked(locked)
    first = (model.timeline, model.markers)
    seed = random.randrange(1 << 30)
    hands = Hands(view, random.Random(seed))
    for number in range(count):
        if moves_on and hands.draw.random() < 0.1:
            model.set_locked(model.locked + hands.draw.random() * 2)
        past, index = asked(model.timeline, model.locked), model.undo_stack.index()
        before = (model.timeline, model.markers)
        name = hands.gesture()
        where = f"gesture {number}, {name}, seed {seed}"
        timeline = model.timeline
        assert make_timeline(timeline.events) == timeline, (
            where
        )  # ordered, positive, no overlap, sound prompts
        assert all(event.start >= 0 for event in timeline.events), where
        assert all(marker.at >= 0 for marker in model.markers), where
        assert asked(timeline, model.locked) == past, where
        if name not in ("do_undo_and_redo", "do_add"):
            changed = (model.timeline, model.markers) != before
            assert model.undo_stack.index() - index == changed, where  # one gesture, one undo step
        assert view._gesture is None, where
        if number % 10 == 0:
            assert not view.grab().isNull()
        if len(timeline.events) > 60:
            model.select_all(event.id for event in timeline.events[10:])
            model.delete_selected()
    if not moves_on:
        while model.undo_stack.canUndo():
            model.undo_stack.undo()
        assert (model.timeline, model.markers) == first, f"seed {seed}"


@pytest.mark.parametrize("locked", [0.0, 15.0])
def test_case_24_100_random_gestures_and_undo_to_the_first_state(qtbot, locked):
    gestures_keep_the_timeline_sound(qtbot, 100, locked)


@pytest.mark.endurance
@pytest.mark.parametrize("locked", [0.0, 15.0])
def test_case_24_1000_random_gestures_and_undo_to_the_first_state(qtbot, locked):
    gestures_keep_the_timeline_sound(qtbot, 1000, locked)


def test_case_24_gestures_while_the_world_goes_on_never_change_the_past(qtbot):
    gestures_keep_the_timeline_sound(qtbot, 60, 5.0, moves_on=True)


@pytest.mark.endurance
def test_case_24_1000_gestures_while_the_world_goes_on(qtbot):
    gestures_keep_the_timeline_sound(qtbot, 1000, 5.0, moves_on=True)
