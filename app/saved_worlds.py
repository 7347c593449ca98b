"""Worlds saved as folders: asked for in the File menu, written by the worker between two blocks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMessageBox

from worldattention.app.notifications import ERROR, INFO

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class SavedWorlds(QObject):
    """Asks where to and with what, and tells how it went."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        window.world.saved.connect(self._saved)

    def ask(self) -> None:
        """A folder chosen in a dialog, with or without pages."""
        window = self._window
        near = window.files.path.parent if window.files.path is not None else Path.home()
        start = str(near / self.tr("{} saved").format(window.files.name))
        chosen, _ = QFileDialog.getSaveFileName(window, self.tr("Save the world as a folder"), start)
        if not chosen:
            return
        kinds = QMessageBox.StandardButton
        answer = QMessageBox.question(
            window,
            self.tr("Save world"),
            self.tr(
                "Save its pages too? With them any machine goes on with the very same pictures; without, the "
                "folder is small and they are computed again."
            ),
            kinds.Yes | kinds.No | kinds.Cancel,
            kinds.No,
        )
        if answer != kinds.Cancel:
            self.save(Path(chosen), answer == kinds.Yes)

    def save(self, folder: Path, pages: bool) -> None:
        """Saves the world as it is at the next block's start."""
        self._window.world.save_world(folder, self._window.files.project, pages)

    def _saved(self, folder: Path, refused: str) -> None:
        tell = self._window.notifications.tell
        if refused:
            tell(refused, ERROR)
        else:
            tell(self.tr("The world is saved in “{}”.").format(folder.name), INFO)
