"""The door to the window. Imports no Qt itself, so that whatever is missing can be said in a sentence."""

from __future__ import annotations

import ctypes
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from worldattention.core.doctor_qt import LIBRARIES
from worldattention.core.errors import UserError

if TYPE_CHECKING:
    from worldattention.app.commandline.options import Options

_WITHOUT_DISPLAY = ("offscreen", "minimal", "vnc")
_RENDER = "`worldattention render PROJECT -o OUT.mp4` works without a window"


def run_window(
    project_path: Path | None,
    options: Options,
    screenshot: Path | None = None,
    after_blocks: int | None = None,
    colours: str | None = None,
    language: str | None = None,
    size: tuple[int, int] | None = None,
) -> int:
    """Opens the window and stays until it is closed; with `screenshot` until its picture is saved.
    `colours`, `language` and `size` go before what the settings remember.

    Raises UserError without a display or with Qt's libraries missing, on a bad project, or when no picture
    could be made.
    """
    check_display()
    try:
        window = importlib.import_module("worldattention.app.window_run")
    except ImportError as error:
        if error.name is not None and error.name.startswith("worldattention"):
            raise
        if ".so" in str(error):
            raise UserError(_missing_sentence(str(error))) from error
        raise UserError(
            f"The window's toolkit, Qt, cannot be loaded ({error}): `worldattention doctor` says what to "
            f"install; {_RENDER}."
        ) from error
    return int(window.run(project_path, options, screenshot, after_blocks, colours, language, size))


def check_display() -> None:
    """Raises UserError when there is nowhere to show a window, or Qt would end the process for want of a library."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if sys.platform != "linux" or platform in _WITHOUT_DISPLAY:
        return
    if platform or os.environ.get("WAYLAND_DISPLAY"):
        if not _qt_opens():
            named = f"QT_QPA_PLATFORM={platform}" if platform else os.environ["WAYLAND_DISPLAY"]
            raise UserError(f"The display ({named}) cannot be opened: name one that answers; {_RENDER}.")
        return
    display = os.environ.get("DISPLAY")
    if not display:
        raise UserError(
            "There is no display for the window: render to a video instead, with "
            "`worldattention render PROJECT -o OUT.mp4`."
        )
    if missing_libraries():
        raise UserError(_missing_sentence("its window on X11 needs more"))
    if not _x_server_answers():
        raise UserError(f"The display '{display}' does not answer: set DISPLAY to one that does; {_RENDER}.")


def missing_libraries() -> list[str]:
    """Debian packages of the libraries that Qt needs and this machine lacks (Wayland's own are not needed)."""
    return [
        package for library, package in LIBRARIES.items() if "wayland" not in library and not _loads(library)
    ]


def _missing_sentence(why: str) -> str:
    packages = missing_libraries()
    cure = (
        f"on Debian run `apt-get install --no-install-recommends {' '.join(packages)}`"
        if packages
        else "`worldattention doctor` says what to install"
    )
    return f"The window's toolkit, Qt, lacks system libraries ({why}): {cure}; {_RENDER}."


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _qt_opens() -> bool:
    """Whether Qt gets a display, tried in a process of its own: without one, Qt aborts the process."""
    code = "from PySide6.QtGui import QGuiApplication; QGuiApplication([])"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _x_server_answers() -> bool:
    """Asks the X server for a connection, since Qt would abort the process without one."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # Qt will say what it lacks
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    answers = xcb.xcb_connection_has_error(connection) == 0
    xcb.xcb_disconnect(connection)
    return answers
