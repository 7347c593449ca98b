"""A dock with the window's own title bar (drag it, or double-click to detach) and a line of live numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QButtonGroup,
    QDockWidget,
    QHBoxLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from worldattention.app import icons, theme
from worldattention.app.texts import ElidedLabel, translate
from worldattention.core.telemetry import BlockTelemetry

TITLE_HEIGHT = 30
BARE_HEIGHT = 24
"""Of a title bar that has neither title nor tools, only numbers."""


class PanelDock(QDockWidget):
    """A title bar with a readout and tools over a body that `fill` gives; `set_title` names it."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._title = QLabel()
        self._title.setObjectName("title")
        self._readout = ElidedLabel()
        self._readout.setObjectName("muted")
        self._readout.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)

    def fill(self, body: QWidget, tools: Sequence[QWidget] = (), key: QWidget | None = None) -> None:
        """Puts the body in, and `tools` at the right of the title bar; the numbers share the line of a `key`."""
        self._bare = not tools
        self.setTitleBarWidget(self._title_bar(tools))
        frame = QWidget()
        frame.setObjectName("dockBody")
        frame.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(12, 0, 12, 8)
        layout.setSpacing(2)
        layout.addWidget(body, 1)
        self._lines: QBoxLayout = layout  # where the numbers go beside a title
        if key is not None:
            self._lines = QHBoxLayout()
            self._lines.setSpacing(theme.SPACE)
            self._lines.addWidget(key, 4)
            layout.addLayout(self._lines)
        self.setWidget(frame)
        self.set_tabbed(False)

    def set_title(self, title: str) -> None:
        """The panel's name: over it, on its tab, in the menu, and for a screen reader."""
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self._title.setText(title)

    def set_tabbed(self, tabbed: bool) -> None:
        """A tab says the title already, so the numbers take its place."""
        bar = self.titleBarWidget()
        layout = bar.layout() if tabbed else self._lines
        assert isinstance(layout, QBoxLayout)
        self._title.setVisible(not tabbed)
        bar.setFixedHeight(BARE_HEIGHT if tabbed and self._bare else TITLE_HEIGHT)
        beside_key = layout is self._lines and isinstance(layout, QHBoxLayout)
        side = Qt.AlignmentFlag.AlignRight if beside_key else Qt.AlignmentFlag.AlignLeft
        self._readout.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        stretch = 100 if tabbed else 10 if beside_key else 0  # more than the stretch beside it
        layout.insertWidget(int(beside_key), self._readout, stretch)
        self._readout.setVisible(tabbed or bool(self._readout.text()))

    def set_readout(self, text: str, block: int | None = None) -> None:
        """The line of live numbers; `block` is the one that they are of, where they do not name it."""
        if block is not None:
            text = translate("PanelDock", "block {0} · {1}").format(block, text)
        self._readout.setVisible(True)
        self._readout.show_text(text)

    @property
    def readout(self) -> str:
        """The line of live numbers."""
        return self._readout.text()

    def _title_bar(self, tools: Sequence[QWidget]) -> QWidget:
        bar = _TitleBar()
        bar.setObjectName("dockTitle")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        layout = QHBoxLayout(bar)
        layout.setContentsMargins(12, 4, 8, 2)
        layout.setSpacing(theme.SPACE)
        layout.addWidget(self._title)
        layout.addStretch(1)
        for tool in tools:
            layout.addWidget(tool)
        bar.setFixedHeight(TITLE_HEIGHT)
        return bar


class _TitleBar(QWidget):
    """As high as it was fixed to; a dock asks for the hint, not for the fixed height."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.minimumHeight())


def take_in(blocks: deque[BlockTelemetry], telemetry: Iterable[BlockTelemetry]) -> None:
    """Adds blocks to those that a panel remembers; what another branch made after them goes.

    Without their pages: a long world has thousands, and they are new ones in every record.
    """
    for record in telemetry:
        while blocks and blocks[-1].block >= record.block:
            blocks.pop()
        if blocks and blocks[-1].block + 1 != record.block:
            blocks.clear()
        blocks.append(replace(record, pages=()))


def flat_button(icon: str, pixels: int = 16) -> QToolButton:
    """A quiet icon button for title bars; reached by Tab, but a click leaves the focus where it was.

    `name_button` says what it does.
    """
    button = QToolButton()
    button.setProperty("flat", True)
    button.setIcon(icons.icon(icon, "muted"))
    button.setIconSize(button.iconSize().scaled(pixels, pixels, Qt.AspectRatioMode.IgnoreAspectRatio))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def name_button(button: QAbstractButton, name: str) -> None:
    """What an icon button does, for those who point at it and for those who cannot see it."""
    button.setToolTip(name)
    button.setAccessibleName(name)


class Segments(QWidget):
    """A few exclusive choices side by side; `set_name` says of what."""

    chosen = Signal(str)

    def __init__(self, choices: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self._group = QButtonGroup(self)
        self._choices = tuple(choices)
        for number in range(len(self._choices)):
            button = QToolButton()
            button.setCheckable(True)
            button.setChecked(number == 0)
            button.setProperty("segment", True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._group.addButton(button, number)
            layout.addWidget(button)
        self._group.idClicked.connect(lambda number: self.chosen.emit(self._choices[number]))

    def set_name(self, name: str) -> None:
        """What is chosen here; the choices are named in the language of the window."""
        self.setAccessibleName(name)
        for button, choice in zip(self._group.buttons(), self._choices, strict=True):
            words = translate("Segments", choice)
            button.setText(words)
            button.setAccessibleName(f"{name}: {words}")

    @property
    def choice(self) -> str:
        """The chosen text."""
        return self._choices[self._group.checkedId()]

    def choose(self, choice: str) -> None:
        """Chooses as a click would."""
        self._group.button(self._choices.index(choice)).click()
