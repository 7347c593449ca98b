"""Exporting from the window: where to, how much, progress with cancel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from worldattention.app.dialogs import ask_export_length
from worldattention.app.export import ExportJob
from worldattention.app.messages import ExportDone
from worldattention.app.notifications import ERROR, INFO
from worldattention.app.texts import plain_label
from worldattention.core.geometry import FPS, frames_for_seconds

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class ExportDialog(QDialog):
    """Progress and Cancel. Qt's own progress dialog runs the event loop in `setValue`, which would let newer
    messages of the worker overtake older ones.
    """

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Export video"))
        self.setMinimumWidth(420)
        self._name = name
        self._label = plain_label()
        self._numbers = QLabel()
        self._numbers.setObjectName("muted")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Export progress"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(10)
        for part in (self._label, self._bar, self._numbers, buttons):
            column.addWidget(part)

    def show_progress(self, frames: int, total: int) -> None:
        """Frames written of all."""
        self._label.setText(self.tr("Writing {}").format(self._name))
        self._numbers.setText(self.tr("{0:.1f} of {1:.1f} s").format(frames / FPS, total / FPS))
        self._bar.setMaximum(max(total, 1))
        self._bar.setValue(frames)


class ExportFlow(QObject):
    """One export at a time; the world stands still meanwhile and goes on after."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._dialog: ExportDialog | None = None
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
        chosen, _ = QFileDialog.getSaveFileName(
            window, self.tr("Export video"), start, self.tr("MP4 video (*.mp4)")
        )
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
        self._resume = window.world.playback.running
        window.world.playback.pause()
        dialog = ExportDialog(path.name, window)
        dialog.rejected.connect(window.world.cancel_export)
        dialog.show_progress(0, frames)
        dialog.open()
        self._dialog = dialog
        window.world.export(ExportJob(path, frames, window.files.name))

    def _moved(self, frames: int, total: int) -> None:
        if self._dialog is not None:
            self._dialog.show_progress(frames, total)

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
