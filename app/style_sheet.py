"""The style sheet over Fusion, for either theme."""

from __future__ import annotations

from worldattention.app.colours import Colours


def style_sheet(c: Colours) -> str:
    """All rules, in the colours `c`; a `tone` property colours what a label says."""
    return f"""
* {{ outline: none; }}
QMainWindow, QDialog {{ background: {c.window}; }}
QMainWindow::separator {{ background: {c.window}; width: 6px; height: 6px; }}
QMainWindow::separator:hover {{ background: {c.hover}; }}
QToolTip {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.line}; padding: 4px 6px; }}

QMenuBar {{ background: {c.window}; color: {c.muted}; padding: 2px 0; font-size: 12px; }}
QMenuBar::item {{ padding: 4px 10px; border-radius: 5px; background: transparent; }}
QMenuBar::item:selected {{ background: {c.hover}; color: {c.text}; }}
QMenu {{ background: {c.raised}; border: 1px solid {c.line}; padding: 5px; }}
QMenu::item {{ padding: 6px 28px 6px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {c.hover}; }}
QMenu::item:disabled {{ color: {c.disabled}; }}
QMenu::separator {{ height: 1px; background: {c.line}; margin: 5px 8px; }}

QToolBar {{ background: {c.window}; border: none; spacing: 6px; padding: 0; }}
QStatusBar {{ background: {c.window}; color: {c.muted}; border-top: 1px solid {c.line}; }}
QStatusBar::item {{ border: none; }}
QStatusBar QLabel {{ color: {c.muted}; padding: 0 8px; }}

QToolButton, QPushButton {{
    background: {c.raised}; color: {c.text}; border: 1px solid transparent; border-radius: 6px; padding: 5px 9px;
}}
QToolButton:hover, QPushButton:hover {{ background: {c.hover}; }}
QToolButton:pressed, QPushButton:pressed {{ background: {c.line}; }}
QToolButton:focus, QPushButton:focus {{ border: 1px solid {c.accent}; }}
QToolButton:checked {{ background: {c.hover}; color: {c.text}; border: 1px solid {c.danger}; }}
QToolButton[flat="true"]:checked, QToolButton[segment="true"]:checked {{ border: 1px solid transparent; }}
QToolButton#qt_toolbar_ext_button {{ background: transparent; border: none; padding: 0; }}
QToolButton#qt_toolbar_ext_button:hover {{ background: {c.hover}; }}
QToolButton:disabled, QPushButton:disabled {{ color: {c.disabled}; background: {c.panel}; }}
QToolButton[flat="true"] {{ background: transparent; padding: 2px; border-radius: 5px; }}
QToolButton[flat="true"]:hover {{ background: {c.hover}; }}
QToolButton[flat="true"]:checked {{ background: {c.hover}; color: {c.accent}; }}
QToolButton[primary="true"], QPushButton[primary="true"], QPushButton:default {{
    background: {c.accent}; color: {c.on_accent}; font-weight: 600;
}}
QToolButton[primary="true"]:hover, QPushButton[primary="true"]:hover, QPushButton:default:hover {{
    background: {c.accent_hover};
}}
QToolButton[primary="true"]:focus, QPushButton[primary="true"]:focus {{ border: 1px solid {c.text}; }}
QToolButton[primary="true"]:disabled, QPushButton[primary="true"]:disabled, QPushButton:default:disabled {{
    background: {c.raised}; color: {c.disabled};
}}
QToolButton[segment="true"] {{
    background: transparent; color: {c.muted}; padding: 1px 8px; border-radius: 4px; font-size: 11px;
}}
QToolButton[segment="true"]:hover {{ color: {c.text}; }}
QToolButton[segment="true"]:checked {{ background: {c.hover}; color: {c.text}; }}

QLineEdit, QPlainTextEdit, QSpinBox, QDoubleSpinBox {{
    background: {c.window}; color: {c.text}; border: 1px solid {c.line}; border-radius: 6px; padding: 4px 8px;
    selection-background-color: {c.accent}; selection-color: {c.on_accent};
    placeholder-text-color: {c.faint};
}}
QLineEdit:focus, QPlainTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus {{ border: 1px solid {c.accent}; }}
QLineEdit#time {{ font-size: 11px; padding: 1px 5px; border-radius: 4px; }}
QLineEdit#time:disabled {{ color: {c.faint}; }}
QLineEdit#prompt {{ font-size: 15px; padding: 8px 12px; border-radius: 8px; background: {c.panel}; }}
QLineEdit#prompt:focus {{ background: {c.window}; }}
QLineEdit#prompt[refused="true"] {{ border: 1px solid {c.danger}; }}

QComboBox {{
    background: {c.raised}; color: {c.text}; border: 1px solid transparent; border-radius: 6px;
    padding: 4px 6px 4px 9px; min-height: 18px;
}}
QComboBox:hover {{ background: {c.hover}; }}
QComboBox:focus {{ border: 1px solid {c.accent}; }}
QComboBox::drop-down {{ border: none; width: 16px; }}
QComboBox QAbstractItemView {{
    background: {c.raised}; border: 1px solid {c.line}; padding: 4px; selection-background-color: {c.hover};
    selection-color: {c.text};
}}

QCheckBox {{ spacing: 8px; }}
QCheckBox:disabled {{ color: {c.disabled}; }}
QCheckBox::indicator {{
    width: 14px; height: 14px; border: 1px solid {c.faint}; border-radius: 4px; background: {c.window};
}}
QCheckBox::indicator:hover {{ background: {c.hover}; }}
QCheckBox::indicator:checked {{ border: 1px solid {c.accent}; background: {c.accent}; }}
QCheckBox::indicator:focus {{ border: 1px solid {c.accent}; }}
QCheckBox::indicator:checked:focus {{ border: 1px solid {c.text}; }}
QCheckBox::indicator:disabled {{ border: 1px solid {c.line}; background: {c.panel}; }}

QDockWidget {{ color: {c.muted}; }}
QWidget#card {{ background: {c.panel}; border-radius: 8px; }}
QWidget#dockTitle {{ background: {c.panel}; border-top-left-radius: 8px; border-top-right-radius: 8px; }}
QWidget#dockBody {{ background: {c.panel}; border-bottom-left-radius: 8px; border-bottom-right-radius: 8px; }}
QMainWindow > QTabBar {{ background: {c.window}; }}
QMainWindow > QTabBar::tab {{
    background: {c.window}; color: {c.muted}; border: 1px solid transparent; padding: 4px 12px; font-size: 12px;
    border-top-left-radius: 8px; border-top-right-radius: 8px; margin-right: 2px;
}}
QMainWindow > QTabBar::tab:selected {{ background: {c.panel}; color: {c.text}; }}
QMainWindow > QTabBar::tab:hover {{ color: {c.text}; }}
QMainWindow > QTabBar::tab:focus {{ border: 1px solid {c.accent}; }}
QLabel#title {{ color: {c.text}; font-size: 12px; font-weight: 600; }}
QLabel#muted, QLabel[muted="true"] {{ color: {c.muted}; font-size: 11px; }}
QLabel#fieldName, QLabel#faint {{ color: {c.faint}; font-size: 11px; background: transparent; }}
QFrame#toast {{
    background: {c.raised}; border: 1px solid {c.line}; border-left: 3px solid {c.accent}; border-radius: 8px;
}}
QFrame#toast[tone="warning"] {{ border-left: 3px solid {c.warning}; }}
QFrame#toast[tone="danger"] {{ border-left: 3px solid {c.danger}; }}
QLabel#mark {{ font-size: 14px; font-weight: 700; }}
QFrame#toast QPushButton {{ background: {c.hover}; }}
QFrame#toast QPushButton:hover {{ background: {c.line}; }}
QDialog QPushButton {{ min-width: 64px; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}

QListView, QTreeView {{
    background: {c.panel}; color: {c.text}; border: none; selection-background-color: {c.hover};
    selection-color: {c.text};
}}
QTableView {{
    background: {c.panel}; gridline-color: {c.line}; border: none; selection-background-color: {c.hover};
    selection-color: {c.text}; alternate-background-color: {c.stripe};
}}
QTableView::item {{ padding: 2px 6px; }}
QHeaderView::section {{
    background: {c.panel}; color: {c.muted}; border: none; border-bottom: 1px solid {c.line}; padding: 4px 8px;
    font-size: 11px;
}}
QTableCornerButton::section {{ background: {c.panel}; border: none; }}

QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 1px 0; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0 1px; }}
QScrollBar::handle {{ background: {c.hover}; border-radius: 4px; min-width: 28px; min-height: 28px; }}
QScrollBar::handle:hover {{ background: {c.faint}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}

QProgressBar {{
    background: {c.raised}; border: none; border-radius: 4px; max-height: 8px; min-height: 8px; color: transparent;
}}
QProgressBar::chunk {{ background: {c.accent}; border-radius: 4px; }}

QLabel[tone="muted"], QLabel#muted[tone="muted"], QStatusBar QLabel[tone="muted"] {{ color: {c.muted}; }}
QLabel[tone="accent"], QLabel#muted[tone="accent"], QStatusBar QLabel[tone="accent"] {{ color: {c.accent}; }}
QLabel[tone="good"], QLabel#muted[tone="good"], QStatusBar QLabel[tone="good"] {{ color: {c.good}; }}
QLabel[tone="warning"], QLabel#muted[tone="warning"], QStatusBar QLabel[tone="warning"] {{ color: {c.warning}; }}
QLabel[tone="danger"], QLabel#muted[tone="danger"], QStatusBar QLabel[tone="danger"] {{ color: {c.danger}; }}
"""
