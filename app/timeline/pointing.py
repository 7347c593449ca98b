"""What the mouse points at on the painted timeline, and what a press there begins."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, Qt

from worldattention.app.timeline import gestures, signs
from worldattention.app.timeline.arcs import arc_at, arc_words
from worldattention.app.timeline.gestures import Gesture, Hand, Ways
from worldattention.app.timeline.layout import Layout
from worldattention.app.timeline.marks import Arc
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.row_names import row_words
from worldattention.app.timeline.words import event_words


@dataclass(frozen=True, slots=True)
class Pointed:
    """The thing under the mouse, how the mouse looks there, and what a tooltip says."""

    event: int | None = None
    arc: Arc | None = None
    cursor: Qt.CursorShape = Qt.CursorShape.ArrowCursor
    words: str = ""


def pointed_at(model: TimelineModel, layout: Layout, point: QPointF) -> Pointed:
    """Markers lie over arcs, arcs over the rest."""
    if signs.marker_at(layout, model.markers, point) is not None:
        words = signs.words_at(layout, model, point)
        return Pointed(cursor=Qt.CursorShape.PointingHandCursor, words=words)
    part, event = layout.hit(model.timeline, point)
    if event is not None:
        edge = event.end if part == "end" else event.start
        if edge < model.locked:
            cursor = Qt.CursorShape.ForbiddenCursor
        else:
            cursor = Qt.CursorShape.OpenHandCursor if part == "body" else Qt.CursorShape.SizeHorCursor
        return Pointed(event.id, cursor=cursor, words=event_words(event))
    arc = arc_at(layout, model.arcs, point)
    if arc is not None:
        return Pointed(arc=arc, cursor=Qt.CursorShape.PointingHandCursor, words=arc_words(arc))
    return Pointed(words=signs.words_at(layout, model, point) or row_words(layout, point))


def pressed(
    model: TimelineModel,
    layout: Layout,
    hand: Hand,
    held: Qt.KeyboardModifier,
    ways: Ways,
) -> Gesture:
    """The gesture that a press of the left button begins; it may change the selection at once."""
    marker = signs.marker_at(layout, model.markers, hand.point)
    if marker is not None:
        return gestures.MarkerGesture(model, marker, hand, ways.seek)
    part, event = layout.hit(model.timeline, hand.point)
    if part == "time":
        return gestures.ScrubGesture(hand, arc_at(layout, model.arcs, hand.point), ways)
    if event is None:
        return gestures.BandGesture(model, hand)
    if held & Qt.KeyboardModifier.ShiftModifier:
        model.select_to(event.id)
    elif held & Qt.KeyboardModifier.ControlModifier:
        model.toggle_selected(event.id)
    elif part != "body":
        model.select(event.id)
        return gestures.ResizeGesture(model, event, part, hand)
    elif event.id not in model.selection:
        model.select(event.id)
    return gestures.MoveGesture(model, event, hand, alone=not hand.adds)
