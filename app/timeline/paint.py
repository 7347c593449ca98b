"""Painting of the timeline: pure drawing from a model and a layout."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter, not_

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF, QRegion

from worldattention.app import theme
from worldattention.app.texts import translate
from worldattention.app.timeline.arcs import paint_arcs
from worldattention.app.timeline.layout import (
    MARGIN,
    RULER_HEIGHT,
    SECONDS_HEIGHT,
    Layout,
    block_step,
    clock,
    tick_step,
)
from worldattention.app.timeline.marks import Arc, Marker
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.row_names import paint_names
from worldattention.app.timeline.signs import paint_signs, sign_end, signs_of
from worldattention.core.geometry import FPS
from worldattention.core.timeline import Event, Timeline

SLIVER_PIXELS = 5.0
_END = attrgetter("end")


@dataclass(frozen=True, slots=True)
class Look:
    """What the view adds to the model for one painting."""

    timeline: Timeline  # with a drag's preview
    markers: tuple[Marker, ...] = ()
    selection: frozenset[int] = frozenset()
    hovered: int | None = None
    arc: Arc | None = None  # under the mouse
    dragged: frozenset[int] = frozenset()
    guide: float | None = None
    band: tuple[float, float] | None = None
    focused: bool = False


def paint(painter: QPainter, model: TimelineModel, layout: Layout, look: Look) -> None:
    """Draws all but the playhead."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(QRectF(0, 0, layout.width, layout.height), QColor(theme.PANEL))
    _lanes(painter, layout)
    _ruler(painter, model, layout)
    _film(painter, model, layout)
    _highlight(painter, model, layout)
    paint_arcs(painter, layout, model.arcs, look.arc)
    signs = signs_of(look.markers, model.mode_changes)
    paint_names(
        painter, layout, max([layout.x(model.locked), *(sign_end(layout, sign) for sign in signs[-1:])])
    )
    paint_signs(painter, layout, signs)
    _events(painter, model, layout, look)
    _locked(painter, model, layout)
    if not look.timeline.events:
        _hint(painter, model, layout)
    if look.band is not None:
        _band(painter, layout, look.band)
    if look.guide is not None:
        painter.setPen(QPen(QColor(theme.ACCENT), 1, Qt.PenStyle.DashLine))
        x = layout.x(look.guide)
        painter.drawLine(QPointF(x, RULER_HEIGHT), QPointF(x, layout.height))


def _lanes(painter: QPainter, layout: Layout) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.WINDOW))
    for lane in (layout.film, layout.events):
        left = max(0.0, layout.x(0.0))
        painter.drawRoundedRect(QRectF(left, lane.top(), layout.width - left + 8, lane.height()), 5, 5)


def _ruler(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    step = tick_step(layout.scale)
    minor = step / 5
    painter.setFont(theme.font(11))
    made = layout.x(model.locked)
    if made > MARGIN:
        bar = QRectF(max(layout.x(0), 0.0), RULER_HEIGHT - 2, made - max(layout.x(0), 0.0), 2)
        painter.fillRect(bar, theme.with_alpha(theme.ACCENT, 0.45))
    index = int(layout.offset / minor)
    while (seconds := index * minor) <= layout.last:
        x = layout.x(seconds)
        major = index % 5 == 0
        painter.setPen(QPen(QColor(theme.FAINT if major else theme.LINE), 1))
        painter.drawLine(QPointF(x, SECONDS_HEIGHT - (7 if major else 4)), QPointF(x, SECONDS_HEIGHT - 2))
        if major:
            painter.setPen(QColor(theme.MUTED))
            painter.drawText(QPointF(x + 4, SECONDS_HEIGHT - 8), clock(seconds, tenths=step < 1))
        index += 1
    _blocks(painter, model, layout)


def _second_labels(layout: Layout, left: float, right: float) -> list[QRectF]:
    """Where the ruler's times stand that reach into `left`..`right`."""
    step = tick_step(layout.scale)
    metrics = QFontMetricsF(theme.font(11))
    boxes = []
    for index in range(int(layout.seconds(left) / step) - 1, int(layout.seconds(right) / step) + 1):
        width = metrics.horizontalAdvance(clock(max(index, 0) * step, tenths=step < 1))
        box = QRectF(layout.x(index * step) + 4, 0, width + 1, SECONDS_HEIGHT - 7)
        if box.right() > left and box.left() < right:
            boxes.append(box)
    return boxes


def _blocks(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    """The lower row of the ruler counts blocks: there is where prompts and modes can change."""
    geometry = model.geometry
    step = block_step(model.block_seconds * layout.scale)
    block = geometry.block_at_frame(round(layout.seconds(0.0) * FPS)) // step * step
    painter.setFont(theme.font(9))
    metrics, unnamed = QFontMetricsF(painter.font()), True
    while (seconds := geometry.block_seconds(block)) <= layout.last:
        x = layout.x(seconds)
        painter.setPen(QPen(QColor(theme.LINE), 1))
        painter.drawLine(QPointF(x, SECONDS_HEIGHT + 1), QPointF(x, RULER_HEIGHT - 3))
        painter.setPen(QColor(theme.FAINT))
        words = str(block)
        if unnamed and x >= 0:  # the first that is seen names the unit
            unnamed, named = False, translate("TimelineRows", "block {}").format(block)
            if metrics.horizontalAdvance(named) < step * model.block_seconds * layout.scale - 6:
                words = named
        painter.drawText(QPointF(x + 3, RULER_HEIGHT - 4), words)
        block += step


def _band(painter: QPainter, layout: Layout, band: tuple[float, float]) -> None:
    left, right = layout.x(band[0]), layout.x(band[1])
    box = QRectF(left, layout.events.top() - 1, right - left, layout.events.height() + 2)
    painter.setPen(QPen(QColor(theme.ACCENT), 1, Qt.PenStyle.DashLine))
    painter.setBrush(theme.with_alpha(theme.ACCENT, 0.15))
    painter.drawRect(box)


def _film(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    if not model.pictures:
        return
    lane = layout.film.adjusted(0, 1, 0, -1)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    geometry = model.geometry
    aspect = geometry.width / geometry.height
    left = layout.x(0.0)
    cell = lane.height() * aspect
    clip = QPainterPath()
    clip.addRoundedRect(QRectF(left, lane.top(), layout.x(model.locked) - left, lane.height()), 4, 4)
    painter.setClipPath(clip)
    first = max(0, int((0 - left) / cell))
    x = left + first * cell
    while x < min(layout.width, layout.x(model.locked)):
        block = geometry.block_at_frame(round(layout.seconds(x + 0.5) * FPS))
        picture = model.picture_of(block)
        if picture is not None:
            painter.drawImage(QRectF(x, lane.top(), cell - 1, lane.height()), picture)
        x += cell
    painter.restore()


def _highlight(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    if model.highlight is None:
        return
    start, end = (layout.x(seconds) for seconds in model.highlight)
    lane = layout.film
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme.RECALL), 2))
    painter.drawRoundedRect(QRectF(start, lane.top(), max(4.0, end - start), lane.height()), 4, 4)


def _events(painter: QPainter, model: TimelineModel, layout: Layout, look: Look) -> None:
    """Draws what is seen; of events that share a pixel only the first, and the first of the selected ones."""
    seen = layout.visible(look.timeline)
    chosen: tuple[Event, ...] = ()
    if look.selection:
        chosen = tuple(event for event in seen if event.id in look.selection)
        seen = tuple(event for event in seen if event.id not in look.selection)
    shown = (*apart(seen, layout), *apart(chosen, layout))
    wide = [event.seconds * layout.scale >= SLIVER_PIXELS for event in shown]
    _slivers(painter, model, layout, look, tuple(compress(shown, map(not_, wide))))
    for event in compress(shown, wide):
        _event(painter, model, layout, look, event)


def apart(events: tuple[Event, ...], layout: Layout) -> Iterator[Event]:
    """Of events in order those that do not end in a pixel of the one before; the others are not looked at."""
    place = 0
    while place < len(events):
        yield events[place]
        until = events[place].end + 1.0 / layout.scale
        place = bisect_left(events, until, lo=place + 1, key=_END)


def _slivers(
    painter: QPainter, model: TimelineModel, layout: Layout, look: Look, events: tuple[Event, ...]
) -> None:
    """Events too narrow for corners and words: those of one colour at once."""
    boxes: dict[tuple[str, bool, bool], list[QRectF]] = {}
    lane, scale = layout.events.adjusted(0, 1, 0, -1), layout.scale
    for event in events:
        box = QRectF(layout.x(event.start), lane.top(), max(1.0, event.seconds * scale), lane.height())
        key = event.prompt, event.id in look.selection, event.end <= model.locked
        boxes.setdefault(key, []).append(box)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for (prompt, selected, past), together in boxes.items():
        colour = QColor(theme.ACCENT) if selected else model.colour_of(prompt)
        colour.setAlphaF(0.45 if past and not selected else 0.8)
        painter.setBrush(colour)
        painter.drawRects(together)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)


def _event(painter: QPainter, model: TimelineModel, layout: Layout, look: Look, event: Event) -> None:
    rect = layout.event_rect(event)
    if rect.right() < 0 or rect.left() > layout.width:
        return
    box = rect.adjusted(0.5, 1, -1.0, -1)
    colour = model.colour_of(event.prompt)
    selected = event.id in look.selection
    past = event.end <= model.locked
    fill = QColor(colour)
    fill.setAlphaF(0.30 if past else 0.62 if event.id == look.hovered or event.id in look.dragged else 0.48)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(fill)
    painter.drawRoundedRect(box, 5, 5)
    painter.setBrush(colour.lighter(125))
    painter.drawRoundedRect(QRectF(box.left(), box.top(), 3, box.height()), 1.5, 1.5)
    current = event.start <= model.playhead < event.end
    if selected or current:
        width = 2.0 if selected else 1.0
        edge = QColor(
            theme.TEXT if selected and look.focused else theme.ACCENT if selected else colour.lighter(150)
        )
        painter.setPen(QPen(edge, width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
    _event_text(painter, layout, box, event, past)


def _event_text(painter: QPainter, layout: Layout, box: QRectF, event: Event, past: bool) -> None:
    left = max(box.left(), 0.0) + 10
    room = min(box.right(), layout.width) - left - 6
    if room < 18:
        return
    big = theme.font(12, QFont.Weight.Medium)
    painter.setFont(big)
    painter.setPen(QColor(theme.MUTED if past else theme.TEXT))
    text = QFontMetricsF(big).elidedText(event.prompt[:300], Qt.TextElideMode.ElideRight, room)
    painter.drawText(QRectF(left, box.top() + 3, room, 17), Qt.AlignmentFlag.AlignVCenter, text)
    small = theme.font(10)
    times = f"{clock(event.start, True)} – {clock(event.end, True)}"
    if QFontMetricsF(small).horizontalAdvance(times) <= room:
        painter.setFont(small)
        painter.setPen(theme.with_alpha(theme.TEXT, 0.45 if past else 0.6))
        painter.drawText(QRectF(left, box.top() + 20, room, 14), Qt.AlignmentFlag.AlignVCenter, times)


def _locked(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    if model.locked <= 0:
        return
    lane = layout.events
    left, right = max(0.0, layout.x(0.0)), layout.x(model.locked)
    if right <= left:
        return
    past = QRectF(left, lane.top(), right - left, lane.height())
    painter.fillRect(past, theme.hatch(theme.with_alpha(theme.MUTED, 0.22)))
    painter.setPen(QPen(theme.with_alpha(theme.TEXT, 0.35), 1))
    painter.drawLine(QPointF(right, layout.film.top()), QPointF(right, lane.bottom()))


def _hint(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    painter.setFont(theme.font(12))
    painter.setPen(QColor(theme.FAINT))
    left = max(layout.x(model.locked), 0.0) + 14
    room = QRectF(left, layout.events.top(), layout.width - left, layout.events.height())
    painter.drawText(
        room,
        Qt.AlignmentFlag.AlignVCenter,
        translate("Timeline", "Double-click to add an event, or type a prompt above"),
    )


def playhead_strip(model: TimelineModel, layout: Layout) -> QRegion:
    """All that `playhead` paints on."""
    region = QRegion()
    for seconds, label, *_ in _needles(model):
        x = layout.x(seconds)
        if -40 <= x <= layout.width + 40:
            strip = QRectF(x - 5, 0, 10, layout.height).united(_label_box(layout, x, label))
            for covered in _second_labels(layout, strip.left(), strip.right()):
                strip = strip.united(covered)
            region += strip.toAlignedRect().adjusted(-1, 0, 1, 0)
    return region


def playhead(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    """Draws the playhead, which moves sixteen times a second, over what stays, and the aim before it."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for seconds, label, colour, style in _needles(model):
        x = layout.x(seconds)
        if -40 <= x <= layout.width + 40:
            _needle(painter, layout, x, label, QColor(colour), style)


def _needles(model: TimelineModel) -> list[tuple[float, str, str, Qt.PenStyle]]:
    """Time, label, colour and line of the aim and the playhead."""
    aim, now = model.aim, model.playhead
    needles = [(now, clock(now, tenths=True), theme.TEXT, Qt.PenStyle.SolidLine)]
    if aim is not None:
        words = translate("TimelineView", "{0} · +{1} s").format(
            clock(aim, tenths=True), math.ceil(aim - now)
        )
        needles.insert(0, (aim, words, theme.ACCENT, Qt.PenStyle.DashLine))
    return needles


def _needle(
    painter: QPainter, layout: Layout, x: float, label: str, colour: QColor, style: Qt.PenStyle
) -> None:
    """A line through all rows, with a label on the ruler."""
    painter.setPen(QPen(colour, 1.2, style))
    painter.drawLine(QPointF(x, SECONDS_HEIGHT), QPointF(x, layout.height))
    box = _label_box(layout, x, label)
    painter.setPen(Qt.PenStyle.NoPen)
    for covered in _second_labels(layout, box.left(), box.right()):
        painter.fillRect(covered, QColor(theme.PANEL))
    painter.setBrush(colour)
    painter.drawRoundedRect(box, 4, 4)
    painter.drawPolygon(QPolygonF([QPointF(x - 4, 16.5), QPointF(x + 4, 16.5), QPointF(x, 21)]))
    painter.setFont(theme.font(11, QFont.Weight.DemiBold))
    painter.setPen(QColor(theme.WINDOW))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, label)


def _label_box(layout: Layout, x: float, label: str) -> QRectF:
    width = QFontMetricsF(theme.font(11, QFont.Weight.DemiBold)).horizontalAdvance(label) + 12
    return QRectF(min(max(x - width / 2, 1.0), layout.width - width - 1), 1, width, 16)
