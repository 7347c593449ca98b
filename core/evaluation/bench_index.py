"""A world with a long past beside a fresh one, in turns: what its pages and an index of thousands cost a block.

Of the long past the last stretch lies in the memory tiers, pages of random numbers that come back at prompt switches;
of all pages before only the index is left, as quotas leave it. Everything else is real: passes, tiers, retrieval.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.bench_engine import FORCED, SCENES, memory_bytes, rungs, what
from worldattention.core.evaluation.bench_playback import Play, fill, with_tiers
from worldattention.core.evaluation.bench_tiers import SCORED_PAGES, benchmark_scoring
from worldattention.core.evaluation.timing import as_in_the_window
from worldattention.core.geometry import FPS
from worldattention.core.hkv.codec import RAW, page_bytes
from worldattention.core.hkv.page import KVShape
from worldattention.core.memory import indexed_layers, kv_shape
from worldattention.core.models.world import WorldModel
from worldattention.core.telemetry import PageRecord
from worldattention.core.telemetry_lines import line_of

FRESH_SECONDS = 12.0
"""Enough that the window is full and a switch recalls as many pages as it may."""
STEADY_BLOCKS = 3
"""Blocks timed behind each switch, in both worlds."""
Progress = Callable[[int, int, str], None]


@dataclass(slots=True)
class _World:
    """An engine and what its blocks took: milliseconds by kind, and those of every record's line in the log."""

    engine: Engine
    recalled: int = 0
    told: tuple[PageRecord, ...] | None = None
    blocks: dict[str, list[float]] = field(default_factory=dict)
    lines: list[float] = field(default_factory=list)

    def step(self, prompt: str, kind: str, cancel: Callable[[], bool] | None) -> None:
        """Makes a block and times it."""
        begun = time.perf_counter()
        record = self.engine.step(prompt, cancel).telemetry
        made = time.perf_counter()
        line_of(record, self.told)
        self.blocks.setdefault(kind, []).append(1000 * (made - begun))
        self.lines.append(1000 * (time.perf_counter() - made))
        self.told = record.pages
        self.recalled = sum(span.kind == "page" for span in record.window)

    def forget(self) -> None:
        """All that was timed so far: it captured and compiled."""
        self.blocks, self.lines = {}, []


def benchmark_index(
    model: WorldModel,
    config: EngineConfig,
    turns: int,
    play: Play,
    pages: int = SCORED_PAGES,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Time `turns` prompt switches, and the blocks behind each, of both worlds at the forced density.

    `play` says how long the stretch in the tiers is, where it lies and how it is coded; `pages` are in the index.

    Returns:
        A record for JSON: `fresh` and `long` (medians in milliseconds of steady blocks and of those that recall,
        `block_ms` of a switch and the blocks behind it, with the lines of the log as `told_ms`; pages by tier), `over`
        (speed of the long world over the fresh one by each), `scoring`.

    Raises:
        Cancelled: `cancel` said so.
    """
    show = progress or (lambda done, total, what: None)
    setting = rungs(_mostly_below(with_tiers(model, config, play), kv_shape(model)))[FORCED]
    with closing(Engine(model, setting)) as fresh, closing(Engine(model, setting)) as long:
        worlds = {"fresh": _World(fresh), "long": _World(long)}
        show(0, turns + 1, "a long past")
        fill(fresh, FRESH_SECONDS, cancel)
        add_lost_pages(long, pages, play.seconds, cancel)
        fill(long, play.seconds, cancel)
        for turn in range(turns + 1):
            show(turn, turns + 1, "blocks")
            with as_in_the_window():
                for world in list(worlds.values())[:: 1 if turn % 2 else -1]:
                    for kind, prompt in _turn(turn):
                        world.step(prompt, kind, cancel)
                    if turn == 0:
                        world.forget()
        rows = {name: _row(world) for name, world in worlds.items()}
        return {
            **what(model, config),
            "past_seconds": play.seconds,
            "source": play.source,
            "codec": play.codec,
            "turns": turns,
            **rows,
            "over": {
                kind: round(rows["fresh"][f"{kind}_ms"] / rows["long"][f"{kind}_ms"], 4)
                for kind in ("steady", "recall", "block", "told")
            },
            "scoring": benchmark_scoring(kv_shape(model), model.device, pages),
            "memory_bytes": memory_bytes(long),
        }


@torch.inference_mode()
def add_lost_pages(
    engine: Engine, pages: int, seconds: float, cancel: Callable[[], bool] | None = None
) -> None:
    """Gives a world so many pages, less those of `seconds` to come, of which only the index is left: random numbers.

    Chunks are full, and each has a prompt of its own, which no scene resembles.
    """
    sizes, cache, bank, model = engine.geometry, engine.config.cache, engine.bank, engine.model
    to_come = int(seconds * FPS / sizes.block_frames * sizes.block_latents / cache.page_frames)
    shape = (len(indexed_layers(model)), model.heads, model.head_dim)
    words = len(model.text_encoder.encode(SCENES[0]).pooled)
    chunk_pages = cache.chunk_frames // cache.page_frames
    generator = torch.Generator().manual_seed(0)
    for page in range(max(0, pages - to_come)):
        if page % chunk_pages == 0:
            if cancel is not None and cancel():
                raise Cancelled
            bank.begin_chunk(torch.randn(words, generator=generator), f"Scene {page // chunk_pages}.")
        bank.add_lost(cache.page_frames, torch.randn(shape, generator=generator))
    engine.memory.ring.frames_done = bank.frames_done


def _mostly_below(config: EngineConfig, shape: KVShape) -> EngineConfig:
    """With one page on the device, so that pages come back to both worlds from the same place."""
    page = page_bytes(RAW, shape, config.cache.page_frames)
    return replace(config, cache=replace(config.cache, device_quota_bytes=page))


def _turn(turn: int) -> Iterator[tuple[str, str]]:
    """Kind and prompt of every block: a switch to the other scene, then that scene goes on."""
    prompt = SCENES[turn % 2]
    yield "recall", prompt
    for _ in range(STEADY_BLOCKS):
        yield "steady", prompt


def _row(world: _World) -> dict[str, Any]:
    bank, steady = world.engine.bank, statistics.median(world.blocks["steady"])
    recall, line = statistics.median(world.blocks["recall"]), statistics.median(world.lines)
    block = (recall + STEADY_BLOCKS * steady) / (1 + STEADY_BLOCKS)
    times = {
        "steady_ms": steady,
        "slowest_steady_ms": max(world.blocks["steady"]),
        "recall_ms": recall,
        "block_ms": block,
        "line_ms": line,
        "told_ms": block + line,
    }
    return {
        **{name: round(value, 3) for name, value in times.items()},
        "recalled_pages": world.recalled,
        "pages": len(bank.pages),
        "tiers": {tier.name: {"pages": tier.pages, "bytes": tier.used_bytes} for tier in bank.usage()},
    }
