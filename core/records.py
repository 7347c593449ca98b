"""Telemetry records of pages and recalls, made from what the bank and retrieval know."""

from __future__ import annotations

import math
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

    So a long world's telemetry keeps references, not copies: a block looks only at pages that moved, and one that
    recalls at what the tiers hold, however many pages there were. A page whose data is gone takes part in no recall.
    """

    def __init__(self) -> None:
        self._plain: list[PageRecord] = []  # without what a recall says of them
        self._window: set[int] = set()
        self._kept: set[int] = set()

    def copy(self) -> PageRecords:
        """For a world that goes on by itself."""
        other = PageRecords()
        other._plain, other._kept, other._window = self._plain.copy(), self._kept.copy(), self._window
        return other

    def records(self, bank: KVBank, window: set[int], retrieval: Retrieval | None) -> tuple[PageRecord, ...]:
        """Of every page of the bank; `window` has the ids of pages that are being attended to."""
        pages, plain = bank.pages, self._plain
        known = len(plain)
        changed = bank.take_moved() | (self._window ^ window)
        for page in chain((page for page in changed if page < known), range(known, len(pages))):
            info, tier = pages[page], bank.tier_of(page)
            record = PageRecord(
                page, info.chunk_id, info.first_frame, info.frames, tier, recalled=page in window
            )
            if page == len(plain):
                plain.append(record)
            elif plain[page] != record:
                plain[page] = record
            if tier == "dropped":
                self._kept.discard(page)
            else:
                self._kept.add(page)
        self._window = set(window)
        return tuple(plain) if retrieval is None else self._scored(retrieval)

    def _scored(self, retrieval: Retrieval) -> tuple[PageRecord, ...]:
        """With what a recall said of every page that it could have brought."""
        records = self._plain.copy()
        similarities = [round(value, 5) for value in retrieval.similarities.tolist()]
        scores = retrieval.scores.tolist()
        for page in self._kept:
            if page < len(scores):  # a page may have been closed since
                one, score = records[page], scores[page]
                records[page] = PageRecord(
                    page,
                    one.chunk,
                    one.first_frame,
                    one.frames,
                    one.tier,
                    similarities[one.chunk],
                    None if math.isnan(score) else round(score, 5),
                    one.recalled,
                )
        return tuple(records)


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
    scores = retrieval.scores.tolist()
    return RecallRecord(
        block=block,
        policy=retrieval.policy,
        prompt_hash=prompt_name,
        chunk_similarity=tuple(round(value, 5) for value in retrieval.similarities.tolist()),
        candidates=retrieval.candidates,
        scores=tuple(round(scores[page], 5) for page in retrieval.candidates),
        chosen=retrieval.chosen,
        missed=missed,
    )
