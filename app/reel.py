"""Every frame of a world: the newest in memory, all of them in segments on disk. No Qt in here."""

from __future__ import annotations

import logging
import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from worldattention.app.segments import Frames, Segments

HISTORY_QUOTA_BYTES = 2 << 30
MEMORY_FRAMES = 48
"""More than two blocks: one may still be on its way to the disk while the next one comes."""

log = logging.getLogger(__name__)


class Reel:
    """All frames of one world: the newest in a bounded ring in memory, older ones in segments on disk.

    Branches of a world share what they have in common: each is a list of writings, and frames are written once.

    The worker appends, the window reads; both may do so at once. Frames carry the epoch of their world: an
    append of an older epoch is dropped. A thread of its own codes and writes, at most one block behind. When the
    disk fails nothing more is written: what is there can still be read, and `failure` says why.
    """

    def __init__(self, folder: Path | None = None, quota_bytes: int = HISTORY_QUOTA_BYTES) -> None:
        self._lock = threading.Lock()
        self._memory: OrderedDict[int, Frames] = OrderedDict()  # by writing
        self._segments = Segments(folder, quota_bytes)
        self._writer: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None
        self._written = 0
        self._numbers = array("Q")  # which writing holds frame 0, 1, 2, ... of the present branch
        self._epoch = 0
        self.failure: str | None = None

    @property
    def made(self) -> int:
        """Frames made so far; the newest has the number `made - 1`."""
        return len(self._numbers)

    @property
    def first(self) -> int:
        """The oldest frame that can still be read."""
        with self._lock:
            in_memory, on_disk = next(iter(self._memory), self._written), self._segments.oldest
            return bisect_left(self._numbers, in_memory if on_disk is None else min(in_memory, on_disk))

    def clear(self, epoch: int) -> None:
        """Starts an empty reel for a new world."""
        with self._lock:
            self._epoch = epoch
            self._memory.clear()
            self._numbers = array("Q")
            self._written = 0
            if self._writer is not None:
                self._pending = self._writer.submit(self._forget)  # behind what is still being written

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
        pending = self._pending
        if pending is not None:
            pending.result()  # the block before must be on disk, or memory would grow
        with self._lock:
            if epoch != self._epoch:
                return False
            kept = [np.ascontiguousarray(frame) for frame in frames]
            for frame in kept:
                self._memory[self._written] = frame
                self._numbers.append(self._written)
                self._written += 1
            while len(self._memory) > MEMORY_FRAMES:
                self._memory.popitem(last=False)
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "reel")
            self._pending = self._writer.submit(self._write, kept)
            return True

    def writing(self, number: int) -> int | None:
        """What frame `number` is of all that was ever written; None where it was never made."""
        with self._lock:
            return self._numbers[number] if 0 <= number < len(self._numbers) else None

    def recent(self, number: int) -> Frames | None:
        """Frame `number` as [H, W, 3] uint8 where it is still in memory."""
        with self._lock:
            return self._memory.get(self._numbers[number]) if 0 <= number < len(self._numbers) else None

    def frame(self, number: int) -> Frames | None:
        """Frame `number` as [H, W, 3] uint8, or None where it was never made or is no longer kept.

        Older frames are read and decoded here: the window asks `Past` for them instead.
        """
        recent, writing = self.recent(number), self.writing(number)
        return recent if recent is not None or writing is None else self._segments.read(writing)

    def close(self) -> None:
        """Frees the files and ends the writing thread."""
        with self._lock:
            writer, self._writer, self._pending = self._writer, None, None
        if writer is not None:
            writer.shutdown()
        self._segments.close()

    def _forget(self) -> None:
        self._segments.close()
        self.failure = None

    def _write(self, frames: list[Frames]) -> None:
        if self.failure is not None:
            return
        try:
            for frame in frames:
                self._segments.append(frame)
        except OSError as error:
            log.warning("the past is no longer kept for scrubbing: %s", error)
            self.failure = error.strerror or str(error)
