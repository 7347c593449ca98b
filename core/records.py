"""Telemetry records of pages and recalls, made from what the bank and retrieval know."""

from __future__ import annotations

import math

from worldattention.core.hkv.bank import KVBank
from worldattention.core.hkv.page import PageInfo
from worldattention.core.hkv.retrieval import Retrieval
from worldattention.core.telemetry import PageRecord, RecallRecord


class PageRecords:
    """One record a page and block; a record that did not change is the same object as in the block before.

    So a long world's telemetry keeps references, not copies.
    """

    def __init__(self) -> None:
        self._last: dict[int, PageRecord] = {}

    def copy(self) -> PageRecords:
        """For a world that goes on by itself."""
        other = PageRecords()
        other._last = self._last.copy()
        return other

    def records(self, bank: KVBank, window: set[int], retrieval: Retrieval | None) -> tuple[PageRecord, ...]:
        """Of every page of the bank; `window` has the ids of pages that are being attended to."""
        records = []
        for page in bank.pages:
            record = _page_record(page, bank.tier_of(page.id), page.id in window, retrieval)
            if self._last.get(page.id) != record:
                self._last[page.id] = record
            records.append(self._last[page.id])
        return tuple(records)


def recall_record(
    block: int, prompt_hash: str, retrieval: Retrieval | None, missed: tuple[int, ...]
) -> RecallRecord | None:
    """The record of a block's recall; None where there was none."""
    if retrieval is None:
        return None
    return RecallRecord(
        block=block,
        policy=retrieval.policy,
        prompt_hash=prompt_hash,
        chunk_similarity=tuple(round(float(value), 5) for value in retrieval.similarities),
        candidates=retrieval.candidates,
        scores=tuple(round(float(retrieval.scores[page]), 5) for page in retrieval.candidates),
        chosen=retrieval.chosen,
        missed=missed,
    )


def _page_record(page: PageInfo, tier: str, recalled: bool, retrieval: Retrieval | None) -> PageRecord:
    similarity = score = None
    if retrieval is not None and page.id < len(retrieval.scores):  # a page may have been closed since
        similarity = round(float(retrieval.similarities[page.chunk_id]), 5)
        value = float(retrieval.scores[page.id])
        score = None if math.isnan(value) else round(value, 5)
    return PageRecord(
        page.id, page.chunk_id, page.first_frame, page.frames, tier, similarity, score, recalled
    )
