"""Frames from the worker to the screen: the reel that holds them and the clock that shows 16 a second."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Qt, QTimer, Signal

from worldattention.core.geometry import FPS

Frames = npt.NDArray[np.uint8]

FRAME_MS = 1000.0 / FPS
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


class Playback(QObject):
    """The clock of the window: shows one frame every 62.5 ms, waits where none is made, never skips one."""

    moved = Signal()  # the position or what is shown there changed
    playing_changed = Signal()

    def __init__(self, reel: Reel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reel = reel
        self._position = 0
        self._playing = False
        self._waiting = False
        self._due = 0.0
        self._shown: deque[float] = deque(maxlen=4 * FPS)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)

    @property
    def position(self) -> int:
        """Frame at the playhead; it may lie past the last made frame while paused."""
        return self._position

    @property
    def playing(self) -> bool:
        """Whether frames advance by themselves."""
        return self._playing

    @property
    def waiting(self) -> bool:
        """Whether the clock stands because the next frame is not made yet."""
        return self._playing and self._waiting

    @property
    def shown_fps(self) -> float:
        """Frames a second shown over the last two seconds; 0 before two frames."""
        now = time.perf_counter()
        recent = [moment for moment in self._shown if now - moment < 2.0]
        return (len(recent) - 1) / (now - recent[0]) if len(recent) > 1 else 0.0

    def play(self) -> None:
        """Starts the clock, from the last made frame when the playhead was parked beyond it."""
        if self._playing:
            return
        self._position = min(self._position, max(0, self._reel.made - 1))
        self._playing = True
        self._waiting = True
        self._shown.clear()
        self._due = time.perf_counter()
        self._timer.start(0)
        self.playing_changed.emit()
        self.moved.emit()

    def pause(self) -> None:
        """Stops the clock at the present frame."""
        if not self._playing:
            return
        self._playing = False
        self._timer.stop()
        self.playing_changed.emit()

    def seek(self, frame: int) -> None:
        """Moves the playhead; beyond the made frames it parks there, paused."""
        frame = max(0, frame)
        if frame >= self._reel.made:
            self.pause()
        if frame != self._position:
            self._position = frame
            self.moved.emit()

    def rewind(self) -> None:
        """Back to frame 0 of a new world; playing goes on when it was on."""
        self._position = 0
        self._waiting = True
        self._shown.clear()
        self.moved.emit()

    def wake(self) -> None:
        """New frames are there: goes on at once when the clock was waiting for them."""
        if self.waiting and self._reel.made > 0:
            self._due = max(self._due, time.perf_counter())
            self._timer.start(0)
        elif self._reel.made > 0 and not self._shown:
            self.moved.emit()

    def _tick(self) -> None:
        if not self._playing:
            return
        first = not self._shown
        if self._position + (0 if first else 1) >= self._reel.made:
            self._waiting = True
            return  # wake() goes on
        if not first:
            self._position += 1
        self._waiting = False
        now = time.perf_counter()
        self._shown.append(now)
        self._due += FRAME_MS / 1000
        if now - self._due > 2 * FRAME_MS / 1000:
            self._due = now  # the window was busy: show each frame late rather than skip any
        self._timer.start(max(0, round((self._due - now) * 1000)))
        self.moved.emit()
