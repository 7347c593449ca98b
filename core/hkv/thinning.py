"""Which page of a full last tier is missed least: every second page first, then the one used longest ago.

Neighbouring pages of one chunk show nearly the same, so that a chunk that loses every second page still says
what happened. Chunks are thinned in the order in which they were last recalled, the oldest first.
"""

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise

from worldattention.core.hkv.page import PageInfo


class Thinning:
    """Pages of one tier by chunk; every question costs a few pages, however many there are."""

    def __init__(self) -> None:
        self._chunks: OrderedDict[int, dict[int, PageInfo]] = OrderedDict()
        self._dense: OrderedDict[int, None] = OrderedDict()

    def add(self, handle: int, info: PageInfo) -> None:
        """A page came into the tier."""
        self._chunks.setdefault(info.chunk_id, {})[handle] = info
        self._dense.setdefault(info.chunk_id)

    def remove(self, handle: int, info: PageInfo) -> None:
        """A page left the tier."""
        pages = self._chunks[info.chunk_id]
        del pages[handle]
        if not pages:
            del self._chunks[info.chunk_id]
            self._dense.pop(info.chunk_id, None)

    def recalled(self, info: PageInfo) -> None:
        """A page of this chunk was recalled, from whichever tier."""
        if info.chunk_id in self._dense:
            self._dense.move_to_end(info.chunk_id)

    def pick(self, may_go: Callable[[int], bool]) -> int | None:
        """A page right behind another one of its chunk, of those that may go; None when no two are left so."""
        for chunk in list(self._dense):
            pages = sorted(self._chunks[chunk].items(), key=lambda item: item[1].first_frame)
            seconds = [
                handle
                for (_, before), (handle, info) in pairwise(pages)
                if before.end_frame == info.first_frame
            ]
            if not seconds:
                del self._dense[chunk]
            for handle in seconds:
                if may_go(handle):
                    return handle
        return None
