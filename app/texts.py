"""Words of users shown as words: Qt would take a prompt that looks like HTML for HTML."""

from __future__ import annotations

import html

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

TIP_CHARACTERS = 600


def plain_label(text: str = "", parent: QWidget | None = None) -> QLabel:
    """A label that shows its text letter by letter."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def tip(text: str) -> str:
    """A tooltip that shows `text` letter by letter, its lines kept, cut where it would fill the screen."""
    short = text if len(text) <= TIP_CHARACTERS else text[: TIP_CHARACTERS - 1] + "…"
    return f"<qt>{html.escape(short).replace(chr(10), '<br>')}</qt>" if short else ""
