"""Recalls as arcs: from the moment of the recall to the moment remembered."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from worldattention.app import theme
from worldattention.app.texts import fit_text, translate
from worldattention.app.timeline.layout import Layout, clock
from worldattention.app.timeline.marks import Arc

REACH_PIXELS = 5.0
CROWD = 100
"""More arcs than this are drawn plainly, to stay quick."""
_STEPS = 24


def arc_points(layout: Layout, arc: Arc) -> tuple[QPointF, QPointF, QPointF, QPointF]:
    """The four points of an arc's Bézier curve, from the recall to the middle of what it remembered."""
    lane = layout.arcs
    base, at = lane.bottom(), layout.x(arc.at)
    middle = (layout.x(arc.start) + layout.x(arc.end)) / 2
    height = 1.33 * min(lane.height() - 5, 10 + abs(at - middle) * 0.22)
    return (
        QPointF(at, base),
        QPointF(at, base - height),
        QPointF(middle, base - height),
        QPointF(middle, base),
    )


def arc_at(layout: Layout, arcs: Iterable[Arc], point: QPointF) -> Arc | None:
    """The arc under the mouse; of several the nearest."""
    if not layout.arcs.contains(point):
        return None
    best, nearest = None, REACH_PIXELS
    for arc in arcs:
        points = arc_points(layout, arc)
        left, right = sorted((points[0].x(), points[3].x()))
        if left - REACH_PIXELS <= point.x() <= right + REACH_PIXELS:
            distance = _distance(points, point)
            if distance < nearest:
                best, nearest = arc, distance
    return best


def arc_words(arc: Arc) -> str:
    """What a recall was, in words."""
    return translate("Recalls", "At {0} the world recalled {1}").format(clock(arc.at, True), span_words(arc))


def span_words(arc: Arc) -> str:
    """What was recalled, and how well it fitted."""
    words = f"{clock(arc.start, True)} – {clock(arc.end, True)}"
    if arc.similarity is not None:
        words += translate("Recalls", ", similarity {}").format(fit_text(arc.similarity))
    if arc.score is not None:
        words += translate("Recalls", ", score {}").format(fit_text(arc.score))
    return words


def paint_arcs(painter: QPainter, layout: Layout, arcs: Iterable[Arc], hovered: Arc | None) -> None:
    """Draws the arcs that are seen; the one under the mouse last and strongest."""
    lane = layout.arcs
    if lane.height() < 8:
        return
    painter.save()
    painter.setClipRect(lane)
    seen = [arc for arc in arcs if arc != hovered and _is_seen(layout, arc)]
    crowded = len(seen) > CROWD
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, not crowded)
    for arc in seen:
        strength = 0.35 + 0.65 * min(max(arc.score or 0.5, 0.0), 1.0)
        _paint(painter, layout, arc, strength, 1.0 if crowded else 1.4)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if hovered is not None:
        _paint(painter, layout, hovered, 1.0, 2.6)
    painter.restore()


def _is_seen(layout: Layout, arc: Arc) -> bool:
    return max(layout.x(arc.end), layout.x(arc.at)) >= 0 and layout.x(arc.start) <= layout.width


def _paint(painter: QPainter, layout: Layout, arc: Arc, strength: float, width: float) -> None:
    first, second, third, last = arc_points(layout, arc)
    start, end = layout.x(arc.start), layout.x(arc.end)
    colour = theme.with_alpha(theme.RECALL, strength)
    path = QPainterPath(first)
    path.cubicTo(second, third, last)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(colour, width))
    painter.drawPath(path)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawRoundedRect(QRectF(start, first.y() - 3, max(3.0, end - start - 1), 3), 1.5, 1.5)
    painter.drawEllipse(QPointF(first.x(), first.y() - 2), width + 1, width + 1)


def _distance(points: tuple[QPointF, QPointF, QPointF, QPointF], point: QPointF) -> float:
    """Pixels from `point` to the curve, by samples a few pixels apart at most joined by lines."""
    steps = max(_STEPS, round(abs(points[3].x() - points[0].x()) / 4))
    best = float("inf")
    for index in range(steps + 1):
        t = index / steps
        u = 1 - t
        weights = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
        x = sum(w * p.x() for w, p in zip(weights, points, strict=True))
        y = sum(w * p.y() for w, p in zip(weights, points, strict=True))
        best = min(best, ((x - point.x()) ** 2 + (y - point.y()) ** 2) ** 0.5)
    return best
