"""The panels as one picture, as they are on the screen and twice as sharp."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QWidget

from worldattention.app import theme
from worldattention.app.texts import translate
from worldattention.core.errors import UserError
from worldattention.core.files import replacing

SCALE = 2
_GAP = 8


def save_panels(path: Path, panels: Sequence[QWidget]) -> str:
    """Writes the visible panels below each other as PNG; says so. Raises UserError."""
    shown = [panel for panel in panels if panel.isVisible()]
    if not shown:
        raise UserError(translate("Panels", "No panel is open: show one in the View menu first."))
    width = max(panel.width() for panel in shown) + 2 * _GAP
    height = sum(panel.height() + _GAP for panel in shown) + _GAP
    image = QImage(SCALE * width, SCALE * height, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SCALE)
    image.fill(QColor(theme.WINDOW))
    painter = QPainter(image)
    top = _GAP
    for panel in shown:
        panel.render(painter, QPoint(_GAP, top))
        top += panel.height() + _GAP
    painter.end()
    with replacing(path, "the picture") as temporary:
        if not image.save(str(temporary)):
            raise UserError(translate("Panels", "The picture could not be written: choose another place."))
    return translate("Panels", "Saved {0} panels to {1}.").format(len(shown), path.name)
