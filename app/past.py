"""Frames of the past for the window: decoded in a thread of their own, so that a slow disk stalls nothing."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from PySide6.QtCore import QObject, Signal

from worldattention.app.reel import Reel
from worldattention.app.segments import Frames

KEPT = 32
"""Decoded frames that are kept: two seconds."""
AHEAD = 6
"""Frames that are decoded behind the one that was asked for, in case the past is played."""


class Past(QObject):
    """Gives what is in memory at once; the rest it fetches, the frame that was asked for last before all others."""

    arrived = Signal(int)  # a frame that was asked for can be had now
    lost = Signal(int)  # a frame that was made cannot be read any more

    def __init__(self, reel: Reel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reel = reel
        self._lock = Lock()
        self._frames: OrderedDict[int, Frames] = OrderedDict()  # by writing
        self._wanted: tuple[int, bool] | None = None  # its number, and whether it is waited for
        self._world = 0  # counts worlds: what was read for an older one is thrown away
        self._busy = self._closed = False
        self._reader = ThreadPoolExecutor(1, "past")

    def frame(self, number: int) -> Frames | None:
        """Frame `number` [H, W, 3], or None: then `arrived` or `lost` follow."""
        recent, writing = self._reel.recent(number), self._reel.writing(number)
        if recent is not None or writing is None:
            return recent
        with self._lock:
            found = self._frames.get(writing)
            self._wanted = number, found is None
            start = not self._busy and not self._closed
            self._busy = True
        if start:
            self._reader.submit(self._fetch)
        return found

    def clear(self) -> None:
        """Another world: nothing of the old one is shown."""
        with self._lock:
            self._world += 1
            self._frames.clear()
            self._wanted = None

    def close(self) -> None:
        """Ends the thread."""
        with self._lock:
            self._closed = True
            self._wanted = None
        self._reader.shutdown()

    def _fetch(self) -> None:
        """Runs in the reader's thread until nothing is wanted any more."""
        number, ahead = -1, 0
        while True:
            with self._lock:
                wanted, self._wanted = self._wanted, None
                if self._closed or (wanted is None and (number < 0 or ahead >= AHEAD)):
                    self._busy = False
                    return
            number, awaited = (number + 1, False) if wanted is None else wanted
            ahead = ahead + 1 if wanted is None else 0
            there = self._have(number)
            if awaited:
                (self.arrived if there else self.lost).emit(number)

    def _have(self, number: int) -> bool:
        """Reads a frame unless it is there already; False where it cannot be read."""
        world, writing = self._world, self._reel.writing(number)
        if writing is None:
            return False
        if self._reel.recent(number) is not None:
            return True
        with self._lock:
            if writing in self._frames:
                self._frames.move_to_end(writing)
                return True
        frame = self._reel.frame(number)
        if frame is None:
            return False
        with self._lock:
            if world != self._world:
                return False
            self._frames[writing] = frame
            while len(self._frames) > KEPT:
                self._frames.popitem(last=False)
        return True
