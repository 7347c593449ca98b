"""Telemetry as JSON lines: each tells of the pages that changed since the line before, not of all that there are.

The first line names every page, as does each line whose pages are not those of the one before and more behind them.
Any other has `page_changes` in place of `pages`: those that are new or lie elsewhere. What a block's own recall and
window say of a page (similarity, score, attended) is read from there. So a line stays short however long the world is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from worldattention.core.telemetry import BlockTelemetry, PageRecord, read_line

MOST_PAGES = 1 << 27
"""Pages of all records together that are read from one file: more than any world of five hours has."""

Pages = tuple[PageRecord, ...]


def lines_of(records: Iterable[BlockTelemetry]) -> Iterator[str]:
    """Records of consecutive blocks as lines, without line ends."""
    before: Pages | None = None
    for record in records:
        yield line_of(record, before)
        before = record.pages


def line_of(record: BlockTelemetry, before: Pages | None) -> str:
    """One line; `before` has the pages of the line before it, None where there is none."""
    changes = None if before is None else changed(record.pages, _foretold(before, record))
    return record.to_json(changes)


def records_of(lines: Iterable[str]) -> Iterator[BlockTelemetry]:
    """The records of consecutive lines. Raises ValueError at a line that is none, or past `MOST_PAGES`."""
    before: Pages | None = None
    total = 0
    for line in lines:
        record, changes = read_line(line)
        if changes is not None:
            if before is None:
                raise ValueError("the telemetry's first line does not name its pages")
            record = replace(record, pages=_with(_foretold(before, record), changes))
        before = record.pages
        total += len(before)
        if total > MOST_PAGES:
            raise ValueError("the telemetry names more pages than any world has")
        yield record


def changed(pages: Sequence[PageRecord], before: Sequence[PageRecord]) -> list[PageRecord] | None:
    """Those that are not as before, and the new ones behind; None where they are not the same pages and more."""
    if len(pages) < len(before):
        return None
    pairs = zip(pages, before, strict=False)
    different = [(page, old) for page, old in pairs if page is not old and page != old]
    if any(page.page != old.page for page, old in different):
        return None
    return [page for page, _ in different] + list(pages[len(before) :])


def _with(before: Pages, changes: Pages) -> Pages:
    if not changes:
        return before
    pages = {page.page: page for page in before}
    pages.update((page.page, page) for page in changes)
    return tuple(pages.values())


def _foretold(before: Pages, record: BlockTelemetry) -> Pages:
    """The pages before a block, as its window and its recall tell of them; one that stays so is the same object."""
    window = {span.page for span in record.window}
    recall = record.recall
    cosines = () if recall is None else recall.chunk_similarity
    scores = {} if recall is None else dict(zip(recall.candidates, recall.scores, strict=False))
    pages = []
    for page in before:
        there = page.tier != "dropped" and 0 <= page.chunk < len(cosines)
        similarity = cosines[page.chunk] if there else None
        score, recalled = scores.get(page.page), page.page in window
        if (page.similarity, page.score, page.recalled) != (similarity, score, recalled):
            page = replace(page, similarity=similarity, score=score, recalled=recalled)
        pages.append(page)
    return tuple(pages)
