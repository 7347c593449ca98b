"""Worlds saved as folders: asked for in the File menu, written by the worker between two blocks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMessageBox

from worldattention.app import file_dialogs
from worldattention.app.messages import Ready
from worldattention.app.notifications import ERROR, INFO
from worldattention.app.presenter import STARTING
from worldattention.app.replay import Source

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow
    from worldattention.core.world_files import SavedWorld


def _open_world(folder: Path) -> SavedWorld:
    from worldattention.core.world_files import open_world  # torch comes with it

    return open_world(folder)


class SavedWorlds(QObject):
    """Asks where to and with what, and tells how it went."""

    def __init__(self, window: MainWindow, source: Source) -> None:
        super().__init__(window)
        self._window, self._source = window, source
        self._next: Path | None = None
        window.world.saved.connect(self._saved)
        window.world.ready.connect(self._ready)

    def open_asking(self) -> None:
        """A saved world's folder chosen in a dialog."""
        folder = file_dialogs.open_folder(self._window, self.tr("Open a saved world's folder"))
        if folder is not None:
            self.open(folder)

    def open(self, folder: Path) -> None:
        """Goes on from a saved world, after asking about unsaved changes; the present one stays when that fails."""
        self._window.opening.read(folder.name, lambda _tell: _open_world(folder), self._adopt)

    def open_at_start(self, folder: Path) -> None:
        """Instead of the window's own world, which begins only where this one cannot be read."""

        def adopt(world: SavedWorld) -> None:
            self._adopt(world)
            self._window.start()

        self._window.presenter.show_loading(STARTING, 0.0)
        opening = self._window.opening
        opening.read(folder.name, lambda _tell: _open_world(folder), adopt, self._window.start)

    def stop_loading(self) -> None:
        """Its past shall not be read to the end: an empty world is opened instead."""
        self._window.files.adopt(self._window.files.blank(), None)

    def _adopt(self, world: SavedWorld) -> None:
        if self._window.files.confirm():
            self._next = world.folder
            self._window.files.adopt(world.project, None)

    def take_turn(self) -> bool:
        """A project was opened: whether the worker must load, since a saved world was chosen."""
        self._source.saved, self._next = self._next, None
        return self._source.saved is not None

    def _ready(self, message: Ready) -> None:
        if message.block:
            self._window.model.set_locked(message.seconds)
            self._window.world.playback.rewind(max(0, self._window.world.reel.made - 1))

    def ask(self) -> None:
        """A folder chosen in a dialog, with or without pages."""
        window = self._window
        near = window.files.path.parent if window.files.path is not None else Path.home()
        start = str(near / self.tr("{} saved").format(window.files.name))
        folder = file_dialogs.save_file(window, self.tr("Save the world as a folder"), start)
        if folder is None:
            return
        kinds = QMessageBox.StandardButton
        answer = QMessageBox.question(
            window,
            self.tr("Save world"),
            self.tr(
                "Save its pages too? With them a machine of the same kind goes on with the very same pictures, "
                "and no page is lost; without, the folder is small and they are computed again."
            ),
            kinds.Yes | kinds.No | kinds.Cancel,
            kinds.No,
        )
        if answer != kinds.Cancel:
            self.save(folder, answer == kinds.Yes)

    def save(self, folder: Path, pages: bool) -> None:
        """Saves the world as it is at the next block's start."""
        self._window.world.save_world(folder, self._window.files.project, pages)

    def _saved(self, folder: Path, refused: str) -> None:
        tell = self._window.notifications.tell
        if refused:
            tell(refused, ERROR)
        else:
            tell(self.tr("The world is saved in “{}”.").format(folder.name), INFO)
