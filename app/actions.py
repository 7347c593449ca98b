"""Everything that can be done, as actions with names, keys and icons: menus, buttons and cheat sheet share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from worldattention.app import icons
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate, worded


@dataclass(frozen=True, slots=True)
class Spec:
    """One action. `everywhere`: its keys work in the whole window; else only on picture and timeline."""

    text: str
    keys: tuple[str, ...] = ()
    icon: str = ""
    everywhere: bool = True
    checkable: bool = False

    @property
    def title(self) -> str:
        """The text in the language of the window."""
        return translate("Actions", self.text)


SPECS: dict[str, Spec] = {
    "new": Spec(QT_TRANSLATE_NOOP("Actions", "New"), ("Ctrl+N",), "new"),
    "open": Spec(QT_TRANSLATE_NOOP("Actions", "Open …"), ("Ctrl+O",), "open"),
    "recorded": Spec(QT_TRANSLATE_NOOP("Actions", "Open recorded session …"), ("Ctrl+Shift+O",)),
    "save": Spec(QT_TRANSLATE_NOOP("Actions", "Save"), ("Ctrl+S",), "save"),
    "save_as": Spec(QT_TRANSLATE_NOOP("Actions", "Save as …"), ("Ctrl+Shift+S",)),
    "open_world": Spec(QT_TRANSLATE_NOOP("Actions", "Open world with its memory …")),
    "save_world": Spec(QT_TRANSLATE_NOOP("Actions", "Save world with its memory …")),
    "export": Spec(QT_TRANSLATE_NOOP("Actions", "Export …"), ("Ctrl+E",), "export"),
    "telemetry": Spec(QT_TRANSLATE_NOOP("Actions", "Save telemetry …")),
    "panels": Spec(QT_TRANSLATE_NOOP("Actions", "Save panels as a picture …")),
    "settings": Spec(QT_TRANSLATE_NOOP("Actions", "Settings …"), ("Ctrl+,",)),
    "quit": Spec(QT_TRANSLATE_NOOP("Actions", "Quit"), ("Ctrl+Q",)),
    "undo": Spec(QT_TRANSLATE_NOOP("Actions", "Undo"), ("Ctrl+Z",), "undo"),
    "redo": Spec(QT_TRANSLATE_NOOP("Actions", "Redo"), ("Ctrl+Shift+Z", "Ctrl+Y"), "redo"),
    "add": Spec(QT_TRANSLATE_NOOP("Actions", "Add event at the playhead"), ("A",), "add", everywhere=False),
    "split": Spec(
        QT_TRANSLATE_NOOP("Actions", "Split event at the playhead"), ("S",), "split", everywhere=False
    ),
    "marker": Spec(
        QT_TRANSLATE_NOOP("Actions", "Add or remove a marker at the playhead"), ("M",), everywhere=False
    ),
    "duplicate": Spec(QT_TRANSLATE_NOOP("Actions", "Duplicate event"), ("Ctrl+D",)),
    "delete": Spec(
        QT_TRANSLATE_NOOP("Actions", "Delete event"), ("Delete", "Backspace"), "delete", everywhere=False
    ),
    "play": Spec(QT_TRANSLATE_NOOP("Actions", "Play or pause"), ("Space", "K"), "play"),
    "record": Spec(QT_TRANSLATE_NOOP("Actions", "Record what is made"), ("R",), "record", checkable=True),
    "branch": Spec(QT_TRANSLATE_NOOP("Actions", "Continue from here"), ("B",), "branch"),
    "restart": Spec(QT_TRANSLATE_NOOP("Actions", "Restart the world"), ("Ctrl+R",), "restart"),
    "back": Spec(QT_TRANSLATE_NOOP("Actions", "Back five seconds"), ("J",)),
    "forward": Spec(QT_TRANSLATE_NOOP("Actions", "Forward five seconds"), ("L",)),
    "frame_back": Spec(QT_TRANSLATE_NOOP("Actions", "Back one frame"), ("Left",), everywhere=False),
    "frame_forward": Spec(QT_TRANSLATE_NOOP("Actions", "Forward one frame"), ("Right",), everywhere=False),
    "second_back": Spec(
        QT_TRANSLATE_NOOP("Actions", "Back one second"), ("Shift+Left", "Down"), everywhere=False
    ),
    "second_forward": Spec(
        QT_TRANSLATE_NOOP("Actions", "Forward one second"), ("Shift+Right", "Up"), everywhere=False
    ),
    "home": Spec(QT_TRANSLATE_NOOP("Actions", "To the beginning"), ("Home",), everywhere=False),
    "end": Spec(QT_TRANSLATE_NOOP("Actions", "To the newest frame"), ("End",), everywhere=False),
    "prompt": Spec(QT_TRANSLATE_NOOP("Actions", "Type a prompt"), ("/", "Ctrl+L")),
    "zoom_in": Spec(QT_TRANSLATE_NOOP("Actions", "Zoom in"), ("Ctrl++", "Ctrl+=")),
    "zoom_out": Spec(QT_TRANSLATE_NOOP("Actions", "Zoom out"), ("Ctrl+-",)),
    "fit": Spec(QT_TRANSLATE_NOOP("Actions", "Fit the timeline"), ("F", "Ctrl+0"), "fit"),
    "table": Spec(QT_TRANSLATE_NOOP("Actions", "Events as a table"), ("Ctrl+T",), checkable=True),
    "overlay": Spec(QT_TRANSLATE_NOOP("Actions", "Words over the picture"), ("O",), checkable=True),
    "snapshot": Spec(QT_TRANSLATE_NOOP("Actions", "Save the picture …"), ("P",)),
    "smooth": Spec(QT_TRANSLATE_NOOP("Actions", "Smooth scaling"), (), checkable=True),
    "fullscreen": Spec(QT_TRANSLATE_NOOP("Actions", "Full screen"), ("F11",), checkable=True),
    "reset_layout": Spec(QT_TRANSLATE_NOOP("Actions", "Reset the layout")),
    "welcome": Spec(QT_TRANSLATE_NOOP("Actions", "Welcome")),
    "keys": Spec(QT_TRANSLATE_NOOP("Actions", "Keys"), ("?", "F1")),
    "about": Spec(QT_TRANSLATE_NOOP("Actions", "About")),
}

RECENT = QT_TRANSLATE_NOOP("Actions", "Open recent")
SAMPLES = QT_TRANSLATE_NOOP("Actions", "Samples")
MENUS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (QT_TRANSLATE_NOOP("Actions", "&File"),
     ("new", "open", RECENT, SAMPLES, "recorded", "open_world", "-", "save", "save_as", "save_world", "-", "export",
      "snapshot", "telemetry", "panels", "-", "settings", "-", "quit")),
    (QT_TRANSLATE_NOOP("Actions", "&Edit"),
     ("undo", "redo", "-", "add", "split", "duplicate", "delete", "-", "marker")),
    (QT_TRANSLATE_NOOP("Actions", "&World"),
     ("play", "branch", "restart", "record", "prompt", "-", "back", "forward", "frame_back", "frame_forward",
      "second_back", "second_forward", "home", "end")),
    (QT_TRANSLATE_NOOP("Actions", "&View"),
     ("zoom_in", "zoom_out", "fit", "table", "-", "smooth", "overlay", "fullscreen", "-")),
    (QT_TRANSLATE_NOOP("Actions", "&Help"), ("welcome", "keys", "about")),
)  # fmt: skip


def make_actions(window: QWidget, handlers: dict[str, Callable[[], object]]) -> dict[str, QAction]:
    """One action for every spec; `handlers` has the same names."""
    actions: dict[str, QAction] = {}
    for name, spec in SPECS.items():
        action = QAction(window)
        action.setObjectName(name)
        action.setShortcuts([QKeySequence(key) for key in spec.keys])
        if not spec.everywhere:
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        if spec.icon:
            action.setIcon(icons.icon(spec.icon))
        action.setCheckable(spec.checkable)
        action.triggered.connect(lambda _checked=False, handler=handlers[name]: handler())
        window.addAction(action)
        actions[name] = action
    worded(window, lambda: _name_actions(actions))
    return actions


def fill_menus(bar: QMenuBar, actions: dict[str, QAction]) -> dict[str, QMenu]:
    """The menus; returned by their titles. Alt and the letter behind & open one."""
    menus: dict[str, QMenu] = {}
    for title, names in MENUS:
        menu = menus[title] = bar.addMenu("")
        for name in names:
            if name == "-":
                menu.addSeparator()
            elif name not in actions:
                menus[name] = menu.addMenu("")
            else:
                menu.addAction(actions[name])

    def name_menus() -> None:
        for title, menu in menus.items():
            menu.setTitle(translate("Actions", title))

    worded(bar, name_menus)
    return {title.replace("&", ""): menu for title, menu in menus.items()}


def _name_actions(actions: dict[str, QAction]) -> None:
    for name, spec in SPECS.items():
        keys = f" ({spec.keys[0]})" if spec.keys else ""
        actions[name].setText(spec.title)
        actions[name].setToolTip(spec.title.removesuffix(" …") + keys)
