"""Exporting from the window: where to, how much, progress with cancel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog, QProgressDialog

from worldattention.app.dialogs import ask_export_length
from worldattention.app.messages import ExportDone
from worldattention.app.notifications import ERROR, INFO
from worldattention.core.geometry import FPS, frames_for_seconds

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class ExportFlow(QObject):
    """One export at a time; the world stands still meanwhile and goes on after."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._dialog: QProgressDialog | None = None
        self._resume = False
        window.world.export_moved.connect(self._moved)
        window.world.export_done.connect(self._done)

    @property
    def running(self) -> bool:
        """Whether a video is being written."""
        return self._dialog is not None

    def ask(self) -> None:
        """Asks for a file and a length, then begins."""
        window = self._window
        if self.running:
            return
        start = str((window.files.path or Path(window.files.name)).with_suffix(".mp4"))
        chosen, _ = QFileDialog.getSaveFileName(window, "Export video", start, "MP4 video (*.mp4)")
        if not chosen:
            return
        path = Path(chosen)
        made = window.world.reel.made / FPS
        whole = window.files.project.duration
        seconds: float | None = max(made, whole)
        if made >= 1.0 and whole > made + 0.5:
            seconds = ask_export_length(window, made, whole)
        if seconds is not None:
            self.begin(path if path.suffix else path.with_suffix(".mp4"), frames_for_seconds(seconds))

    def begin(self, path: Path, frames: int) -> None:
        """Writes the first `frames` frames to `path`."""
        window = self._window
        self._resume = window.world.playback.playing
        window.world.playback.pause()
        dialog = QProgressDialog(f"Writing {path.name}", "Cancel", 0, max(frames, 1), window)
        dialog.setWindowTitle("Export video")
        dialog.setWindowModality(Qt.WindowModality.WindowModal)
        dialog.setMinimumDuration(0)
        dialog.setMinimumWidth(360)
        dialog.setAutoClose(False)
        dialog.setAutoReset(False)
        dialog.canceled.connect(window.world.cancel_export)
        dialog.setValue(0)
        self._dialog = dialog
        window.world.export(path, frames, window.files.name)

    def _moved(self, frames: int, total: int) -> None:
        if self._dialog is not None and not self._dialog.wasCanceled():
            self._dialog.setMaximum(total)
            self._dialog.setValue(frames)

    def _done(self, message: ExportDone) -> None:
        dialog, self._dialog = self._dialog, None
        if dialog is not None:
            dialog.hide()
            dialog.deleteLater()
        tell = self._window.notifications.tell
        if message.failure is not None:
            tell(message.failure, ERROR)
        elif message.cancelled:
            tell("The export was cancelled; nothing was written.", INFO)
        else:
            tell(f"Exported {message.frames / FPS:.1f} s to {message.path.name}.", INFO)
        if self._resume:
            self._window.world.playback.play()
