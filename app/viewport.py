"""The picture: letterboxed, sharp at every pixel ratio, with the state of the world in plain words over it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from worldattention.app import hud, icons, theme
from worldattention.app.segments import Frames
from worldattention.app.texts import worded
from worldattention.app.upscale import enlarge

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
    """Paints the frame it was given: as large as fits, smooth, or in whole screen pixels a pixel."""

    action_clicked = Signal()
    live_wanted = Signal()
    double_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image: QImage | None = None
        self._drawn: QImage | None = None
        self._overlay: Overlay | None = None
        self._frame: Frames | None = None
        self._enlarged_for = 0.0
        self._chip = ""
        self._lines: tuple[str, ...] = ()
        self._countdown: tuple[str, float] | None = None
        self._smooth = True
        self.frames_painted = 0
        self._fresh = False
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(256, 128)
        self._button = QPushButton(self)
        self._button.setProperty("primary", True)
        self._button.hide()
        self._button.clicked.connect(self.action_clicked)
        column = QVBoxLayout(self)
        column.addStretch(11)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(5)
        self._live = QPushButton(self)
        self._live.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._live.hide()
        self._live.clicked.connect(self.live_wanted)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("World"))
        self._live.setText(self.tr("Back to live"))
        self._live.setToolTip(self.tr("Follow the world again (End)"))
        self._live.setAccessibleName(self._live.text())
        self._place_live()

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

    @property
    def lines(self) -> tuple[str, ...]:
        """The words in the upper corner of the picture."""
        return self._lines

    @property
    def countdown(self) -> str:
        """What the picture waits for."""
        return self._countdown[0] if self._countdown is not None else ""

    def show_frame(self, frame: Frames | None) -> None:
        """Shows a frame, or nothing."""
        self._frame = frame
        self._image = None if frame is None else to_image(frame)
        self._drawn = None
        self._fresh = self._image is not None
        self.update()

    def show_image(self, image: QImage) -> None:
        """Shows a picture that stands for a frame."""
        self._frame, self._drawn, self._image = None, None, image
        self.update()

    def show_lines(self, lines: tuple[str, ...]) -> None:
        """Words in the upper left corner, such as the time and the prompt; none hides them."""
        if lines != self._lines:
            self._lines = lines
            self.update()

    def show_countdown(self, text: str, fraction: float = 0.0) -> None:
        """What the picture waits for, and how much of the wait is over; an empty text hides it."""
        countdown = (text, fraction) if text else None
        if countdown != self._countdown:
            self._countdown = countdown
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
        self._drawn = None
        self.update()

    def picture_rect(self) -> QRectF:
        """Where the picture stands: centred, its own shape kept, its edges on the screen's pixels.

        Pixel by pixel, it is enlarged by a whole number, unless it is larger than the viewport.
        """
        if self._image is None:
            return QRectF(self.rect())
        ratio, image = self.devicePixelRatioF(), self._image.size()
        room = QSize(int(self.width() * ratio), int(self.height() * ratio))
        size = image.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)
        if not self._smooth and size.width() >= image.width():
            size = image * min(room.width() // image.width(), room.height() // image.height())
        # At a ratio of 1.5 the viewport itself may begin between two pixels.
        origin = QPointF(self.mapTo(self.window(), QPoint())) * ratio
        left = round(origin.x() + (room.width() - size.width()) / 2) - origin.x()
        top = round(origin.y() + (room.height() - size.height()) / 2) - origin.y()
        return QRectF(left / ratio, top / ratio, size.width() / ratio, size.height() / ratio)

    def _enlarged(self) -> QImage | None:
        """The picture as it is given to the painter: at a high magnification larger than it was made."""
        if self._frame is None or self._image is None or not self._smooth:
            return self._image
        magnification = self.picture_rect().width() * self.devicePixelRatioF() / self._image.width()
        if self._drawn is None or magnification != self._enlarged_for:
            larger = to_image(enlarge(self._frame, magnification))
            self._drawn = larger.convertToFormat(QImage.Format.Format_RGB32)  # painted twice as fast
            self._enlarged_for = magnification
        return self._drawn

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
        box, size = hud.chip_rect(self.picture_rect(), self._chip), self._live.sizeHint()
        self._live.setGeometry(round(box.right()) + 8, round(box.center().y() - 13), size.width(), 26)

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.WINDOW))
        if self._image is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._smooth)
            painter.drawImage(self.picture_rect(), self._enlarged() or self._image)
            if self._fresh:
                self._fresh = False
                self.frames_painted += 1
        if self._overlay is not None:
            self._paint_overlay(painter, self._overlay)
            return
        area = self.picture_rect()
        if self._lines:
            hud.paint_lines(painter, area, self._lines)
        if self._chip:
            hud.paint_chip(painter, hud.chip_rect(area, self._chip), self._chip)
        if self._countdown is not None:
            hud.paint_countdown(painter, area, *self._countdown)

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
