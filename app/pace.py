"""When the next block is begun, late, so that a prompt shows soon, yet in time; and when it will be there. No Qt."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean

from worldattention.core.geometry import FPS

REMEMBERED_BLOCKS = 16
"""As many count as the slowest lately: a block of a new prompt takes longer than its neighbours."""
KNOWN_FROM = 4
"""Blocks before the pace is trusted: the first ones load what they need."""
STEADY_BLOCKS = 8
"""Blocks of an unchanged prompt whose mean is what the next one is expected to take."""
SWITCHES = 4
DEARER = 1.5
"""A block of a new prompt takes so many times as long as others, until one was seen."""
SWITCH_MARGIN = 1.1
"""Frames that are left over when it comes sooner cost less than a picture that stands."""
MARGIN = 1.25
MARGIN_FRAMES = 1


class Pace:
    """Learns from the blocks that were made how many frames must lie ahead of another, and how long it takes."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=REMEMBERED_BLOCKS)
        self._steady: deque[float] = deque(maxlen=STEADY_BLOCKS)
        self._dearer: deque[float] = deque(maxlen=SWITCHES)
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

    def due(self, new_prompt: bool) -> float | None:
        """The moment, by `time.perf_counter`, at which a block that is begun now will be there. None: not known yet."""
        if len(self._steady) < KNOWN_FROM:
            return None
        times = SWITCH_MARGIN * max(self._dearer, default=DEARER) if new_prompt else 1.0
        return time.perf_counter() + times * fmean(self._steady)

    @contextmanager
    def block(self, new_prompt: bool = False) -> Iterator[None]:
        """Around the making of a block. One that was not finished tells nothing."""
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
        if not new_prompt:
            self._steady.append(seconds)
        elif len(self._steady) >= KNOWN_FROM:
            self._dearer.append(seconds / max(fmean(self._steady), 1e-6))
        self._seconds.append(seconds)
        self._hurried = False
