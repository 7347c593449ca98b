"""Small words over the picture: lines in its upper corner, a chip in its lower one, a countdown beside it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from worldattention.app import theme

MARGIN = 12
CHIP_HEIGHT = 24
LINE_HEIGHT = 18
MOST_WIDTH = 460.0


def chip_rect(area: QRectF, text: str) -> QRectF:
    """Where a chip with this text stands in the picture's `area`: its lower left corner."""
    return QRectF(area.left() + MARGIN, area.bottom() - CHIP_HEIGHT - MARGIN, _width(text) + 20, CHIP_HEIGHT)


def paint_chip(painter: QPainter, box: QRectF, text: str, fraction: float | None = None) -> None:
    """A rounded label; `fraction` of something under way is a line along its lower edge."""
    _ground(painter, box)
    painter.setFont(_face())
    painter.setPen(QColor(theme.TEXT))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    if fraction is not None:
        share = min(max(fraction, 0.0), 1.0)
        line = QRectF(box.left() + 6, box.bottom() - 3, (box.width() - 12) * share, 2)
        painter.fillRect(line, QColor(theme.ACCENT))


def paint_countdown(painter: QPainter, area: QRectF, text: str, fraction: float) -> None:
    """A chip in the lower right corner of the picture."""
    width = _width(text) + 20
    left = area.right() - MARGIN - width
    box = QRectF(left, area.bottom() - CHIP_HEIGHT - MARGIN, width, CHIP_HEIGHT)
    paint_chip(painter, box, text, fraction)


def paint_lines(painter: QPainter, area: QRectF, lines: tuple[str, ...]) -> None:
    """Lines in the upper left corner of the picture; what is too long ends with an ellipsis."""
    metrics = QFontMetricsF(_face())
    room = min(MOST_WIDTH, area.width() - 2 * MARGIN - 20)
    shown = [metrics.elidedText(line, Qt.TextElideMode.ElideRight, room) for line in lines]
    width = max(metrics.horizontalAdvance(line) for line in shown) + 20
    box = QRectF(area.left() + MARGIN, area.top() + MARGIN, width, LINE_HEIGHT * len(lines) + 10)
    _ground(painter, box)
    painter.setFont(_face())
    painter.setPen(QColor(theme.TEXT))
    for index, line in enumerate(shown):
        row = QRectF(box.left() + 10, box.top() + 5 + index * LINE_HEIGHT, room + 2, LINE_HEIGHT)
        painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, line)


def _ground(painter: QPainter, box: QRectF) -> None:
    painter.setPen(QPen(theme.with_alpha(theme.TEXT, 0.12), 1))
    painter.setBrush(theme.with_alpha(theme.WINDOW, 0.76))
    painter.drawRoundedRect(box, 6, 6)


def _face() -> QFont:
    return theme.font(12, QFont.Weight.Medium)


def _width(text: str) -> float:
    return QFontMetricsF(_face()).horizontalAdvance(text)
