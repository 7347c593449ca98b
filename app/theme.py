"""Colours, type and spacing of the window: one dark theme, drawn by Fusion and a style sheet."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPainter, QPalette, QPen, QPixmap
from PySide6.QtWidgets import QApplication, QStyleFactory

WINDOW = "#0e1116"
PANEL = "#151a21"
RAISED = "#1d242e"
HOVER = "#273140"
LINE = "#27303c"
TEXT = "#e8ecf2"
MUTED = "#93a0b4"
FAINT = "#5f6c80"
ACCENT = "#6ea8fe"
ON_ACCENT = "#081120"
RECALL = "#ffb454"
GOOD = "#7fd99a"
WARNING = "#ffd166"
DANGER = "#ff7a7a"

TIER_COLOURS = {"device": "#6ea8fe", "dram": "#7fd99a", "disk": "#c49bff", "dropped": "#5f6c80"}
TIER_NAMES = {"device": "L1 device", "dram": "L2 DRAM", "disk": "L3 disk", "dropped": "dropped"}
TIER_LEVELS = {"device": "1", "dram": "2", "disk": "3", "dropped": "–"}

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


def apply(app: QApplication) -> None:
    """Dresses the application: Fusion, palette, type, style sheet."""
    app.setStyle(QStyleFactory.create("Fusion"))
    app.setPalette(_palette())
    app.setFont(font())
    app.setStyleSheet(_STYLE)


def _palette() -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for name, colour in {
        role.Window: WINDOW,
        role.WindowText: TEXT,
        role.Base: PANEL,
        role.AlternateBase: RAISED,
        role.Text: TEXT,
        role.PlaceholderText: FAINT,
        role.Button: RAISED,
        role.ButtonText: TEXT,
        role.BrightText: DANGER,
        role.Highlight: ACCENT,
        role.HighlightedText: ON_ACCENT,
        role.ToolTipBase: RAISED,
        role.ToolTipText: TEXT,
        role.Link: ACCENT,
        role.Light: HOVER,
        role.Midlight: HOVER,
        role.Mid: LINE,
        role.Dark: WINDOW,
        role.Shadow: "#000000",
        role.Accent: ACCENT,
    }.items():
        palette.setColor(name, QColor(colour))
    for name in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, name, QColor(FAINT))
    return palette


_STYLE = f"""
* {{ outline: none; }}
QMainWindow, QDialog {{ background: {WINDOW}; }}
QMainWindow::separator {{ background: {WINDOW}; width: 6px; height: 6px; }}
QMainWindow::separator:hover {{ background: {HOVER}; }}
QToolTip {{ background: {RAISED}; color: {TEXT}; border: 1px solid {LINE}; padding: 4px 6px; }}

QMenuBar {{ background: {WINDOW}; color: {MUTED}; padding: 2px 6px; font-size: 12px; }}
QMenuBar::item {{ padding: 4px 10px; border-radius: 5px; background: transparent; }}
QMenuBar::item:selected {{ background: {HOVER}; color: {TEXT}; }}
QMenu {{ background: {RAISED}; border: 1px solid {LINE}; padding: 5px; }}
QMenu::item {{ padding: 6px 28px 6px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {HOVER}; }}
QMenu::item:disabled {{ color: {FAINT}; }}
QMenu::separator {{ height: 1px; background: {LINE}; margin: 5px 8px; }}

QToolBar {{ background: {WINDOW}; border: none; spacing: 6px; padding: 4px 10px 6px 10px; }}
QStatusBar {{ background: {WINDOW}; color: {MUTED}; border-top: 1px solid {LINE}; }}
QStatusBar::item {{ border: none; }}
QStatusBar QLabel {{ color: {MUTED}; padding: 0 8px; }}

QToolButton, QPushButton {{
    background: {RAISED}; color: {TEXT}; border: 1px solid transparent; border-radius: 6px; padding: 5px 9px;
}}
QToolButton:hover, QPushButton:hover {{ background: {HOVER}; }}
QToolButton:pressed, QPushButton:pressed {{ background: {LINE}; }}
QToolButton:focus, QPushButton:focus {{ border: 1px solid {ACCENT}; }}
QToolButton:checked {{ background: {HOVER}; color: {TEXT}; border: 1px solid {DANGER}; }}
QToolButton[flat="true"]:checked, QToolButton[segment="true"]:checked {{ border: 1px solid transparent; }}
QToolButton:disabled, QPushButton:disabled {{ color: {FAINT}; background: {PANEL}; }}
QToolButton[flat="true"] {{ background: transparent; padding: 2px; border-radius: 5px; }}
QToolButton[flat="true"]:hover {{ background: {HOVER}; }}
QToolButton[flat="true"]:checked {{ background: {HOVER}; color: {ACCENT}; }}
QToolButton[primary="true"], QPushButton[primary="true"], QPushButton:default {{
    background: {ACCENT}; color: {ON_ACCENT}; font-weight: 600;
}}
QToolButton[primary="true"]:hover, QPushButton[primary="true"]:hover, QPushButton:default:hover {{
    background: #8bbaff;
}}
QToolButton[primary="true"]:focus, QPushButton[primary="true"]:focus {{ border: 1px solid {TEXT}; }}
QToolButton[primary="true"]:disabled, QPushButton[primary="true"]:disabled {{
    background: {RAISED}; color: {FAINT};
}}
QToolButton[segment="true"] {{
    background: transparent; color: {MUTED}; padding: 1px 8px; border-radius: 4px; font-size: 11px;
}}
QToolButton[segment="true"]:hover {{ color: {TEXT}; }}
QToolButton[segment="true"]:checked {{ background: {HOVER}; color: {TEXT}; }}

QLineEdit, QPlainTextEdit, QSpinBox, QDoubleSpinBox {{
    background: {WINDOW}; color: {TEXT}; border: 1px solid {LINE}; border-radius: 6px; padding: 4px 8px;
    selection-background-color: {ACCENT}; selection-color: {ON_ACCENT};
}}
QLineEdit:focus, QPlainTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus {{ border: 1px solid {ACCENT}; }}
QLineEdit#prompt {{ font-size: 15px; padding: 8px 12px; border-radius: 8px; background: {PANEL}; }}
QLineEdit#prompt:focus {{ background: {WINDOW}; }}
QLineEdit#prompt[refused="true"] {{ border: 1px solid {DANGER}; }}

QComboBox {{
    background: {RAISED}; color: {TEXT}; border: 1px solid transparent; border-radius: 6px;
    padding: 4px 6px 4px 9px; min-height: 18px;
}}
QComboBox:hover {{ background: {HOVER}; }}
QComboBox:focus {{ border: 1px solid {ACCENT}; }}
QComboBox::drop-down {{ border: none; width: 16px; }}
QComboBox QAbstractItemView {{
    background: {RAISED}; border: 1px solid {LINE}; padding: 4px; selection-background-color: {HOVER};
    selection-color: {TEXT};
}}

QDockWidget {{ color: {MUTED}; }}
QWidget#card {{ background: {PANEL}; border-radius: 8px; }}
QWidget#dockTitle {{ background: {PANEL}; border-top-left-radius: 8px; border-top-right-radius: 8px; }}
QWidget#dockBody {{ background: {PANEL}; border-bottom-left-radius: 8px; border-bottom-right-radius: 8px; }}
QLabel#title {{ color: {TEXT}; font-size: 12px; font-weight: 600; }}
QLabel#muted, QLabel[muted="true"] {{ color: {MUTED}; font-size: 11px; }}
QLabel#fieldName, QLabel#faint {{ color: {FAINT}; font-size: 11px; background: transparent; }}
QFrame#toast QPushButton {{ background: {HOVER}; }}
QFrame#toast QPushButton:hover {{ background: {LINE}; }}
QDialog QPushButton {{ min-width: 64px; }}

QTableView {{
    background: {PANEL}; gridline-color: {LINE}; border: none; selection-background-color: {HOVER};
    selection-color: {TEXT}; alternate-background-color: #181e26;
}}
QTableView::item {{ padding: 2px 6px; }}
QHeaderView::section {{
    background: {PANEL}; color: {MUTED}; border: none; border-bottom: 1px solid {LINE}; padding: 4px 8px;
    font-size: 11px;
}}
QTableCornerButton::section {{ background: {PANEL}; border: none; }}

QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 1px 0; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0 1px; }}
QScrollBar::handle {{ background: {HOVER}; border-radius: 4px; min-width: 28px; min-height: 28px; }}
QScrollBar::handle:hover {{ background: {FAINT}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}

QProgressBar {{
    background: {RAISED}; border: none; border-radius: 4px; max-height: 8px; min-height: 8px; color: transparent;
}}
QProgressBar::chunk {{ background: {ACCENT}; border-radius: 4px; }}
"""
