"""Controls that draw the window's own signs, which a style sheet can only take from files."""

from __future__ import annotations

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QComboBox, QStyle, QStyleOptionButton

from worldattention.app import theme


class ChoiceBox(QComboBox):
    """A combo box with an arrow."""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.MUTED), 1.4))
        x, y = self.width() - 15, self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x, y), QPointF(x + 3.5, y + 3.5), QPointF(x + 7, y)])
        painter.end()


class TickBox(QCheckBox):
    """A check box with a tick."""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.isChecked():
            return
        option = QStyleOptionButton()
        self.initStyleOption(option)
        box = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, self)
        middle = QPointF(box.x() + box.width() / 2, box.y() + box.height() / 2)
        tick = (QPointF(-3.5, 0.0), QPointF(-1.0, 2.8), QPointF(3.6, -2.8))
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.ON_ACCENT if self.isEnabled() else theme.DISABLED), 1.8))
        painter.drawPolyline([middle + point for point in tick])
        painter.end()
