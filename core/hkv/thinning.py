"""Which page of a full last tier is missed least: every second page first, then the one used longest ago.

Neighbouring pages of one chunk show nearly the same, so that a chunk that loses every second page still says
what happened. Chunks are thinned in the order in which they were last recalled, the oldest first.
"""

from bisect import bisect_left, insort
from collections.abc import Callable
from itertools import count, pairwise

from worldattention.core.hkv.page import PageInfo


class Thinning:
    """Pages of one tier by chunk; every question costs a few pages, however many there are."""

    def __init__(self) -> None:
        self._chunks: dict[int, dict[int, PageInfo]] = {}
        self._clock = count()
        self._last: dict[int, int] = {}
        self._dense: list[tuple[int, int]] = []  # (last recall, chunk) where two neighbours may lie

    def add(self, handle: int, info: PageInfo) -> None:
        """A page came into the tier."""
        chunk = info.chunk_id
        if chunk not in self._chunks:
            self._chunks[chunk], self._last[chunk] = {}, next(self._clock)
        self._chunks[chunk][handle] = info
        if not self._is_dense(chunk):
            insort(self._dense, (self._last[chunk], chunk))

    def remove(self, handle: int, info: PageInfo) -> None:
        """A page left the tier."""
        chunk = info.chunk_id
        del self._chunks[chunk][handle]
        if not self._chunks[chunk]:
            if self._is_dense(chunk):
                self._dense.remove((self._last[chunk], chunk))
            del self._chunks[chunk], self._last[chunk]

    def recalled(self, info: PageInfo) -> None:
        """A page of this chunk was recalled, from whichever tier."""
        chunk = info.chunk_id
        if chunk in self._chunks:
            dense = self._is_dense(chunk)
            if dense:
                self._dense.remove((self._last[chunk], chunk))
            self._last[chunk] = next(self._clock)
            if dense:
                self._dense.append((self._last[chunk], chunk))

    def pick(self, may_go: Callable[[int], bool]) -> int | None:
        """A page right behind another one of its chunk, of those that may go; None when no two are left so."""
        for last, chunk in list(self._dense):
            pages = sorted(self._chunks[chunk].items(), key=lambda item: item[1].first_frame)
            seconds = [
                handle
                for (_, before), (handle, info) in pairwise(pages)
                if before.end_frame == info.first_frame
            ]
            if not seconds:
                self._dense.remove((last, chunk))
            for handle in seconds:
                if may_go(handle):
                    return handle
        return None

    def _is_dense(self, chunk: int) -> bool:
        entry = (self._last[chunk], chunk)
        place = bisect_left(self._dense, entry)
        return place < len(self._dense) and self._dense[place] == entry
