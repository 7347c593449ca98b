"""The row below the ruler: markers with their names, and a small flag where a mode of the world changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from worldattention.app import theme
from worldattention.app.timeline.layout import RULER_HEIGHT, Layout, clock
from worldattention.app.timeline.marks import Marker, ModeChange, mode_words, short_words
from worldattention.app.timeline.model import TimelineModel

FLAG_WIDTH = 9.0
REACH_PIXELS = 4.0
MOST_TOGETHER = 3
MOST_WORDS = 160.0
"""Pixels of a flag's words."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One flag of the row: where, its words, and what it is."""

    at: float
    text: str
    marker: Marker | None


def signs_of(markers: Iterable[Marker], changes: Iterable[ModeChange]) -> list[Sign]:
    """Markers and mode changes by time; the changes of one block share a flag."""
    signs = [Sign(marker.at, marker.name, marker) for marker in markers]
    for at, together in groupby(changes, key=lambda change: change.at):
        signs.append(Sign(at, " · ".join(short_words(change) for change in together), None))
    return sorted(signs, key=lambda sign: (sign.at, sign.marker is None))


def marker_at(layout: Layout, markers: tuple[Marker, ...], point: QPointF) -> Marker | None:
    """The marker whose flag is under the mouse."""
    if not layout.signs.contains(point):
        return None
    low = layout.time(point.x() - FLAG_WIDTH - REACH_PIXELS)
    high = layout.time(point.x() + REACH_PIXELS)
    first = bisect_left(markers, low, key=lambda marker: marker.at)
    near = [marker for marker in markers[first : first + 16] if marker.at <= high]
    return min(near, key=lambda marker: abs(layout.x(marker.at) + 3 - point.x()), default=None)


def words_at(layout: Layout, model: TimelineModel, point: QPointF) -> str:
    """What stands under the mouse in the row, in words; empty where nothing does."""
    if not layout.signs.contains(point):
        return ""
    if (marker := marker_at(layout, model.markers, point)) is not None:
        return f"{clock(marker.at, True)} {marker.name}".strip()
    changed = [
        change
        for change in model.mode_changes
        if -REACH_PIXELS <= point.x() - layout.x(change.at) <= 2 * FLAG_WIDTH + REACH_PIXELS
    ]
    return "\n".join(f"{clock(change.at, True)} {mode_words(change)}" for change in changed)


def sign_end(layout: Layout, sign: Sign) -> float:
    """Pixel to which a flag and its words may reach."""
    return layout.x(sign.at) + FLAG_WIDTH + 3 + (MOST_WORDS if sign.text else 0)


def paint_signs(painter: QPainter, layout: Layout, signs: list[Sign]) -> None:
    """Draws the row; flags that would cover each other stand side by side, names take the room up to the next."""
    row = layout.signs
    face = theme.font(10)
    metrics = QFontMetricsF(face)
    seen = [sign for sign in signs if -300 <= layout.x(sign.at) <= layout.width + 20]
    clusters = _clusters(layout, seen)
    for index, cluster in enumerate(clusters):
        x = layout.x(cluster[0].at)
        for number, sign in enumerate(cluster):
            _paint_flag(painter, layout, sign, x + number * (FLAG_WIDTH + 1))
        left = x + len(cluster) * (FLAG_WIDTH + 1) + 2
        following = layout.x(clusters[index + 1][0].at) if index + 1 < len(clusters) else layout.width
        text, room = " · ".join(sign.text for sign in cluster if sign.text), following - left - 6
        if room < 16 or not text:
            continue
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, min(room, MOST_WORDS))
        box = QRectF(left, row.top(), metrics.horizontalAdvance(text) + 2, row.height())
        painter.fillRect(box, theme.with_alpha(theme.PANEL, 0.8))
        painter.setFont(face)
        painter.setPen(_colour(cluster[0]))
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)


def _clusters(layout: Layout, signs: list[Sign]) -> list[list[Sign]]:
    """Signs in order, those together whose flags would lie over each other; of many, the first three."""
    clusters: list[list[Sign]] = []
    for sign in signs:
        last = clusters[-1] if clusters else []
        if not last or layout.x(sign.at) - layout.x(last[0].at) >= FLAG_WIDTH * len(last):
            clusters.append([sign])
        elif len(last) < MOST_TOGETHER:
            last.append(sign)
    return clusters


def _colour(sign: Sign) -> QColor:
    return QColor(theme.GOOD if sign.marker is not None else theme.ACCENT)


def _paint_flag(painter: QPainter, layout: Layout, sign: Sign, x: float) -> None:
    colour, at, top = _colour(sign), layout.x(sign.at), RULER_HEIGHT + 1
    painter.setPen(QPen(theme.with_alpha(colour, 0.45), 1, Qt.PenStyle.DotLine))
    painter.drawLine(QPointF(at, top), QPointF(at, layout.height if sign.marker else layout.events.top()))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRect(QRectF(x - 0.6, top, 1.2, layout.signs.height() - 1))
    if sign.marker is not None:  # a pennant; a mode change has a swallow's tail: never by colour alone
        flag = [QPointF(x, top), QPointF(x + FLAG_WIDTH, top + 4), QPointF(x, top + 8)]
    else:
        right = x + FLAG_WIDTH
        flag = [QPointF(x, top), QPointF(right, top), QPointF(right - 3, top + 4),
                QPointF(right, top + 8), QPointF(x, top + 8)]  # fmt: skip
    painter.drawPolygon(QPolygonF(flag))
