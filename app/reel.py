"""Every frame of a world: the newest in memory, older ones in a ring file. No Qt in here."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

Frames = npt.NDArray[np.uint8]

HISTORY_QUOTA_BYTES = 2 << 30
MEMORY_FRAMES = 48

log = logging.getLogger(__name__)


class Reel:
    """All frames of one world: the newest in a bounded ring in memory, older ones in a ring file on disk.

    The worker appends, the window reads; both may do so at once. Frames carry the epoch of their world: an
    append of an older epoch is dropped. The file is nameless, so nothing is left behind however the program
    ends; once `quota_bytes` are used the oldest frames are overwritten.
    """

    def __init__(self, folder: Path | None = None, quota_bytes: int = HISTORY_QUOTA_BYTES) -> None:
        self._folder = folder
        self._quota_bytes = quota_bytes
        self._lock = threading.Lock()
        self._memory: deque[Frames] = deque(maxlen=MEMORY_FRAMES)
        self._file: BinaryIO | None = None
        self._slots = 0
        self._on_disk_from = 0
        self._made = 0
        self._epoch = 0

    @property
    def made(self) -> int:
        """Frames made so far; the newest has the number `made - 1`."""
        return self._made

    @property
    def first(self) -> int:
        """The oldest frame that can still be read."""
        with self._lock:
            return self._first()

    def clear(self, epoch: int) -> None:
        """Starts an empty reel for a new world."""
        with self._lock:
            self._epoch = epoch
            self._memory.clear()
            self._made = 0
            self._on_disk_from = 0
            self._close_file()

    def append(self, epoch: int, frames: Frames) -> bool:
        """Adds a block's frames [T, H, W, 3] uint8. False when they belong to another world."""
        with self._lock:
            if epoch != self._epoch:
                return False
            self._to_disk(frames)
            self._memory.extend(np.ascontiguousarray(frame) for frame in frames)
            self._made += len(frames)
            return True

    def frame(self, number: int) -> Frames | None:
        """Frame `number` as [H, W, 3] uint8, or None where it was never made or is no longer kept."""
        with self._lock:
            from_end = self._made - number
            if number < 0 or from_end <= 0:
                return None
            if from_end <= len(self._memory):
                return self._memory[-from_end]
            if self._file is None or number < self._first():
                return None
            shape = self._memory[-1].shape
            size = int(np.prod(shape))
            data = os.pread(self._file.fileno(), size, (number % self._slots) * size)
            return np.frombuffer(data, np.uint8).reshape(shape) if len(data) == size else None

    def close(self) -> None:
        """Frees the file."""
        with self._lock:
            self._close_file()

    def _first(self) -> int:
        in_memory = self._made - len(self._memory)
        if self._file is None:
            return in_memory
        return min(in_memory, max(self._on_disk_from, self._made - self._slots))

    def _to_disk(self, frames: Frames) -> None:
        size = frames[0].nbytes
        try:
            if self._file is None:
                if self._on_disk_from != self._made:
                    return  # given up earlier
                if self._folder is not None:
                    self._folder.mkdir(parents=True, exist_ok=True)
                self._slots = max(MEMORY_FRAMES, self._quota_bytes // size)
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (lives as long as the reel)
            for index, frame in enumerate(frames, self._made):
                os.pwrite(self._file.fileno(), np.ascontiguousarray(frame).data, (index % self._slots) * size)
        except OSError as error:
            log.warning("the past is no longer kept for scrubbing: %s", error)
            self._close_file()
            self._on_disk_from = -1

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
