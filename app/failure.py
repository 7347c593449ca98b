"""A world that stopped: a report of it can be copied, and a restart revives it (DESIGN 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from worldattention.app.messages import Failed, Ready
from worldattention.app.notifications import ERROR
from worldattention.app.report import make_report

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class FailureFlow(QObject):
    """The picture says what happened and offers the restart; here is the report."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._device = ""
        window.world.ready.connect(self._ready)
        window.world.failed.connect(self._failed)

    def offer(self, sentence: str, detail: str) -> None:
        """A fault that the world survived is told, and a report of it can be copied too."""
        message = Failed(self._window.world.epoch, sentence, detail)
        self._window.notifications.tell(sentence, ERROR, self.tr("Copy report"), lambda: self._copy(message))

    def report(self, message: Failed) -> str:
        """What can be shown to others."""
        window = self._window
        last = window.world.telemetry[-1] if window.world.telemetry else None
        prompts = {event.prompt for event in window.model.timeline.events}
        prompts |= {record.prompt for record in window.world.telemetry}
        return make_report(message.sentence, message.detail, self._device, last, prompts)

    def _ready(self, message: Ready) -> None:
        self._device = f"{message.device_name}, {message.backend}"

    def _failed(self, message: Failed) -> None:
        self._window.notifications.tell(
            self.tr("A report of this is ready. It holds no prompts and no names of your folders."),
            ERROR,
            self.tr("Copy report"),
            lambda: self._copy(message),
        )

    def _copy(self, message: Failed) -> None:
        QGuiApplication.clipboard().setText(self.report(message))
        self._window.notifications.tell(self.tr("The report is on the clipboard."))
