"""Every frame of a world: the newest in memory, older ones in a ring file. No Qt in here."""

from __future__ import annotations

import logging
import math
import os
import tempfile
import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict
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

    Branches of a world share what they have in common: each is a list of writings, and frames are written once.

    The worker appends, the window reads; both may do so at once. Frames carry the epoch of their world: an
    append of an older epoch is dropped. The file is nameless, so nothing is left behind however the program
    ends; once `quota_bytes` are used the oldest frames are overwritten.
    """

    def __init__(self, folder: Path | None = None, quota_bytes: int = HISTORY_QUOTA_BYTES) -> None:
        self._folder = folder
        self._quota_bytes = quota_bytes
        self._lock = threading.Lock()
        self._memory: OrderedDict[int, Frames] = OrderedDict()  # by writing
        self._shape: tuple[int, ...] = ()
        self._file: BinaryIO | None = None
        self._slots = 0
        self._given_up = False
        self._written = 0
        self._numbers = array("Q")  # which writing holds frame 0, 1, 2, ... of the present branch
        self._epoch = 0

    @property
    def made(self) -> int:
        """Frames made so far; the newest has the number `made - 1`."""
        return len(self._numbers)

    @property
    def first(self) -> int:
        """The oldest frame that can still be read."""
        with self._lock:
            return bisect_left(self._numbers, self._oldest_writing())

    def clear(self, epoch: int) -> None:
        """Starts an empty reel for a new world."""
        with self._lock:
            self._epoch = epoch
            self._memory.clear()
            self._numbers = array("Q")
            self._written = 0
            self._given_up = False
            self._close_file()

    def truncate(self, epoch: int, frames: int) -> array[int]:
        """Goes on behind frame `frames - 1` in another epoch; returns what `take_up` needs to come back."""
        with self._lock:
            self._epoch = epoch
            before = self._numbers
            self._numbers = before[:frames]
            return before

    def take_up(self, epoch: int, numbers: array[int], frames: int) -> None:
        """Goes on behind the first `frames` frames of a branch that was left by `truncate`."""
        with self._lock:
            self._epoch = epoch
            self._numbers = numbers[:frames]

    def append(self, epoch: int, frames: Frames) -> bool:
        """Adds a block's frames [T, H, W, 3] uint8. False when they belong to another world."""
        with self._lock:
            if epoch != self._epoch:
                return False
            self._shape = frames.shape[1:]
            self._to_disk(frames)
            for frame in frames:
                self._memory[self._written] = np.ascontiguousarray(frame)
                self._numbers.append(self._written)
                self._written += 1
            while len(self._memory) > MEMORY_FRAMES:
                self._memory.popitem(last=False)
            return True

    def frame(self, number: int) -> Frames | None:
        """Frame `number` as [H, W, 3] uint8, or None where it was never made or is no longer kept."""
        with self._lock:
            if not 0 <= number < len(self._numbers):
                return None
            writing = self._numbers[number]
            if writing in self._memory:
                return self._memory[writing]
            if self._file is None or writing < self._oldest_writing():
                return None
            size = math.prod(self._shape)
            data = os.pread(self._file.fileno(), size, (writing % self._slots) * size)
            return np.frombuffer(data, np.uint8).reshape(self._shape) if len(data) == size else None

    def close(self) -> None:
        """Frees the file."""
        with self._lock:
            self._close_file()

    def _oldest_writing(self) -> int:
        in_memory = next(iter(self._memory), self._written)
        return in_memory if self._file is None else min(in_memory, max(0, self._written - self._slots))

    def _to_disk(self, frames: Frames) -> None:
        size = frames[0].nbytes
        try:
            if self._file is None:
                if self._given_up:
                    return
                if self._folder is not None:
                    self._folder.mkdir(parents=True, exist_ok=True)
                self._slots = max(MEMORY_FRAMES, self._quota_bytes // size)
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (lives as long as the reel)
            for index, frame in enumerate(frames, self._written):
                os.pwrite(self._file.fileno(), np.ascontiguousarray(frame).data, (index % self._slots) * size)
        except OSError as error:
            log.warning("the past is no longer kept for scrubbing: %s", error)
            self._close_file()
            self._given_up = True

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
