"""Size, place and docks of the window between sittings. A bad file never blocks the start."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMainWindow

from worldattention.core.files import make_private, private_folder

VERSION = 1

log = logging.getLogger(__name__)


def restore(window: QMainWindow, path: Path) -> None:
    """Applies what was saved; an unreadable file is set aside, a window off the screen is brought back."""
    try:
        settings = QSettings(str(path), QSettings.Format.IniFormat)
        if settings.status() != QSettings.Status.NoError:
            path.replace(path.with_suffix(".bad"))
            return
        geometry = settings.value("window/geometry", QByteArray(), type=QByteArray)
        state = settings.value("window/state", QByteArray(), type=QByteArray)
        if isinstance(geometry, QByteArray) and not geometry.isEmpty():
            window.restoreGeometry(geometry)
        if isinstance(state, QByteArray) and not state.isEmpty():
            window.restoreState(state, VERSION)
    except (OSError, TypeError, ValueError) as error:
        log.warning("the window's last state could not be read: %s", error)
    _bring_back(window)


def save(window: QMainWindow, path: Path) -> None:
    """Remembers the window's state; failing to is no failure of the program."""
    try:
        private_folder(path.parent)
    except OSError as error:
        log.warning("the window's state could not be kept: %s", error)
        return
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    settings.setValue("window/geometry", window.saveGeometry())
    settings.setValue("window/state", window.saveState(VERSION))
    settings.sync()
    make_private(path)


def _bring_back(window: QMainWindow) -> None:
    frame = window.frameGeometry()
    if any(screen.availableGeometry().intersects(frame) for screen in QGuiApplication.screens()):
        return
    screen = QGuiApplication.primaryScreen().availableGeometry()
    window.move(screen.topLeft())
