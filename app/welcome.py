"""The page before a world: sample worlds that start with one click, and the last projects."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFont, QIcon, QKeyEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from worldattention.app import theme
from worldattention.app.texts import QT_TRANSLATE_NOOP, plain_label, tip, translate

PICTURE = QSize(200, 100)
CARD_WIDTH = 220
RECENT_SHOWN = 4

TITLES = {
    "red_ball": QT_TRANSLATE_NOOP("Welcome", "The red ball returns"),
    "hello": QT_TRANSLATE_NOOP("Welcome", "Hello"),
    "lighthouse_day": QT_TRANSLATE_NOOP("Welcome", "A lighthouse across a day"),
    "two_homes": QT_TRANSLATE_NOOP("Welcome", "Two homes"),
    "city_weather": QT_TRANSLATE_NOOP("Welcome", "A city through the weather"),
}
_ORDER = tuple(TITLES)


def sample_title(path: Path) -> str:
    """The name of a sample in the language of the window."""
    known = TITLES.get(path.stem)
    return translate("Welcome", known) if known else path.stem.replace("_", " ").capitalize()


def in_order(paths: Sequence[Path]) -> list[Path]:
    """The samples, those that tell the most first."""
    return sorted(paths, key=lambda path: (_ORDER.index(path.stem) if path.stem in _ORDER else 99, path.stem))


class Welcome(QScrollArea):
    """Lies over the picture until a world begins; every card and button is reached by Tab."""

    sample_chosen = Signal(object)  # Path
    project_chosen = Signal(object)  # Path
    new_wanted = Signal()
    open_wanted = Signal()
    recorded_wanted = Signal()

    def __init__(self, host: QWidget, samples: Sequence[Path], recent: Sequence[Path]) -> None:
        super().__init__(host)
        self._host = host
        self.setObjectName("welcome")
        self.setAccessibleName(self.tr("Welcome"))
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        page = QWidget()
        page.setObjectName("welcomePage")
        column = QVBoxLayout(page)
        column.setContentsMargins(20, 10, 20, 10)
        column.setSpacing(8)
        column.addWidget(_heading(self.tr("A world that remembers")))
        line = plain_label(self.tr("Start a sample world, or type below what you want to see."))
        line.setObjectName("muted")
        line.setWordWrap(True)
        column.addWidget(line)
        self._grid = QGridLayout()
        self._grid.setSpacing(8)
        self.cards = [self._card(path) for path in in_order(samples)]
        self.recent = [self._recent(path) for path in recent[:RECENT_SHOWN]]
        self._cells: list[QWidget] = [*self.cards, *([self._recent_card()] if self.recent else [])]
        column.addLayout(self._grid)
        column.addLayout(self._buttons())
        column.addStretch(1)
        self.setWidget(page)
        host.installEventFilter(self)
        self.setGeometry(host.rect())
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._host and event.type() == QEvent.Type.Resize:
            self.setGeometry(self._host.rect())
        return False

    def _arrange(self) -> None:
        columns = max(1, (self.width() - 40) // (CARD_WIDTH + 10))
        for index, card in enumerate(self._cells):
            self._grid.addWidget(card, index // columns, index % columns)
        for number in range(self._grid.columnCount()):
            self._grid.setColumnStretch(number, 0)
        self._grid.setColumnStretch(columns, 1)

    def _card(self, path: Path) -> QToolButton:
        card = QToolButton()
        card.setObjectName("card")
        title = sample_title(path)
        card.setText(title)
        card.setAccessibleName(self.tr("Start the sample world “{}”").format(title))
        card.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        picture = QPixmap(str(path.with_suffix(".png")))
        card.setIcon(QIcon(picture))
        card.setIconSize(PICTURE)
        card.setFixedWidth(CARD_WIDTH)
        card.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        card.setCursor(Qt.CursorShape.PointingHandCursor)
        card.clicked.connect(lambda: self.sample_chosen.emit(path))
        return card

    def _recent_card(self) -> QWidget:
        card = QWidget()
        card.setFixedWidth(CARD_WIDTH)
        column = QVBoxLayout(card)
        column.setContentsMargins(4, 4, 4, 4)
        column.setSpacing(2)
        title = plain_label(self.tr("Recent"))
        title.setObjectName("muted")
        column.addWidget(title)
        for button in self.recent:
            column.addWidget(button)
        column.addStretch(1)
        return card

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        for text, signal in (
            (self.tr("New world"), self.new_wanted),
            (self.tr("Open …"), self.open_wanted),
            (self.tr("Open recorded session …"), self.recorded_wanted),
        ):
            button = QPushButton(text)
            button.setAccessibleName(text.removesuffix(" …"))
            button.clicked.connect(signal)
            row.addWidget(button)
        row.addStretch(1)
        return row

    def _recent(self, path: Path) -> QToolButton:
        missing = not os.path.exists(path)
        button = QToolButton()
        text = self.tr("{} (missing)").format(path.stem) if missing else path.stem
        button.setText(button.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, CARD_WIDTH - 30))
        button.setProperty("flat", True)
        button.setAccessibleName(self.tr("Open {}").format(path.stem))
        button.setToolTip(tip(str(path)))
        button.setEnabled(not missing)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(lambda: self.project_chosen.emit(path))
        return button


def _heading(text: str) -> QLabel:
    label = plain_label(text)
    label.setFont(theme.font(19, QFont.Weight.DemiBold))
    return label
