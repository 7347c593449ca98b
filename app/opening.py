"""Reading what may be long: in a thread, and when it takes a while, behind a dialog with progress and Cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from worldattention.app.progress_dialog import ProgressDialog
from worldattention.core.errors import Cancelled, UserError

PATIENCE_MS = 300
"""Quicker files are opened without a dialog."""

Tell = Callable[[float], None]
"""Takes the share that is read; raises Cancelled."""
T = TypeVar("T")


class Opening(QObject):
    """One file is read at a time; a newer one takes its place."""

    failed = Signal(str)  # why something could not be read
    _moved = Signal(int, float)
    _read = Signal(int, object, object)  # what was read, or why not

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._number = 0  # of what is read now
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None
        self._then: Callable[..., object] | None = None
        self._otherwise: Callable[[], object] = lambda: None
        self._dialog: ProgressDialog | None = None
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE_MS)
        self._patience.timeout.connect(self._open_dialog)
        self._moved.connect(self._show)
        self._read.connect(self._done)

    @property
    def busy(self) -> bool:
        """Whether something is being read."""
        return self._then is not None

    def read(
        self,
        name: str,
        read: Callable[[Tell], T],
        then: Callable[[T], object],
        otherwise: Callable[[], object] = lambda: None,
    ) -> None:
        """Calls `read` in a thread, and `then` with what it returns; `failed` tells of a UserError.

        `otherwise`: what to do when it could not be read, or the user cancelled it.
        """
        self.cancel()
        self._number += 1
        self._cancel = cancel = threading.Event()
        self._then, self._otherwise, number = then, otherwise, self._number
        self._dialog = ProgressDialog(self.tr("Open"), self.tr("Reading {}").format(name), self._window)
        self._dialog.rejected.connect(self._give_up)

        def tell(share: float) -> None:
            if cancel.is_set():
                raise Cancelled
            self._moved.emit(number, share)

        def work() -> None:
            try:
                self._read.emit(number, read(tell), None)
            except Exception as error:  # nothing leaves the thread but as a message
                self._read.emit(number, None, error)

        self._thread = threading.Thread(target=work, name="opening", daemon=True)
        self._thread.start()
        self._patience.start()

    def cancel(self) -> None:
        """Stops reading soon; nothing is opened."""
        self._cancel.set()
        self._then = None
        self._close_dialog()

    def close(self) -> None:
        """The window closes."""
        self.cancel()
        if self._thread is not None:
            self._thread.join(1.0)

    def _give_up(self) -> None:
        self.cancel()
        self._otherwise()

    def _open_dialog(self) -> None:
        if self._dialog is not None:
            self._dialog.open()

    def _show(self, number: int, share: float) -> None:
        if number == self._number and self._dialog is not None:
            self._dialog.show_progress(share)

    def _done(self, number: int, found: object, error: Exception | None) -> None:
        if number != self._number or self._then is None:
            return
        then, self._then = self._then, None
        self._close_dialog()
        if error is None:
            then(found)
        elif isinstance(error, UserError):
            self.failed.emit(str(error))
            self._otherwise()
        else:
            raise error

    def _close_dialog(self) -> None:
        self._patience.stop()
        dialog, self._dialog = self._dialog, None
        if dialog is not None:
            dialog.hide()
            dialog.deleteLater()
