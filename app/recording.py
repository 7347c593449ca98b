"""Recording from the window: asks for a file, shows that it runs, says how it ended."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from worldattention.app import file_dialogs
from worldattention.app.messages import Recorded
from worldattention.app.notifications import ERROR, WARNING
from worldattention.core.errors import UserError
from worldattention.core.files import private_folder, replacing
from worldattention.core.geometry import FPS
from worldattention.core.recorded import log_path
from worldattention.core.recorder import unfinished

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow

log = logging.getLogger(__name__)


class RecordingFlow(QObject):
    """Keeps the button, the worker's recording and the notices in step."""

    def __init__(self, window: MainWindow, folder: Path | None = None) -> None:
        super().__init__(window)
        self._window = window
        self._marker = folder / "recording" if folder is not None else None  # where the last one was to go
        window.world.recorded.connect(self._recorded)
        window.world.recording_refused.connect(self._refused)

    def start(self) -> None:
        """The window is there: a recording that a crash cut off is told of, once."""
        if self._marker is None or not os.path.exists(self._marker):
            return
        try:
            path = Path(self._marker.read_text(encoding="utf-8", errors="surrogateescape"))
            self._marker.unlink()
            cut = [found for found in unfinished(path) if os.path.exists(log_path(found))]
        except (OSError, ValueError) as error:
            log.warning("whether a recording was cut off cannot be told: %s", error)
            return
        if cut:
            newest = max(cut, key=lambda found: found.stat().st_mtime)
            words = self.tr("A recording was cut off; what was recorded until then is kept as '{}'.")
            self._window.notifications.tell(
                words.format(newest.name),
                WARNING,
                self.tr("Open it"),
                lambda: self._window.library.open(newest),
            )

    def toggle(self, on: bool) -> None:
        """The button was pressed."""
        if not on:
            self._window.world.record(None)
            return
        start = str(self._window.files.path or self._window.files.name).removesuffix(".world") + " live.mp4"
        kinds = self.tr("MP4 video (*.mp4)")
        path = file_dialogs.save_file(self._window, self.tr("Record to"), start, kinds)
        if path is not None:
            self.begin(path)
        else:
            self._show(False)

    def begin(self, path: Path) -> None:
        """Records from the next block on."""
        self._show(True)
        self._mark(path)
        self._window.world.record(path, self._window.files.name, self._window.files.as_text())

    def _mark(self, path: Path) -> None:
        if self._marker is None:
            return
        try:
            private_folder(self._marker.parent)
            with replacing(self._marker, "the recording's place", private=True) as temporary:
                temporary.write_text(str(path.absolute()), encoding="utf-8", errors="surrogateescape")
        except (OSError, UserError) as error:
            log.warning("a recording that is cut off will not be told of: %s", error)

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
