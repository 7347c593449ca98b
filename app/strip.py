"""A strip of panels beside an exported picture: heads, tiers and pages of one block, painted without widgets."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QCoreApplication, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from worldattention.app import theme
from worldattention.app.segments import Frames
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.units import format_bytes

WIDTH = 320
_MARGIN = 16
_INNER = WIDTH - 2 * _MARGIN
_LINES = 4  # of the prompt


def draw_strip(record: BlockTelemetry | None, height: int) -> Frames:
    """The strip [height, WIDTH, 3] of a block, or an empty one. Any thread may call it."""
    image = QImage(WIDTH, height, QImage.Format.Format_RGB888)
    image.fill(QColor(theme.PANEL))
    if record is not None:
        painter = QPainter(image)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            top = _prompt(painter, record, _MARGIN)
            top = _heads(painter, record, top)
            top = _tiers(painter, record, top)
            _pages(painter, record, top, height - _MARGIN)
        finally:
            painter.end()
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(height, image.bytesPerLine())
    return rows[:, : 3 * WIDTH].reshape(height, WIDTH, 3).copy()


def _prompt(painter: QPainter, record: BlockTelemetry, top: float) -> float:
    face = theme.font(13)
    line = QFontMetricsF(face).lineSpacing()
    painter.setFont(face)
    painter.setPen(QColor(theme.TEXT))
    box = QRectF(_MARGIN, top, _INNER, _LINES * line)
    flags = int(Qt.AlignmentFlag.AlignLeft) | int(Qt.TextFlag.TextWordWrap)
    painter.drawText(box, flags, record.prompt[:400])
    return box.bottom() + 10


def _title(painter: QPainter, text: str, value: str, top: float) -> float:
    box = QRectF(_MARGIN, top, _INNER, 18)
    painter.setFont(theme.font(12, QFont.Weight.DemiBold))
    painter.setPen(QColor(theme.TEXT))
    painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
    painter.setFont(theme.font(11))
    painter.setPen(QColor(theme.MUTED))
    painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, value)
    return box.bottom() + 4


def _heads(painter: QPainter, record: BlockTelemetry, top: float) -> float:
    known = record.density[np.isfinite(record.density)]
    value = _words("density {0} %").format(f"{100 * known.mean():.0f}") if known.size else ""
    top = _title(painter, _words("Sparsity per head (Gini)"), value, top)
    gini = record.gini.T[::-1]  # heads up, layers right
    rows, columns = gini.shape
    if not rows or not columns:
        return top
    cell = min(_INNER / columns, 84 / rows)
    table = theme.viridis()
    painter.setPen(Qt.PenStyle.NoPen)
    for row in range(rows):
        for column in range(columns):
            share = float(gini[row, column])
            if np.isfinite(share):
                red, green, blue = table[int(255 * min(max(share, 0.0), 1.0))]
                painter.setBrush(QColor(int(red), int(green), int(blue)))
                painter.drawRect(
                    QRectF(
                        _MARGIN + column * _INNER / columns, top + row * cell, _INNER / columns - 1, cell - 1
                    )
                )
    return top + rows * cell + 14


def _tiers(painter: QPainter, record: BlockTelemetry, top: float) -> float:
    for tier in record.tiers:
        used = f"{format_bytes(tier.used_bytes)} / {format_bytes(tier.quota_bytes)}"
        top = _title(painter, theme.tier_name(tier.name), used, top)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.WINDOW))
        painter.drawRoundedRect(QRectF(_MARGIN, top, _INNER, 6), 3, 3)
        share = min(tier.used_bytes / tier.quota_bytes, 1.0) if tier.quota_bytes else 0.0
        if share > 0:
            painter.setBrush(QColor(theme.tier_colour(tier.name)))
            painter.drawRoundedRect(QRectF(_MARGIN, top, max(6.0, _INNER * share), 6), 3, 3)
        top += 12
    return top + 6


def _pages(painter: QPainter, record: BlockTelemetry, top: float, bottom: float) -> None:
    """A square a page, oldest first, in its tier's colour; those in the window have a frame and a mark."""
    recalled = sum(page.recalled for page in record.pages)
    counts = _words("{0}, {1} recalled").format(len(record.pages), recalled)
    top = _title(painter, _words("Pages"), counts, top)
    if not record.pages or bottom - top < 4:
        return
    side = 18.0
    while side > 3 and len(record.pages) > int(_INNER // side) * int((bottom - top) // side):
        side -= 1
    columns = max(1, int(_INNER // side))
    group = -(-len(record.pages) // (columns * max(1, int((bottom - top) // side))))  # pages a square
    for number in range(0, len(record.pages), group):
        pages = record.pages[number : number + group]
        row, column = divmod(number // group, columns)
        box = QRectF(_MARGIN + column * side, top + row * side, side - 2, side - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.tier_colour(pages[0].tier)))
        painter.drawRect(box)
        if any(page.recalled for page in pages):
            painter.setBrush(QColor(theme.RECALL))
            painter.drawRect(box)
            painter.setBrush(QColor(theme.PANEL))
            painter.drawEllipse(box.center(), side / 6, side / 6)


def _words(text: str) -> str:
    return QCoreApplication.translate("Strip", text)
