"""Hands for the tests of the timeline: a view with three events, and real presses, moves and keys."""

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow

from worldattention.app.actions import SPECS, make_actions
from worldattention.app.timeline.dock import TimelineDock
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.view import TimelineView
from worldattention.core.timeline import Event, make_timeline

THREE = make_timeline([Event(1, 0, 9, "one"), Event(2, 12, 18, "two"), Event(3, 30, 39, "three")])
SCALE = 20.0
NONE = Qt.KeyboardModifier.NoModifier
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton


def open_view(qtbot, timeline=THREE):
    """A shown view at 20 pixels a second; `model` and `refusals` hang on it."""
    model = TimelineModel()
    model.open(timeline)
    widget = TimelineView(model)
    qtbot.addWidget(widget)
    widget.resize(1200, 150)
    widget.show()
    qtbot.waitExposed(widget)
    widget.set_range(0.0, SCALE)
    widget.model = model
    widget.refusals = []
    hear_refusals(widget)
    return widget


def hear_refusals(view):
    view.model.refused.connect(view.refusals.append)
    view.model.past_refused.connect(lambda error, _again: view.refusals.append(str(error)))


def at(view, seconds, lane="events"):
    """A point of a lane: events, film, signs, arcs or ruler."""
    layout = view.layout_now
    y = 8.0 if lane == "ruler" else getattr(layout, lane).center().y()
    return QPoint(round(layout.x(seconds)), round(y))


def press(view, point, modifier=NONE, button=LEFT):
    QTest.mousePress(view, button, modifier, point)


def move(view, point, modifier=NONE, button=LEFT):
    where = QPointF(point)
    kind, none = QEvent.Type.MouseMove, Qt.MouseButton.NoButton
    QApplication.sendEvent(view, QMouseEvent(kind, where, view.mapToGlobal(where), none, button, modifier))


def release(view, point, modifier=NONE, button=LEFT):
    QTest.mouseRelease(view, button, modifier, point)


def click(view, point, modifier=NONE):
    QTest.mouseClick(view, LEFT, modifier, point)


def drag(view, start, end, modifier=NONE, let_go=True, steps=4, button=LEFT):
    press(view, start, modifier, button)
    for step in range(1, steps + 1):
        move(view, start + (end - start) * step / steps, modifier, button)
    if let_go:
        release(view, end, modifier, button)


def key(view, name, modifier=NONE):
    QTest.keyClick(view, getattr(Qt.Key, f"Key_{name}"), modifier)


def open_dock(qtbot, timeline=THREE):
    """A window with the timeline's dock and all its actions; its view has `model`, `dock` and `refusals`."""
    window, model = QMainWindow(), TimelineModel()
    model.open(timeline)
    handlers = {name: lambda: None for name in SPECS}
    handlers |= {
        "undo": model.undo_stack.undo,
        "redo": model.undo_stack.redo,
        "split": model.split,
        "marker": model.toggle_marker,
        "duplicate": model.duplicate_selected,
        "delete": model.delete_selected,
        "fit": lambda: dock.view.fit(),
    }
    actions = make_actions(window, handlers)
    dock = TimelineDock(model, actions, window)
    window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    for name, spec in SPECS.items():
        if not spec.everywhere:
            dock.view.addAction(actions[name])
    qtbot.addWidget(window)
    window.resize(1200, 260)
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=20000)
    view = dock.view
    view.setFocus()
    view.set_range(0.0, SCALE)
    view.model, view.dock, view.refusals, view.kept = model, dock, [], window
    hear_refusals(view)
    view.seek_requested.connect(model.set_playhead)
    return view
