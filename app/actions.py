"""Everything that can be done, as actions with names, keys and icons: menus, buttons and cheat sheet share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from worldattention.app import icons


@dataclass(frozen=True, slots=True)
class Spec:
    """One action. `everywhere`: its keys work in the whole window; else only on picture and timeline."""

    text: str
    keys: tuple[str, ...] = ()
    icon: str = ""
    everywhere: bool = True
    checkable: bool = False


SPECS: dict[str, Spec] = {
    "new": Spec("New", ("Ctrl+N",), "new"),
    "open": Spec("Open …", ("Ctrl+O",), "open"),
    "save": Spec("Save", ("Ctrl+S",), "save"),
    "save_as": Spec("Save as …", ("Ctrl+Shift+S",)),
    "export": Spec("Export video …", ("Ctrl+E",), "export"),
    "telemetry": Spec("Save telemetry …"),
    "quit": Spec("Quit", ("Ctrl+Q",)),
    "undo": Spec("Undo", ("Ctrl+Z",), "undo"),
    "redo": Spec("Redo", ("Ctrl+Shift+Z", "Ctrl+Y"), "redo"),
    "add": Spec("Add event at the playhead", ("A",), "add", everywhere=False),
    "split": Spec("Split event at the playhead", ("S",), "split", everywhere=False),
    "marker": Spec("Add or remove a marker at the playhead", ("M",), everywhere=False),
    "duplicate": Spec("Duplicate event", ("Ctrl+D",)),
    "delete": Spec("Delete event", ("Delete", "Backspace"), "delete", everywhere=False),
    "play": Spec("Play or pause", ("Space", "K"), "play"),
    "record": Spec("Record what is made", ("R",), "record", checkable=True),
    "restart": Spec("Restart the world", ("Ctrl+R",), "restart"),
    "back": Spec("Back five seconds", ("J",)),
    "forward": Spec("Forward five seconds", ("L",)),
    "frame_back": Spec("Back one frame", ("Left",), everywhere=False),
    "frame_forward": Spec("Forward one frame", ("Right",), everywhere=False),
    "second_back": Spec("Back one second", ("Shift+Left", "Down"), everywhere=False),
    "second_forward": Spec("Forward one second", ("Shift+Right", "Up"), everywhere=False),
    "home": Spec("To the beginning", ("Home",), everywhere=False),
    "end": Spec("To the newest frame", ("End",), everywhere=False),
    "prompt": Spec("Type a prompt", ("/", "Ctrl+L")),
    "zoom_in": Spec("Zoom in", ("Ctrl++", "Ctrl+=")),
    "zoom_out": Spec("Zoom out", ("Ctrl+-",)),
    "fit": Spec("Fit the timeline", ("Ctrl+0",), "fit"),
    "table": Spec("Events as a table", ("Ctrl+T",), checkable=True),
    "smooth": Spec("Smooth scaling", (), checkable=True),
    "fullscreen": Spec("Full screen", ("F11",), checkable=True),
    "reset_layout": Spec("Reset the layout"),
    "keys": Spec("Keys", ("?", "F1")),
    "about": Spec("About"),
}

MENUS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("File", ("new", "open", "Samples", "-", "save", "save_as", "-", "export", "telemetry", "-", "quit")),
    ("Edit", ("undo", "redo", "-", "add", "split", "duplicate", "delete", "-", "marker")),
    ("World", ("play", "restart", "record", "prompt", "-", "back", "forward", "frame_back", "frame_forward",
               "second_back", "second_forward", "home", "end")),
    ("View", ("zoom_in", "zoom_out", "fit", "table", "-", "smooth", "fullscreen", "-")),
    ("Help", ("keys", "about")),
)  # fmt: skip


def make_actions(window: QWidget, handlers: dict[str, Callable[[], object]]) -> dict[str, QAction]:
    """One action for every spec; `handlers` has the same names."""
    actions: dict[str, QAction] = {}
    for name, spec in SPECS.items():
        action = QAction(spec.text, window)
        action.setObjectName(name)
        action.setShortcuts([QKeySequence(key) for key in spec.keys])
        if not spec.everywhere:
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        if spec.icon:
            action.setIcon(icons.icon(spec.icon))
        action.setCheckable(spec.checkable)
        keys = f" ({spec.keys[0]})" if spec.keys else ""
        action.setToolTip(spec.text.removesuffix(" …") + keys)
        action.triggered.connect(lambda _checked=False, handler=handlers[name]: handler())
        window.addAction(action)
        actions[name] = action
    return actions


def fill_menus(bar: QMenuBar, actions: dict[str, QAction]) -> dict[str, QMenu]:
    """The menus; returned by their titles."""
    menus: dict[str, QMenu] = {}
    for title, names in MENUS:
        menu = bar.addMenu(title)
        for name in names:
            if name == "-":
                menu.addSeparator()
            elif name not in actions:
                menus[name] = menu.addMenu(name)
            else:
                menu.addAction(actions[name])
        menus[title] = menu
    return menus
