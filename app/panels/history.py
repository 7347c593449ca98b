"""What the page panel remembers: the score of every page at every recent block, as matrices to draw."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worldattention.core.telemetry import BlockTelemetry, PageRecord

Matrix = npt.NDArray[np.float32]

COLUMNS = 160
"""Blocks that are kept and drawn: two minutes of the pocket world."""
MAX_ROWS = 256
"""Rows of the drawn image; more pages share rows, the highest value wins."""


@dataclass(frozen=True, slots=True)
class Run:
    """Page `page` lay in the window from column `first` to column `last`, both included."""

    page: int
    first: int
    last: int


class _Values:
    """The scores of one recall [pages], and their pooled form for the rows of the picture."""

    def __init__(self, values: Iterable[float | None]) -> None:
        self.pages = np.array([np.nan if value is None else value for value in values], np.float32)
        self._pooled: tuple[tuple[int, int], Matrix] | None = None

    def rows(self, count: int, group: int) -> Matrix:
        """[count]: the highest value of every `group` pages; NaN where none is known."""
        if self._pooled is None or self._pooled[0] != (count, group):
            padded = np.full(count * group, -np.inf, np.float32)
            padded[: len(self.pages)] = np.where(np.isnan(self.pages), -np.inf, self.pages)
            best = padded.reshape(count, group).max(axis=1)
            self._pooled = (count, group), np.where(np.isneginf(best), np.nan, best)
        return self._pooled[1]


@dataclass(frozen=True, slots=True)
class _Column:
    block: int
    similarity: _Values
    score: _Values
    recalled: frozenset[int]
    pages: int  # in the bank


class PageHistory:
    """Grows by a block at a time. Between recalls the scores of the last recall stay in force."""

    def __init__(self) -> None:
        self._columns: deque[_Column] = deque(maxlen=COLUMNS)
        self.pages: tuple[PageRecord, ...] = ()

    def add(self, telemetry: BlockTelemetry) -> None:
        """Takes in a block; what another branch made after it goes."""
        self.pages = telemetry.pages
        while self._columns and self._columns[-1].block >= telemetry.block:
            self._columns.pop()
        if self._columns and self._columns[-1].block + 1 != telemetry.block:
            self._columns.clear()
        fresh = telemetry.recall is not None or not self._columns
        if fresh:
            similarity = _Values(page.similarity for page in self.pages)
            score = _Values(page.score for page in self.pages)
        else:
            similarity, score = self._columns[-1].similarity, self._columns[-1].score
        recalled = frozenset(index for index, page in enumerate(self.pages) if page.recalled)
        self._columns.append(_Column(telemetry.block, similarity, score, recalled, len(self.pages)))

    @property
    def first_block(self) -> int:
        """Block of the first column."""
        return self._columns[0].block if self._columns else 0

    @property
    def newest_block(self) -> int:
        """Block of the last column."""
        return self.first_block + self.blocks - 1

    @property
    def blocks(self) -> int:
        """Columns that are kept."""
        return len(self._columns)

    @property
    def pages_per_row(self) -> int:
        """Pages that share a row."""
        return max(1, -(-len(self.pages) // MAX_ROWS))

    def matrix(self, kind: str) -> Matrix:
        """`score` or `similarity` as [rows, blocks]; NaN where a page was no candidate."""
        group = self.pages_per_row
        rows = -(-len(self.pages) // group)
        result = np.empty((rows, self.blocks), np.float32)
        for index, column in enumerate(self._columns):
            values = column.score if kind == "score" else column.similarity
            result[:, index] = values.rows(rows, group)
        return result

    def banked(self) -> npt.NDArray[np.bool_]:
        """[rows, blocks]: whether a row's pages were in the bank at that block."""
        group = self.pages_per_row
        rows = np.arange(-(-len(self.pages) // group))[:, None] * group
        return rows < np.array([column.pages for column in self._columns])[None]

    def runs(self) -> list[Run]:
        """When recalled pages lay in the window, as spans of columns."""
        open_runs: dict[int, int] = {}
        done: list[Run] = []
        for index, column in enumerate(self._columns):
            ended = [page for page in open_runs if page not in column.recalled]
            done.extend(Run(page, open_runs.pop(page), index - 1) for page in ended)
            for page in column.recalled:
                open_runs.setdefault(page, index)
        done.extend(Run(page, first, self.blocks - 1) for page, first in open_runs.items())
        return done

    def index_of(self, page: int) -> int:
        """The place of a page in the bank; -1 where it is unknown."""
        if page < len(self.pages) and self.pages[page].page == page:
            return page  # as always in a world that was never branched
        return next((index for index, record in enumerate(self.pages) if record.page == page), -1)

    def was_recalled(self, page: int, column: int) -> bool:
        """Whether the page lay in the window at that column."""
        return page in self._columns[column].recalled
