"""The picture: letterboxed, sharp at every pixel ratio, with the state of the world in plain words over it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from worldattention.app import icons, theme
from worldattention.app.reel import Frames
from worldattention.app.upscale import double

DOUBLED_FROM = 1.5
"""Magnification from which a picture is doubled before the screen scales it."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Overlay:
    """Words over the picture: a title, a line below it, and a share of something under way."""

    title: str
    text: str = ""
    fraction: float | None = None
    action: str = ""


def to_image(frame: Frames) -> QImage:
    """A frame [H, W, 3] uint8 as an image that owns its pixels."""
    height, width, _ = frame.shape
    # bytesPerLine always: without it Qt assumes rows padded to four bytes.
    return QImage(frame.data, width, height, 3 * width, QImage.Format.Format_RGB888).copy()


class Viewport(QWidget):
    """Paints the newest frame it was given."""

    action_clicked = Signal()
    live_wanted = Signal()
    double_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image: QImage | None = None
        self._drawn: QImage | None = None
        self._overlay: Overlay | None = None
        self._chip = ""
        self._smooth = True
        self.frames_painted = 0
        self._fresh = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(256, 128)
        self.setAccessibleName(self.tr("World"))
        self._button = QPushButton(self)
        self._button.setProperty("primary", True)
        self._button.hide()
        self._button.clicked.connect(self.action_clicked)
        column = QVBoxLayout(self)
        column.addStretch(11)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(5)
        self._live = QPushButton(self.tr("Back to live"), self)
        self._live.setToolTip(self.tr("Follow the world again (End)"))
        self._live.setAccessibleName(self._live.text())
        self._live.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._live.hide()
        self._live.clicked.connect(self.live_wanted)

    def sizeHint(self) -> QSize:
        return QSize(840, 440)

    @property
    def image(self) -> QImage | None:
        """What is shown."""
        return self._image

    @property
    def overlay(self) -> Overlay | None:
        """The words over the picture."""
        return self._overlay

    @property
    def chip(self) -> str:
        """The small label in the corner."""
        return self._chip

    def show_frame(self, frame: Frames | None) -> None:
        """Shows a frame, or nothing."""
        self._image = None if frame is None else to_image(frame)
        self._drawn = self._image
        if frame is not None and self._smooth and self._magnification() >= DOUBLED_FROM:
            self._drawn = to_image(double(frame))
        self._fresh = self._image is not None
        self.update()

    def show_overlay(self, overlay: Overlay | None) -> None:
        """Shows words over the picture, or takes them away."""
        if overlay == self._overlay:
            return
        self._overlay = overlay
        self._button.setVisible(overlay is not None and bool(overlay.action))
        if overlay is not None:
            self._button.setText(overlay.action)
            self._button.setAccessibleName(overlay.action)
            self.setAccessibleDescription(f"{overlay.title}. {overlay.text}")
        self.update()

    def show_chip(self, text: str, past: bool = False) -> None:
        """A small label in the lower left corner, such as `paused`; beside the `past` a way back."""
        if text != self._chip or past == self._live.isHidden():
            self._chip = text
            self._live.setVisible(past)
            self._place_live()
            self.update()

    def set_smooth(self, smooth: bool) -> None:
        """Smooth scaling, or pixels as they are."""
        self._smooth = smooth
        self._drawn = self._image
        self.update()

    def picture_rect(self) -> QRectF:
        """Where the picture stands: centred, its own shape kept."""
        if self._image is None:
            return QRectF(self.rect())
        size = self._image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        return QRectF(
            (self.width() - size.width()) / 2,
            (self.height() - size.height()) / 2,
            size.width(),
            size.height(),
        )

    def _magnification(self) -> float:
        """Screen pixels a pixel of the picture."""
        width = self._image.width() if self._image is not None else 1
        return self.picture_rect().width() * self.devicePixelRatioF() / width

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            self._paint(painter)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the picture could not be painted")
        finally:
            painter.end()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.double_clicked.emit()
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_live()

    def _place_live(self) -> None:
        box, size = self._chip_rect(), self._live.sizeHint()
        self._live.setGeometry(round(box.right()) + 8, round(box.center().y() - 13), size.width(), 26)

    def _chip_rect(self) -> QRectF:
        width = QFontMetricsF(theme.font(12, QFont.Weight.Medium)).horizontalAdvance(self._chip) + 20
        area = self.picture_rect()
        return QRectF(area.left() + 12, area.bottom() - 36, width, 24)

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.WINDOW))
        if self._image is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._smooth)
            painter.drawImage(self.picture_rect(), self._drawn or self._image)
            if self._fresh:
                self._fresh = False
                self.frames_painted += 1
        if self._overlay is not None:
            self._paint_overlay(painter, self._overlay)
        elif self._chip:
            self._paint_chip(painter)

    def _paint_overlay(self, painter: QPainter, overlay: Overlay) -> None:
        if self._image is not None:
            painter.fillRect(self.rect(), theme.with_alpha(theme.WINDOW, 0.84))
        middle = QPointF(self.width() / 2, self.height() * 0.40)
        side = 56
        icons.app_icon().paint(
            painter, round(middle.x() - side / 2), round(middle.y() - side - 26), side, side
        )
        painter.setPen(QColor(theme.TEXT))
        painter.setFont(theme.font(18, QFont.Weight.DemiBold))
        painter.drawText(
            QRectF(0, middle.y() - 14, self.width(), 28), Qt.AlignmentFlag.AlignCenter, overlay.title
        )
        painter.setFont(theme.font(13))
        painter.setPen(theme.with_alpha(theme.TEXT, 0.75))
        box = QRectF(self.width() / 2 - 260, middle.y() + 18, 520, 60)
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        painter.drawText(box, int(flags) | int(Qt.TextFlag.TextWordWrap), overlay.text)
        if overlay.fraction is not None:
            track = QRectF(self.width() / 2 - 120, middle.y() + 52, 240, 4)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.RAISED))
            painter.drawRoundedRect(track, 2, 2)
            painter.setBrush(QColor(theme.ACCENT))
            share = min(max(overlay.fraction, 0.0), 1.0)
            painter.drawRoundedRect(
                QRectF(track.left(), track.top(), max(4.0, track.width() * share), 4), 2, 2
            )

    def _paint_chip(self, painter: QPainter) -> None:
        face, box = theme.font(12, QFont.Weight.Medium), self._chip_rect()
        painter.setPen(QPen(theme.with_alpha(theme.TEXT, 0.12), 1))
        painter.setBrush(theme.with_alpha(theme.WINDOW, 0.72))
        painter.drawRoundedRect(box, 6, 6)
        painter.setFont(face)
        painter.setPen(QColor(theme.TEXT))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self._chip)
