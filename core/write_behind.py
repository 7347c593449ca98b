"""A nameless file that a thread of its own writes, so that who makes a world never waits for the disk.

Nothing is left behind however the program ends, and nobody can delete the file from under it. What is not yet
written is read from memory; what the disk does not take stays there.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from worldattention.core.files import private_folder


@dataclass(slots=True)
class _State:
    """What the thread shares with the others; `waiting` has the bytes that are not on the disk, by offset."""

    folder: Path | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: dict[int, bytes] = field(default_factory=dict)
    descriptor: int | None = None
    failure: OSError | None = None

    def write(self, offset: int) -> None:
        """In the thread. After the first failure nothing more is tried."""
        with self.lock:
            data = self.waiting.get(offset, b"") if self.failure is None else b""
        try:
            if data and os.pwrite(self.open(), data, offset) != len(data):
                raise OSError(errno.ENOSPC, "the disk is full")
        except OSError as error:
            with self.lock:
                self.failure = error
        else:
            with self.lock:
                if data:
                    self.waiting.pop(offset, None)

    def open(self) -> int:
        if self.descriptor is None:
            if self.folder is not None:
                private_folder(self.folder)
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
                self.descriptor = os.dup(file.fileno())
        return self.descriptor

    def close(self) -> None:
        if self.descriptor is not None:
            with suppress(OSError):  # nobody will ever read it
                os.close(self.descriptor)
        self.descriptor = None


class WriteBehind:
    """Pieces of bytes by their offset, each written once; `what` names the thread. The file is made when it is needed.

    One thread writes, others may read.
    """

    def __init__(self, folder: Path | None, what: str) -> None:
        self._state = _State(folder)
        self._thread = ThreadPoolExecutor(1, what)
        self._last: Future[None] | None = None
        self._closing = weakref.finalize(self, _end, self._thread, self._state)

    @property
    def failure(self) -> OSError | None:
        """Why the disk takes no more; what it did not take stays in memory."""
        return self._state.failure

    def write(self, offset: int, data: bytes) -> None:
        """Keeps a piece, without waiting."""
        state = self._state
        with state.lock:
            state.waiting[offset] = data
            failed = state.failure is not None
        if not failed:
            self._last = self._thread.submit(state.write, offset)

    def read(self, offset: int, size: int) -> bytes:
        """The piece at `offset`. Raises OSError where the disk does not give it back, whole."""
        state = self._state
        with state.lock:
            data = state.waiting.get(offset)
        if data is None:
            if state.descriptor is None:
                raise OSError(errno.EBADF, "the file was closed")
            data = os.pread(state.descriptor, size, offset)
        if len(data) != size:
            raise OSError(errno.EIO, "the file has become shorter")
        return data

    def flush(self) -> None:
        """Waits until everything is written, or failed."""
        if self._last is not None:
            self._last.result()

    def close(self) -> None:
        """Frees the file once what is being written is; nothing can be read any more."""
        with self._state.lock:
            self._state.waiting.clear()
        self._closing()


def _end(thread: ThreadPoolExecutor, state: _State) -> None:
    try:
        thread.submit(state.close)  # behind what still waits
    except RuntimeError:  # the interpreter ends, and has waited for the thread
        state.close()
    thread.shutdown(wait=False)
