"""Words: those of the program in the language of the window, those of users letter by letter."""

from __future__ import annotations

import html
import math
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

TIP_CHARACTERS = 600

translate = QCoreApplication.translate
"""Context and text -> the text in the language of the window. In QObjects `self.tr` does the same."""


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:
    """Marks a text that is translated when it is shown; typed, unlike PySide's. lupdate knows the name."""
    return text


def worded(widget: QWidget, how: Callable[[], None]) -> None:
    """Does `how` now, and again whenever the language changes: it gives the widget the words that it keeps.

    Of one widget, the first `how` comes first; those of its children come after its own.
    """
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    (widget.findChild(_Wording, options=direct) or _Wording(widget)).add(how)
    how()


class _Wording(QObject):
    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._hows: list[Callable[[], None]] = []
        widget.installEventFilter(self)

    def add(self, how: Callable[[], None]) -> None:
        self._hows.append(how)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LanguageChange:
            for how in self._hows:
                how()
        return False


def plain_label(text: str = "", parent: QWidget | None = None) -> QLabel:
    """A label that shows its text letter by letter."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def fit_text(value: float | None) -> str:
    """How well something of the past fits, a score or a similarity: below zero, and unknown, is a dash.

    An unrelated page scores anything below zero; how far says nothing to a reader.
    """
    shown = "" if value is None or math.isnan(value) else f"{value:z.2f}"
    return "–" if not shown or shown.startswith("-") else shown


def tip(text: str) -> str:
    """A tooltip that shows `text` letter by letter, its lines kept, cut where it would fill the screen."""
    short = text if len(text) <= TIP_CHARACTERS else text[: TIP_CHARACTERS - 1] + "…"
    return f"<qt>{html.escape(short).replace(chr(10), '<br>')}</qt>" if short else ""


class ElidedLabel(QLabel):
    """A line that shows its text letter by letter and ends in … where the room does; the tooltip has all of it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def show_text(self, text: str) -> None:
        """Another text, with its tooltip."""
        self.setText(text)
        self.setToolTip(tip(text))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = self.contentsRect()
        line = self.text().replace("\n", " ")[:2000]
        text = self.fontMetrics().elidedText(line, Qt.TextElideMode.ElideRight, area.width())
        flags = self.alignment() | Qt.AlignmentFlag.AlignVCenter
        self.style().drawItemText(
            painter, area, int(flags), self.palette(), True, text, self.foregroundRole()
        )
        painter.end()
