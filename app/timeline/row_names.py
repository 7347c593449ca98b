"""What each row of the painted timeline shows: a name at its empty right end, and a sentence under the mouse."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from worldattention.app import theme
from worldattention.app.texts import translate
from worldattention.app.timeline.layout import RULER_HEIGHT, SECONDS_HEIGHT, Layout

NAME_HEIGHT = 13.0
CLEAR_PIXELS = 12.0
"""Between what a row holds and its name."""


def row_words(layout: Layout, point: QPointF) -> str:
    """What the row under the mouse shows; empty over the prompts, which speak for themselves."""
    if point.y() < SECONDS_HEIGHT:
        return translate("TimelineRows", "Minutes and seconds: click or drag to look at a moment.")
    if point.y() < RULER_HEIGHT:
        return translate(
            "TimelineRows",
            "Blocks: where one begins, prompts and settings can change. The line below: those made or under way.",
        )
    if layout.film.contains(point):
        return translate("TimelineRows", "The past in small pictures: click one to look at it.")
    if not layout.arcs.contains(point):
        return ""
    return translate(
        "TimelineRows",
        "Arcs lead from the block that recalled (dot) to the moment that it remembered (bar). "
        "Flags above tell where a setting changed, pennants are markers.",
    )


def paint_names(painter: QPainter, layout: Layout, until: float) -> None:
    """Names the rows at their right end, where nothing stands from pixel `until` on."""
    painter.setFont(theme.font(10))
    painter.setPen(QColor(theme.FAINT))
    metrics = QFontMetricsF(painter.font())
    rows = {
        layout.signs.top(): translate("TimelineRows", "changed settings, markers"),
        layout.film.top() - NAME_HEIGHT - 3: translate("TimelineRows", "recalls"),
        layout.film.center().y() - NAME_HEIGHT / 2: translate("TimelineRows", "pictures of the past"),
    }
    tops = sorted(rows)
    for top, following in zip(tops, [*tops[1:], layout.height], strict=True):
        width = metrics.horizontalAdvance(rows[top]) + 1
        box = QRectF(layout.width - CLEAR_PIXELS - width, top, width, NAME_HEIGHT)
        if box.left() > until + CLEAR_PIXELS and following - top >= NAME_HEIGHT:
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, rows[top])
