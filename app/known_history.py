"""The tree of branches as the window knows it: what the worker told last, and the blocks made since. No Qt in here."""

from __future__ import annotations

from dataclasses import replace

from worldattention.core.history import BlockRecord, History
from worldattention.core.timeline import Timeline


class KnownHistory:
    """A history whose current branch grows."""

    def __init__(self, history: History | None = None) -> None:
        self._history = history or History()
        self._records = list(self._history.records(self._history.current))

    def add(self, block: int, record: BlockRecord) -> None:
        """A block was made; one of another sitting that was made again as it was leaves what follows."""
        if self._records[block : block + 1] != [record]:
            self._records[block:] = [record]

    def history(self, timeline: Timeline) -> History:
        """All branches, `timeline` being the current one's."""
        branch = self._history.get(self._history.current)
        own = tuple(self._records[branch.from_block :])
        return self._history.put(replace(branch, timeline=timeline, records=own))
