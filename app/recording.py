"""Recording from the window: asks for a file, shows that it runs, says how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from worldattention.app.messages import Recorded
from worldattention.app.notifications import ERROR
from worldattention.core.geometry import FPS

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class RecordingFlow(QObject):
    """Keeps the button, the worker's recording and the notices in step."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        window.world.recorded.connect(self._recorded)
        window.world.recording_refused.connect(self._refused)

    def toggle(self, on: bool) -> None:
        """The button was pressed."""
        if not on:
            self._window.world.record(None)
            return
        start = str(self._window.files.path or self._window.files.name).removesuffix(".world") + " live.mp4"
        chosen, _ = QFileDialog.getSaveFileName(
            self._window, self.tr("Record to"), start, self.tr("MP4 video (*.mp4)")
        )
        if chosen:
            path = Path(chosen)
            self.begin(path if path.suffix else path.with_suffix(".mp4"))
        else:
            self._show(False)

    def begin(self, path: Path) -> None:
        """Records from the next block on."""
        self._show(True)
        self._window.world.record(path, self._window.files.name, self._window.files.as_text())

    def _recorded(self, message: Recorded) -> None:
        self._show(False)
        if message.failure is not None:
            self._window.notifications.tell(message.failure, ERROR)
        else:
            words = self.tr("Recorded {0:.1f} s to {1}.").format(message.frames / FPS, message.path.name)
            self._window.notifications.tell(words)

    def _refused(self, sentence: str) -> None:
        self._show(False)
        self._window.notifications.tell(sentence, ERROR)

    def _show(self, on: bool) -> None:
        self._window.actions_by_name["record"].setChecked(on)
