"""What the world understood of a prompt, as a row of chips: one for each thing that a prompt can name."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from worldattention.app import theme
from worldattention.app.texts import QT_TRANSLATE_NOOP, tip, translate, worded
from worldattention.core.pocket.prompts import Understood

HEIGHT = 22
GAP = 5

log = logging.getLogger(__name__)

KINDS: tuple[tuple[str, str], ...] = (
    ("action", QT_TRANSLATE_NOOP("Chips", "action")),
    ("place", QT_TRANSLATE_NOOP("Chips", "place")),
    ("time", QT_TRANSLATE_NOOP("Chips", "time")),
    ("weather", QT_TRANSLATE_NOOP("Chips", "weather")),
    ("shirt", QT_TRANSLATE_NOOP("Chips", "shirt")),
)
VALUES = (
    QT_TRANSLATE_NOOP("Chips", "ball"),
    QT_TRANSLATE_NOOP("Chips", "ribbon"),
    QT_TRANSLATE_NOOP("Chips", "torch"),
    QT_TRANSLATE_NOOP("Chips", "kite"),
    QT_TRANSLATE_NOOP("Chips", "dog"),
    QT_TRANSLATE_NOOP("Chips", "wave"),
    QT_TRANSLATE_NOOP("Chips", "balloon"),
    QT_TRANSLATE_NOOP("Chips", "village"),
    QT_TRANSLATE_NOOP("Chips", "beach"),
    QT_TRANSLATE_NOOP("Chips", "mountain"),
    QT_TRANSLATE_NOOP("Chips", "city"),
    QT_TRANSLATE_NOOP("Chips", "day"),
    QT_TRANSLATE_NOOP("Chips", "dusk"),
    QT_TRANSLATE_NOOP("Chips", "night"),
    QT_TRANSLATE_NOOP("Chips", "clear"),
    QT_TRANSLATE_NOOP("Chips", "snow"),
    QT_TRANSLATE_NOOP("Chips", "rain"),
    QT_TRANSLATE_NOOP("Chips", "red"),
    QT_TRANSLATE_NOOP("Chips", "blue"),
    QT_TRANSLATE_NOOP("Chips", "green"),
    QT_TRANSLATE_NOOP("Chips", "yellow"),
    QT_TRANSLATE_NOOP("Chips", "white"),
    QT_TRANSLATE_NOOP("Chips", "purple"),
    QT_TRANSLATE_NOOP("Chips", "orange"),
    QT_TRANSLATE_NOOP("Chips", "black"),
)


@dataclass(frozen=True, slots=True)
class Chip:
    """One thing that a prompt can name. `value` None: it names none, and the world chooses."""

    kind: str
    value: str | None

    @property
    def text(self) -> str:
        """What stands on the chip, in the language of the window."""
        if self.value is None:
            return translate("Chips", self.kind)
        value = translate("Chips", self.value)
        return translate("Chips", "{0} shirt").format(value) if self.kind == "shirt" else value


def chips_of(understood: Understood) -> tuple[Chip, ...]:
    """The chips of a prompt: those with a value first."""
    chips = [Chip(kind, getattr(understood, name)) for name, kind in KINDS]
    return tuple(sorted(chips, key=lambda chip: chip.value is None))


class ChipRow(QWidget):
    """Draws as many chips as there is room for; a screen reader gets them all as a sentence."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chips: tuple[Chip, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("Understood"))
        self.show_chips(self.chips)

    @property
    def sentence(self) -> str:
        """The chips in words."""
        named = ", ".join(chip.text for chip in self.chips if chip.value is not None)
        left = ", ".join(chip.text for chip in self.chips if chip.value is None)
        words = self.tr("understood: {}").format(named)
        return words + (self.tr(" · left open: {}").format(left) if left else "")

    def show_chips(self, chips: tuple[Chip, ...]) -> None:
        """Replaces what is shown."""
        self.chips = chips
        self.setAccessibleDescription(self.sentence)
        self.setToolTip(tip(self.sentence))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint(painter)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the chips could not be painted")
        finally:
            painter.end()

    def _paint(self, painter: QPainter) -> None:
        face = theme.font(11)
        metrics = QFontMetricsF(face)
        painter.setFont(face)
        left, top = 0.5, (self.height() - HEIGHT) / 2 + 0.5
        for number, chip in enumerate(self.chips):
            width = metrics.horizontalAdvance(chip.text) + 16
            more = number + 1 < len(self.chips)
            if left + width + (18 if more else 0) > self.width():
                painter.setPen(QColor(theme.MUTED))
                rest = QRectF(left, top, self.width() - left, HEIGHT)
                painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter, "…")
                return
            box = QRectF(left, top, width, HEIGHT - 1)
            open_ = chip.value is None
            line = Qt.PenStyle.DashLine if open_ else Qt.PenStyle.SolidLine
            painter.setPen(QPen(QColor(theme.LINE if open_ else theme.GOOD), 1, line))
            painter.setBrush(QColor(theme.PANEL if open_ else theme.RAISED))
            painter.drawRoundedRect(box, 6, 6)
            painter.setPen(QColor(theme.MUTED if open_ else theme.TEXT))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, chip.text)
            left += width + GAP
