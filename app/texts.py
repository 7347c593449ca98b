"""Words: those of the program in the language of the window, those of users letter by letter."""

from __future__ import annotations

import html

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QLabel, QWidget

TIP_CHARACTERS = 600

translate = QCoreApplication.translate
"""Context and text -> the text in the language of the window. In QObjects `self.tr` does the same."""


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:
    """Marks a text that is translated when it is shown; typed, unlike PySide's. lupdate knows the name."""
    return text


def plain_label(text: str = "", parent: QWidget | None = None) -> QLabel:
    """A label that shows its text letter by letter."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def tip(text: str) -> str:
    """A tooltip that shows `text` letter by letter, its lines kept, cut where it would fill the screen."""
    short = text if len(text) <= TIP_CHARACTERS else text[: TIP_CHARACTERS - 1] + "…"
    return f"<qt>{html.escape(short).replace(chr(10), '<br>')}</qt>" if short else ""
