"""When the next block is begun: late, so that a prompt shows soon, yet before the frames run out. No Qt in here."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from worldattention.core.geometry import FPS

REMEMBERED_BLOCKS = 16
"""As many count as the slowest lately: a block of a new prompt takes longer than its neighbours."""
KNOWN_FROM = 4
"""Blocks before the pace is trusted: the first ones load what they need."""
MARGIN = 1.25
MARGIN_FRAMES = 1


class Pace:
    """Learns from the blocks that were made how many frames must lie ahead when another is begun."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=REMEMBERED_BLOCKS)
        self._hurried = False

    def frames_ahead(self, block_frames: int) -> int:
        """Frames ahead of the playhead at which a block is begun: a block's at most, for a prompt half of one more."""
        if self._hurried:
            return block_frames + block_frames // 2
        if len(self._seconds) < KNOWN_FROM:
            return block_frames
        return min(block_frames, math.ceil(FPS * MARGIN * max(self._seconds)) + MARGIN_FRAMES)

    def hurry(self) -> None:
        """A prompt waits for the next block: it is begun as soon as it can be."""
        self._hurried = True

    @contextmanager
    def block(self) -> Iterator[None]:
        """Around the making of a block. One that was not finished tells nothing."""
        begin = time.perf_counter()
        yield
        self._seconds.append(time.perf_counter() - begin)
        self._hurried = False
