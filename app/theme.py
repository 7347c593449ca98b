"""Colours, type and spacing of the window: dark, light, or as the desktop is; drawn by Fusion and a style sheet.

`theme.TEXT`, `theme.MUTED` and so on are colours of the theme that the application wears now: painting asks
for them each time, and what is built once asks again through `dress`. The application holds which theme it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPainter, QPalette, QPen, QPixmap
from PySide6.QtWidgets import QApplication, QStyleFactory, QWidget

from worldattention.app.colours import DARK, LIGHT, Colours
from worldattention.app.style_sheet import style_sheet
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate

THEMES = ("system", "dark", "light")
"""What `apply_theme` takes; `system` follows the desktop, also when that changes."""
_NAME = "worldattention_theme"

TIER_LEVELS = {"device": "1", "dram": "2", "disk": "3", "dropped": "–"}
_TIER_NAMES = {
    "device": QT_TRANSLATE_NOOP("Tiers", "L1 device"),
    "dram": QT_TRANSLATE_NOOP("Tiers", "L2 DRAM"),
    "disk": QT_TRANSLATE_NOOP("Tiers", "L3 disk"),
    "dropped": QT_TRANSLATE_NOOP("Tiers", "dropped"),
}

EVENT_COLOURS = (
    "#4c78c9",
    "#3f9c94",
    "#8a6fd1",
    "#c2724f",
    "#5b9c54",
    "#bf5f86",
    "#a98a3c",
    "#4a90b8",
)

SPACE = 8
"""Pixels between neighbours; margins are multiples of it."""

FAMILIES = [
    "Inter",
    "SF Pro Text",
    "Segoe UI",
    "Cantarell",
    "Noto Sans",
    "Ubuntu",
    "DejaVu Sans Condensed",
    "DejaVu Sans",
    *("Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans KR", "Noto Sans CJK KR", "NanumGothic"),
]
FIXED_FAMILIES = ["JetBrains Mono", "SF Mono", "Cascadia Mono", "Noto Sans Mono", "DejaVu Sans Mono"]

# Nine stations of viridis (matplotlib, CC0); between them the eye sees no difference from the table of 256.
_VIRIDIS = (
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
)


def font(pixels: int = 13, weight: QFont.Weight = QFont.Weight.Normal, fixed: bool = False) -> QFont:
    """The window's type at a size in device-independent pixels; falls back to what the machine has."""
    result = QFont()
    result.setFamilies(FIXED_FAMILIES if fixed else FAMILIES)
    result.setStyleHint(QFont.StyleHint.Monospace if fixed else QFont.StyleHint.SansSerif)
    result.setPixelSize(pixels)
    result.setWeight(weight)
    return result


@lru_cache(maxsize=1)
def viridis() -> npt.NDArray[np.uint8]:
    """The viridis table [256, 3]."""
    stations = np.linspace(0, 255, len(_VIRIDIS))
    columns = [np.interp(np.arange(256), stations, channel) for channel in zip(*_VIRIDIS, strict=True)]
    return np.stack(columns, axis=1).round().astype(np.uint8)


def event_colour(number: int) -> QColor:
    """A calm colour that differs from its neighbours'."""
    return QColor(EVENT_COLOURS[number % len(EVENT_COLOURS)])


def with_alpha(colour: str | QColor, alpha: float) -> QColor:
    """`colour` at an opacity of 0..1."""
    result = QColor(colour)
    result.setAlphaF(alpha)
    return result


def hatch(colour: QColor, step: int = 6) -> QBrush:
    """Diagonal lines: what is locked is told by a pattern, not by colour alone."""
    tile = QPixmap(step, step)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 1.0))
    for shift in (-step, 0, step):
        painter.drawLine(QPointF(shift, step), QPointF(shift + step, 0))
    painter.end()
    return QBrush(tile)


def colours() -> Colours:
    """The colours of the theme that the application wears."""
    app = QCoreApplication.instance()
    return LIGHT if app is not None and app.property(_NAME) == "light" else DARK


def __getattr__(name: str) -> str:
    """`theme.TEXT`: the colour of that name now. Raises AttributeError for an unknown one."""
    if not name.isupper():
        raise AttributeError(name)
    return str(getattr(colours(), name.lower()))


def apply_theme(app: QApplication, name: str) -> None:
    """Dresses the application, also while it runs. Raises ValueError for a name that is not in THEMES."""
    if name not in THEMES:
        raise ValueError(f"unknown theme '{name}'")
    hints = app.styleHints()
    follower = app.findChild(_Follower) or _Follower(app)
    follower.following = name == "system"
    if name == "system":
        hints.unsetColorScheme()
    else:
        hints.setColorScheme(Qt.ColorScheme.Light if name == "light" else Qt.ColorScheme.Dark)
    _wear(app, "light" if name == "light" else "dark" if name == "dark" else _desktops(app))


def dress(widget: QWidget, how: Callable[[], None]) -> None:
    """Does `how` now, and again whenever the theme changes."""
    widget.installEventFilter(_Dresser(widget, how))
    how()


def set_tone(widget: QWidget, tone: str) -> None:
    """Colours what a label says: muted, accent, good, warning or danger."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def tier_name(tier: str) -> str:
    """A tier for people."""
    return translate("Tiers", _TIER_NAMES[tier])


def tier_colour(tier: str) -> str:
    """The colour of a tier in every panel."""
    return str(getattr(colours(), tier))


def shade(colour: str) -> QColor:
    """The fill of an area under a curve of that colour: its ink thinned on a panel, yet opaque."""
    ink, ground = QColor(colour), QColor(colours().panel)
    pairs = ((ink.red(), ground.red()), (ink.green(), ground.green()), (ink.blue(), ground.blue()))
    return QColor(*(round(0.42 * above + 0.58 * below) for above, below in pairs))


class _Follower(QObject):
    """Changes the clothes when the desktop does."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self.following = False
        app.styleHints().colorSchemeChanged.connect(self._changed)

    def _changed(self) -> None:
        app = self.parent()
        if self.following and isinstance(app, QApplication):
            _wear(app, _desktops(app))


class _Dresser(QObject):
    def __init__(self, widget: QWidget, how: Callable[[], None]) -> None:
        super().__init__(widget)
        self._how = how
        self._worn = colours()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.StyleChange and self._worn is not colours():
            self._worn = colours()
            self._how()
        return False


def _desktops(app: QApplication) -> str:
    return "light" if app.styleHints().colorScheme() == Qt.ColorScheme.Light else "dark"


def _wear(app: QApplication, name: str) -> None:
    if app.property(_NAME) == name:
        return
    if app.property(_NAME) is None:  # for the first time; every further restyling would cost as much again
        app.setStyle(QStyleFactory.create("Fusion"))
        app.setFont(font())
    app.setProperty(_NAME, name)
    app.setPalette(_palette(colours()))
    app.setStyleSheet(style_sheet(colours()))


def _palette(c: Colours) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for name, colour in {
        role.Window: c.window,
        role.WindowText: c.text,
        role.Base: c.panel,
        role.AlternateBase: c.raised,
        role.Text: c.text,
        role.PlaceholderText: c.faint,
        role.Button: c.raised,
        role.ButtonText: c.text,
        role.BrightText: c.danger,
        role.Highlight: c.accent,
        role.HighlightedText: c.on_accent,
        role.ToolTipBase: c.raised,
        role.ToolTipText: c.text,
        role.Link: c.accent,
        role.Light: c.hover,
        role.Midlight: c.hover,
        role.Mid: c.line,
        role.Dark: c.window,
        role.Shadow: "#000000",
        role.Accent: c.accent,
    }.items():
        palette.setColor(name, QColor(colour))
    for name in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, name, QColor(c.disabled))
    return palette
