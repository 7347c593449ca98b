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
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from worldattention.core.files import private_folder


@dataclass(slots=True)
class _State:
    """What the thread shares with the others; `waiting` has the bytes that are not on the disk, by offset."""

    folder: Path | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: dict[int, bytes | memoryview] = field(default_factory=dict)
    asked: SimpleQueue[int | threading.Event | None] = field(default_factory=SimpleQueue)
    descriptor: int | None = None
    failure: OSError | None = None

    def run(self) -> None:
        """In the thread: writes what is asked for, sets an event that comes by, ends at None."""
        while (asked := self.asked.get()) is not None:
            if isinstance(asked, threading.Event):
                asked.set()
            else:
                self._write(asked)
        if self.descriptor is not None:
            with suppress(OSError):  # nobody will ever read it
                os.close(self.descriptor)
        self.descriptor = None

    def _write(self, offset: int) -> None:
        """After the first failure nothing more is tried."""
        with self.lock:
            data = self.waiting.get(offset) if self.failure is None else None
        if data is None:
            return
        try:
            if os.pwrite(self._open(), data, offset) != len(data):
                raise OSError(errno.ENOSPC, "the disk is full")
        except OSError as error:
            self.failure = error
        else:
            with self.lock:
                self.waiting.pop(offset, None)

    def _open(self) -> int:
        if self.descriptor is None:
            if self.folder is not None:
                private_folder(self.folder)
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
                self.descriptor = os.dup(file.fileno())
        return self.descriptor


class WriteBehind:
    """Pieces of bytes by their offset, each written once. The file and its thread, called `name`, begin with the first.

    One thread writes, others may read.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        self._state = state = _State(folder)
        self._thread = threading.Thread(target=state.run, name=name, daemon=True)
        self._end = weakref.finalize(self, state.asked.put, None)  # which may be called from anywhere

    @property
    def failure(self) -> OSError | None:
        """Why the disk takes no more; what it did not take stays in memory."""
        return self._state.failure

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Keeps a piece of single bytes, which nobody may change any more, without waiting."""
        if self._thread.ident is None:
            self._thread.start()
        with self._state.lock:
            self._state.waiting[offset] = data
        self._state.asked.put(offset)

    def read(self, offset: int, size: int) -> bytes | memoryview:
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
        if self._thread.is_alive():
            done = threading.Event()
            self._state.asked.put(done)
            done.wait()

    def close(self) -> None:
        """Frees the file once what is being written is; nothing can be read any more."""
        with self._state.lock:
            self._state.waiting.clear()
        self._end()
