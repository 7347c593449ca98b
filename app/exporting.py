"""One export at a time: asks what and where to, shows how far it is, says how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from worldattention.app import file_dialogs
from worldattention.app.export import ExportJob
from worldattention.app.export_dialog import ExportDialog, Extent
from worldattention.app.messages import ExportDone
from worldattention.app.notifications import ERROR, INFO
from worldattention.app.progress_dialog import ProgressDialog
from worldattention.core.geometry import FPS

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class ExportFlow(QObject):
    """The world stands still meanwhile and goes on after."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._dialog: ProgressDialog | None = None
        self._resume = False
        window.world.export_moved.connect(self._moved)
        window.world.export_done.connect(self._done)

    @property
    def running(self) -> bool:
        """Whether something is being written."""
        return self._dialog is not None

    def ask(self) -> ExportDialog | None:
        """Opens the form; None while an export runs."""
        if self.running:
            return None
        window, world = self._window, self._window.world
        made = world.reel.made / FPS
        whole = max(made, window.files.project.duration)
        form = ExportDialog(Extent(made, whole, world.reel.first / FPS, world.geometry), window)
        form.accepted.connect(lambda: self._choose_file(form))
        form.finished.connect(form.deleteLater)
        form.open()
        return form

    def _choose_file(self, form: ExportDialog) -> None:
        window = self._window
        start = str((window.files.path or Path(window.files.name)).with_suffix(form.suffix))
        kinds = {
            ".mp4": self.tr("MP4 video (*.mp4)"),
            ".gif": self.tr("Animation (*.gif)"),
            "": self.tr("A new folder for the pictures (*)"),
        }
        path = file_dialogs.save_file(window, self.tr("Export"), start, kinds[form.suffix])
        if path is not None:
            self.begin(form.job(path, window.files.name, window.files.as_text()))

    def begin(self, job: ExportJob) -> None:
        """Does a job."""
        window = self._window
        self._resume = window.world.playback.running
        window.world.playback.pause()
        doing = self.tr("Writing {}").format(job.path.name)
        self._dialog = ProgressDialog(self.tr("Export"), doing, window)
        self._dialog.rejected.connect(window.world.cancel_export)
        self._moved(0, job.frames)
        self._dialog.open()
        window.world.export(job)

    def _moved(self, frames: int, total: int) -> None:
        if self._dialog is not None:
            words = self.tr("{0:.1f} of {1:.1f} s").format(frames / FPS, total / FPS)
            self._dialog.show_progress(frames / max(total, 1), words)

    def _done(self, message: ExportDone) -> None:
        dialog, self._dialog = self._dialog, None
        if dialog is not None:
            dialog.hide()
            dialog.deleteLater()
        tell = self._window.notifications.tell
        if message.failure is not None:
            tell(message.failure, ERROR)
        elif message.cancelled:
            tell(self.tr("The export was cancelled; nothing was written."), INFO)
        else:
            words = self.tr("Exported {0:.1f} s to {1}.")
            tell(words.format(message.frames / FPS, message.path.name), INFO)
        if self._resume:
            self._window.world.playback.play()
