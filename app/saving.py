"""Writing what may take long: another thread does it, and the picture goes on until it is done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from PySide6.QtCore import QEventLoop, QObject, Signal


class Saving(QObject):
    """One write at a time, begun and ended by the window's thread, which sleeps in no call of a disk."""

    _written = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.busy = False

    def write(self, write: Callable[[], object]) -> None:
        """Returns when `write` has, and raises what it raised. Keys and clicks wait until then, all else goes on."""
        loop = QEventLoop()
        self._written.connect(loop.quit)
        self.busy = True
        try:
            with ThreadPoolExecutor(1, "saving") as disk:
                written = disk.submit(write)
                written.add_done_callback(lambda _: self._written.emit())
                if not written.done():
                    loop.exec(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
        finally:
            self.busy = False
        written.result()
