"""When the next block is begun, late, so that a prompt shows soon, yet in time; and when it will be there. No Qt."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean, median

from worldattention.core.geometry import FPS

REMEMBERED_BLOCKS = 16
"""Their slowest tells when to begin another, their mean when it will be there."""
KNOWN_FROM = 3
"""Blocks behind a world's first before the pace is trusted: they load what they need."""
SWITCHES = 4
DEARER = 1.5
"""A block of a new prompt takes so many times as long as others, until one was seen."""
SWITCH_MARGIN = 1.1
"""Frames that are left over when it comes sooner cost less than a picture that stands."""
TELLING_SHARE = 0.1
"""Before so much of a block is made nobody knows how quick it is."""
CHANGE_S = 0.1
INSTANT_S = 1e-6
MARGIN = 1.15
MARGIN_FRAMES = 1


class Pace:
    """Learns from the blocks that were made how many frames must lie ahead of another, and how long it takes."""

    def __init__(self) -> None:
        self._steady: deque[float] = deque(
            maxlen=REMEMBERED_BLOCKS
        )  # seconds of blocks whose prompt was not new
        self._dearer: deque[float] = deque(maxlen=SWITCHES)  # times as long as those took the others
        self._shares: dict[bool, tuple[float, ...]] = {}  # of a block's time, at its steps; by `new_prompt`
        self._new, self._begin = False, 0.0  # of the block that is being made
        self._due: float | None = None
        self._asked: list[float] = []  # seconds at its steps
        self._hurried = False

    def frames_ahead(self, block_frames: int, new_prompt: bool = False) -> int:
        """Frames ahead of the playhead at which a block is begun: a block's at most.

        For a prompt that waits it is half of one more, for one that the timeline has known as many as it takes.
        """
        if self._hurried:
            return block_frames + block_frames // 2
        if not self._known:
            return block_frames
        slowest = max(self._steady) * (self._times_dearer if new_prompt else 1.0)
        return min(block_frames, math.ceil(FPS * MARGIN * slowest) + MARGIN_FRAMES)

    def hurry(self) -> None:
        """A prompt waits for the next block: it is begun as soon as it can be."""
        self._hurried = True

    @contextmanager
    def block(self, new_prompt: bool = False, first: bool = False) -> Iterator[float | None]:
        """Around the making of a block. One that was not finished, or is a world's `first`, tells nothing.

        Yields the moment, by `time.perf_counter`, at which it will probably be there; None: not known yet.
        """
        self._new, self._begin, self._asked = new_prompt, time.perf_counter(), []
        self._due = self._expected()
        yield self._due
        self._hurried = False
        if first:  # more is made before it than is shown
            return
        seconds = time.perf_counter() - self._begin
        if not new_prompt:
            self._steady.append(seconds)
        elif self._known:
            self._dearer.append(seconds / max(fmean(self._steady), INSTANT_S))
        self._shares[new_prompt] = tuple(asked / max(seconds, INSTANT_S) for asked in self._asked)

    def went_on(self) -> float | None:
        """The block has come to another of its steps. Tells when it will be there, where that has changed by much."""
        seconds, step = time.perf_counter() - self._begin, len(self._asked)
        self._asked.append(seconds)
        shares = self._shares.get(self._new, ())
        if self._due is None or step >= len(shares) or shares[step] < TELLING_SHARE:
            return None
        due = self._begin + seconds / shares[step]
        if abs(due - self._due) < CHANGE_S:
            return None
        self._due = due
        return due

    @property
    def _known(self) -> bool:
        return len(self._steady) >= KNOWN_FROM

    def _expected(self) -> float | None:
        if not self._known:
            return None
        times = SWITCH_MARGIN * self._times_dearer if self._new else 1.0
        return self._begin + times * fmean(self._steady)

    @property
    def _times_dearer(self) -> float:
        return median(self._dearer or (DEARER,))
