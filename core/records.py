"""Telemetry records of pages and recalls, made from what the bank and retrieval know."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import Any

from worldattention.core.config import EngineConfig
from worldattention.core.geometry import Geometry
from worldattention.core.hkv.bank import KVBank
from worldattention.core.hkv.retrieval import Retrieval
from worldattention.core.hkv.window import WindowPlan
from worldattention.core.telemetry import BlockTelemetry, PageRecord, RecallRecord, WindowSpan, prompt_hash


class PageRecords:
    """One record a page and block; a record that did not change is the same object as in the block before.

    So a long world's telemetry keeps references, not copies, and a block without a recall looks only at the
    pages that moved.
    """

    def __init__(self) -> None:
        self._last: list[PageRecord] = []
        self._window: set[int] = set()
        self._scored = False

    def copy(self) -> PageRecords:
        """For a world that goes on by itself."""
        other = PageRecords()
        other._last, other._window, other._scored = self._last.copy(), self._window, self._scored
        return other

    def records(self, bank: KVBank, window: set[int], retrieval: Retrieval | None) -> tuple[PageRecord, ...]:
        """Of every page of the bank; `window` has the ids of pages that are being attended to."""
        pages, last = bank.pages, self._last
        known = len(last)
        changed: Iterable[int] = bank.take_moved() | (self._window ^ window)
        if self._scored or retrieval is not None:  # every page has a similarity, or had one
            changed = range(known)
        similarities = [] if retrieval is None else [round(x, 5) for x in retrieval.similarities.tolist()]
        scores = [] if retrieval is None else retrieval.scores.tolist()
        for page in chain((page for page in changed if page < known), range(known, len(pages))):
            info = pages[page]
            similarity = score = None
            if page < len(scores):  # a page may have been closed since
                similarity = similarities[info.chunk_id]
                score = None if math.isnan(scores[page]) else round(scores[page], 5)
            record = PageRecord(
                page,
                info.chunk_id,
                info.first_frame,
                info.frames,
                bank.tier_of(page),
                similarity,
                score,
                page in window,
            )
            if page == len(last):
                last.append(record)
            elif last[page] != record:
                last[page] = record
        self._window, self._scored = set(window), retrieval is not None
        return tuple(last)


def block_telemetry(
    block: int, sizes: Geometry, config: EngineConfig, prompt: str, plan: WindowPlan, **rest: Any
) -> BlockTelemetry:
    """The record of a block; `rest` are the fields that nothing else says."""
    current = WindowSpan("current", block * sizes.block_latents, sizes.block_latents, plan.frames)
    return BlockTelemetry(
        block=block,
        first_frame=sizes.frames_before_block(block),
        prompt=prompt,
        prompt_hash=prompt_hash(prompt),
        seed=config.seed,
        preset=config.preset,
        attention=config.attention.mode,
        retrieval=config.cache.retrieval,
        asked_density=config.attention.density,
        window=(*plan.spans, current),
        **rest,
    )


def recall_record(
    block: int, prompt_name: str, retrieval: Retrieval | None, missed: tuple[int, ...]
) -> RecallRecord | None:
    """The record of a block's recall; None where there was none."""
    if retrieval is None:
        return None
    return RecallRecord(
        block=block,
        policy=retrieval.policy,
        prompt_hash=prompt_name,
        chunk_similarity=tuple(round(float(value), 5) for value in retrieval.similarities),
        candidates=retrieval.candidates,
        scores=tuple(round(float(retrieval.scores[page]), 5) for page in retrieval.candidates),
        chosen=retrieval.chosen,
        missed=missed,
    )
