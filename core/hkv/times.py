"""How long the latest moves of a tier took."""

from bisect import bisect_left, insort
from collections import deque

KEPT = 512


class Times:
    """The latest times in milliseconds. In order at any moment, since every block asks for its percentiles."""

    def __init__(self, kept: int = KEPT) -> None:
        self._latest: deque[float] = deque()
        self._ordered: list[float] = []
        self._kept = kept

    def append(self, milliseconds: float) -> None:
        """One more; the oldest goes once there are too many."""
        if len(self._latest) == self._kept:
            del self._ordered[bisect_left(self._ordered, self._latest.popleft())]
        self._latest.append(milliseconds)
        insort(self._ordered, milliseconds)

    def percentiles(self) -> tuple[float, float] | None:
        """Median and 99th percentile; None before the first."""
        if not self._ordered:
            return None
        last = len(self._ordered) - 1
        return round(self._ordered[int(0.5 * last)], 3), round(self._ordered[int(0.99 * last)], 3)
