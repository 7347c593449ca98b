"""Painting of the timeline: pure drawing from a model and a layout."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from worldattention.app import theme
from worldattention.app.texts import translate
from worldattention.app.timeline.layout import MARGIN, RULER_HEIGHT, Layout, clock, tick_step
from worldattention.app.timeline.model import TimelineModel
from worldattention.core.timeline import Event, Timeline


@dataclass(frozen=True, slots=True)
class Look:
    """What the view adds to the model for one painting."""

    timeline: Timeline  # with a drag's preview
    hovered: int | None = None
    dragged: int | None = None
    guide: float | None = None
    focused: bool = False


def paint(painter: QPainter, model: TimelineModel, layout: Layout, look: Look) -> None:
    """Draws all but the playhead."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(QRectF(0, 0, layout.width, layout.height), QColor(theme.PANEL))
    _lanes(painter, layout)
    _ruler(painter, model, layout)
    _markers(painter, model, layout)
    _film(painter, model, layout)
    _highlight(painter, model, layout)
    _arcs(painter, model, layout)
    for event in look.timeline.events:
        _event(painter, model, layout, look, event)
    _locked(painter, model, layout)
    if not look.timeline.events:
        _hint(painter, model, layout)
    if look.guide is not None:
        painter.setPen(QPen(QColor(theme.ACCENT), 1, Qt.PenStyle.DashLine))
        painter.drawLine(
            QPointF(layout.x(look.guide), RULER_HEIGHT), QPointF(layout.x(look.guide), layout.height)
        )


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
        painter.fillRect(
            QRectF(layout.x(0), RULER_HEIGHT - 2, made - layout.x(0), 2), theme.with_alpha(theme.ACCENT, 0.45)
        )
    index = int(layout.offset / minor)
    while (seconds := index * minor) <= layout.last:
        x = layout.x(seconds)
        major = index % 5 == 0
        painter.setPen(QPen(QColor(theme.FAINT if major else theme.LINE), 1))
        painter.drawLine(QPointF(x, RULER_HEIGHT - (7 if major else 4)), QPointF(x, RULER_HEIGHT - 2))
        if major:
            painter.setPen(QColor(theme.MUTED))
            painter.drawText(QPointF(x + 4, RULER_HEIGHT - 8), clock(seconds, tenths=step < 1))
        index += 1


def _markers(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    colour = QColor(theme.GOOD)
    for marker in model.markers:
        x = layout.x(marker)
        painter.setPen(QPen(theme.with_alpha(colour, 0.45), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(x, RULER_HEIGHT), QPointF(x, layout.height))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        flag = [QPointF(x, 4), QPointF(x + 9, 7.5), QPointF(x, 11)]
        painter.drawPolygon(QPolygonF(flag))
        painter.drawRect(QRectF(x - 0.6, 4, 1.2, RULER_HEIGHT - 4))


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
        block = geometry.block_at_frame(round(layout.seconds(x + 0.5) * 16))
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


def _arcs(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    lane = layout.arcs
    if lane.height() < 8:
        return
    painter.save()
    painter.setClipRect(lane)
    base = lane.bottom()
    for arc in model.arcs:
        start, end, at = layout.x(arc.start), layout.x(arc.end), layout.x(arc.at)
        if max(end, at) < 0 or min(start, at) > layout.width:
            continue
        strength = 0.35 + 0.65 * min(max(arc.score or 0.5, 0.0), 1.0)
        colour = theme.with_alpha(theme.RECALL, strength)
        middle = (start + end) / 2
        height = min(lane.height() - 5, 10 + abs(at - middle) * 0.22)
        path = QPainterPath(QPointF(at, base))
        path.cubicTo(
            QPointF(at, base - height * 1.33), QPointF(middle, base - height * 1.33), QPointF(middle, base)
        )
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour, 1.4))
        painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(QRectF(start, base - 3, max(3.0, end - start - 1), 3), 1.5, 1.5)
        painter.drawEllipse(QPointF(at, base - 2), 2.5, 2.5)
    painter.restore()


def _event(painter: QPainter, model: TimelineModel, layout: Layout, look: Look, event: Event) -> None:
    rect = layout.event_rect(event)
    if rect.right() < 0 or rect.left() > layout.width:
        return
    box = rect.adjusted(0.5, 1, -1.0, -1)
    colour = model.colour_of(event.prompt)
    selected = model.selected is not None and model.selected.id == event.id
    past = event.end <= model.locked
    fill = QColor(colour)
    fill.setAlphaF(0.30 if past else 0.62 if event.id in (look.hovered, look.dragged) else 0.48)
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


def playhead(painter: QPainter, model: TimelineModel, layout: Layout) -> None:
    """Draws the playhead, which moves sixteen times a second, over what stays."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    x = layout.x(model.playhead)
    if not -40 <= x <= layout.width + 40:
        return
    accent = QColor(theme.TEXT)
    painter.setPen(QPen(accent, 1.2))
    painter.drawLine(QPointF(x, RULER_HEIGHT - 4), QPointF(x, layout.height))
    label = clock(model.playhead, tenths=True)
    face = theme.font(11, QFont.Weight.DemiBold)
    width = QFontMetricsF(face).horizontalAdvance(label) + 12
    left = min(max(x - width / 2, 1.0), layout.width - width - 1)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(accent)
    painter.drawRoundedRect(QRectF(left, 1, width, 16), 4, 4)
    painter.drawPolygon(QPolygonF([QPointF(x - 4, 16.5), QPointF(x + 4, 16.5), QPointF(x, 21)]))
    painter.setFont(face)
    painter.setPen(QColor(theme.WINDOW))
    painter.drawText(QRectF(left, 1, width, 16), Qt.AlignmentFlag.AlignCenter, label)
