"""Whole blocks through the real engine, in turns, and where the time of a block goes.

One world plays a scene, another one, and returns to the first, which recalls pages: from then on its window is full
and holds them. Then its settings change from block to block, so that all rivals read the same memory and a drifting
machine hurts all of them alike. The ladder: a dense sliding window, then recall (HKV), then hybrid sparse attention
(HSA, in plain torch), then our kernels, at the threshold's own density and at a forced one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

import torch

from worldattention.core.config import EngineConfig, RetrievalPolicy
from worldattention.core.engine import Engine
from worldattention.core.evaluation.bench_attention import AttentionSample
from worldattention.core.evaluation.bench_block import part_times
from worldattention.core.evaluation.timing import surroundings
from worldattention.core.models.fp8 import with_fp8_linears
from worldattention.core.models.world import WorldModel
from worldattention.core.out_of_memory import is_out_of_memory
from worldattention.core.telemetry import BlockTelemetry
from worldattention.kernels.uses import Use

SCENES = (
    "A man in a red shirt throws and catches a red ball in a village street on a bright day.",
    "A woman in a yellow shirt flies a kite on the beach at sunset.",
)
FORCED_DENSITY = 0.05
WINDOW, RECALL, PLAIN, KERNELS, FORCED = "dense window", "+ HKV", "+ HSA", "+ kernels", "+ forced density"
TURN_BLOCKS = 6
PLAIN_BLOCKS = 2  # plain torch takes seconds a block
Progress = Callable[[int, int, str], None]
Cancel = Callable[[], bool]


def rungs(config: EngineConfig) -> dict[str, EngineConfig]:
    """The ladder's configurations, in order. Dense rungs gather no statistics, which only routing needs."""

    def rung(
        mode: str, retrieval: RetrievalPolicy, kernels: Use, density: float | None = None
    ) -> EngineConfig:
        attention = replace(
            config.attention,
            mode=mode,  # type: ignore[arg-type]
            kernels=kernels,
            density=density,
            statistics=mode != "dense",
        )
        return replace(config, attention=attention, cache=replace(config.cache, retrieval=retrieval))

    return {
        WINDOW: rung("dense", "none", "auto"),
        RECALL: rung("dense", "hkv", "auto"),
        PLAIN: rung("hsa", "hkv", "torch"),
        KERNELS: rung("hsa", "hkv", "auto"),
        FORCED: rung("hsa", "hkv", "auto", config.attention.density or FORCED_DENSITY),
    }


def benchmark_engine(
    model: WorldModel,
    config: EngineConfig,
    blocks: int,
    scene_blocks: int = 14,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> dict[str, Any]:
    """Time `blocks` blocks of every rung after a return to the first scene, in turns.

    Returns:
        A record for JSON: where and what, and under `rungs` by name `ms` (median of a block), `fps`, `over_first`,
        `stage_ms` (medians), `density`, `backend`; `recall` of the blocks that recalled; `parts` of one layer and
        their shares of a whole block; `telemetry_on_over_off`; `memory_bytes` of the device.

    Raises:
        Cancelled: `cancel` said so.
    """
    with closing(Engine(model, rungs(config)[FORCED])) as engine:
        bench = Turns(engine, config, progress, cancel)
        bench.expect(history_blocks(scene_blocks) + 3 + (1 + blocks) * TURN_BLOCKS + PLAIN_BLOCKS)
        bench.make_history(scene_blocks)
        bench.warm(RECALL, KERNELS, FORCED)
        bench.turn()
        bench.forget()
        for _ in range(blocks):
            bench.turn()
        bench.plain()
        record = {**what(model, config), "blocks": blocks, **bench.record()}
    return record | {"fp8_linears": benchmark_fp8(model, config, blocks, scene_blocks, cancel)}


def benchmark_fp8(
    model: WorldModel,
    config: EngineConfig,
    blocks: int,
    scene_blocks: int = 14,
    cancel: Cancel | None = None,
) -> dict[str, Any]:
    """Time blocks at the forced density in turns with blocks of a world whose linear layers multiply in fp8.

    Returns:
        `plain` and `fp8` as summaries, `over` how much faster fp8 is; or `failure` where the layers' sizes forbid it.

    Raises:
        Cancelled: `cancel` said so.
    """
    try:
        coarse = with_fp8_linears(model)
    except ValueError as error:
        return {"failure": str(error)}
    rung = rungs(config)[FORCED]
    with closing(Engine(model, rung)) as one, closing(Engine(coarse, rung)) as other:
        worlds = [Turns(engine, config, None, cancel) for engine in (one, other)]
        for world in worlds:
            world.make_history(scene_blocks)
            world.warm(FORCED)
        for _ in range(blocks):
            for world in worlds:
                world.timed(FORCED)
        plain, fp8 = (summary(world.blocks[FORCED], _total(worlds[0].blocks[FORCED])) for world in worlds)
        return {"plain": plain, "fp8": fp8, "over": fp8["over_first"], "memory_bytes": memory_bytes(other)}


def benchmark_block(
    model: WorldModel,
    config: EngineConfig,
    repeats: int,
    scene_blocks: int = 14,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> dict[str, Any]:
    """Time the parts of one transformer block, on what its layer attends with in a world that recalled pages.

    Raises:
        Cancelled: `cancel` said so.
    """
    rung = rungs(config)[KERNELS if config.attention.density is None else FORCED]
    with closing(Engine(model, rung)) as engine:
        bench = Turns(engine, config, progress, cancel)
        bench.expect(history_blocks(scene_blocks))
        bench.make_history(scene_blocks)
        sample = samples(engine, SCENES[0])[model.layers // 2]
        return {**what(model, config), "parts": part_times(model, sample, rung.attention, repeats)}


def history_blocks(scene_blocks: int) -> int:
    """Blocks of `Turns.make_history`."""
    return scene_blocks + _other(scene_blocks) + 1


class Turns:
    """A world whose settings change from block to block."""

    def __init__(
        self,
        engine: Engine,
        config: EngineConfig,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        self.engine = engine
        self._rungs = rungs(config)
        self._progress, self._cancel = progress, cancel
        self._done = self._total = 0
        self._plain_failure = ""
        self._seconds: list[
            tuple[float, float, float]
        ] = []  # a block: made, its record as well, as a line as well
        self.blocks: dict[str, list[BlockTelemetry]] = {name: [] for name in self._rungs}
        self.recalls: list[BlockTelemetry] = []

    def expect(self, blocks: int) -> None:
        """So many blocks in all, for the progress."""
        self._total = blocks

    def make_history(self, scene_blocks: int) -> None:
        """A scene, another one, and the first block of the return; nothing is timed."""
        for prompt in [SCENES[0]] * scene_blocks + [SCENES[1]] * _other(scene_blocks) + [SCENES[0]]:
            self._step(FORCED, prompt)

    def turn(self) -> None:
        """A block of every rung but plain torch; in between those that slide the window and recall again."""
        self._step(WINDOW)  # lets the recalled pages go: not timed
        self.timed(WINDOW)
        self.recalls.append(self._step(KERNELS))
        for name in (RECALL, KERNELS, FORCED):
            self.timed(name)

    def warm(self, *names: str) -> None:
        """A block of each of these rungs, not timed: what is captured is captured here."""
        for name in names:
            self._step(name)

    def timed(self, name: str) -> None:
        """A block of one rung."""
        self.blocks[name].append(self._step(name))

    def forget(self) -> None:
        """All that was timed so far: it captured and compiled."""
        self.blocks, self.recalls, self._seconds = {name: [] for name in self._rungs}, [], []

    def plain(self) -> None:
        """Blocks in plain torch, uncaptured since they take seconds; what memory does not allow is told."""
        self.engine.attention_observer = lambda *_: None
        try:
            for _ in range(PLAIN_BLOCKS):
                self.timed(PLAIN)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self._plain_failure = str(error).partition("\n")[0]
        finally:
            self.engine.attention_observer = None

    def record(self) -> dict[str, Any]:
        """What was timed, and the parts of one layer of one block more."""
        first = _total(self.blocks[WINDOW])
        summaries = {name: summary(found, first) for name, found in self.blocks.items() if found}
        if self._plain_failure:
            summaries[PLAIN] = {"failure": self._plain_failure}
        model = self.engine.model
        self.engine.configure(self._rungs[FORCED])
        sample = samples(self.engine, SCENES[0])[model.layers // 2]
        parts = {
            name: self._shares(part_times(model, sample, self._rungs[name].attention), summaries[name]["ms"])
            for name in (KERNELS, FORCED)
        }
        made, told, written = (statistics.median(column) for column in zip(*self._seconds, strict=True))
        return {
            "rungs": summaries,
            "over_dense": round(summaries[RECALL]["ms"] / summaries[FORCED]["ms"], 3),
            "recall": summary(self.recalls, first),
            "parts": parts[KERNELS],
            "parts_forced": parts[FORCED],
            "telemetry_on_over_off": round(made / written, 4),
            "telemetry_ms": round(1000 * (told - made), 3),
            "memory_bytes": memory_bytes(self.engine),
        }

    def _shares(self, parts: dict[str, Any], block_ms: float) -> dict[str, Any]:
        """With shares of a whole block of all denoising steps and the context pass."""
        passes = self.engine.model.layers * (len(self.engine.config.sampler.timesteps) + 1)
        shares = {name: round(passes * ms / block_ms, 4) for name, ms in parts["ms"].items()}
        return {**parts, "share_of_block": shares}

    def _step(self, name: str, prompt: str = SCENES[0]) -> BlockTelemetry:
        if self._progress is not None:
            self._progress(self._done, self._total, name)
        self._done += 1
        self.engine.configure(self._rungs[name])
        begun = time.perf_counter()
        telemetry = self.engine.step(prompt, self._cancel).telemetry
        told = time.perf_counter() - begun
        telemetry.to_json()
        made = telemetry.stage_ms["total"] / 1000
        self._seconds.append((made, told, time.perf_counter() - begun))
        return telemetry


def what(model: WorldModel, config: EngineConfig) -> dict[str, Any]:
    """Where and what is measured."""
    sizes = model.geometry
    return {
        **surroundings(model.device),
        "model": model.name,
        "dtype": str(model.dtype).removeprefix("torch."),
        "block": config.attention.block,
        "asked_density": config.attention.density or FORCED_DENSITY,
        "layers": model.layers,
        "heads": model.heads,
        "channels": model.head_dim,
        "frame_tokens": sizes.frame_tokens,
        "window_frames": config.cache.budget_frames + sizes.block_latents,
        "graphs": config.graphs and model.device.type == "cuda",
    }


def memory_bytes(engine: Engine) -> dict[str, int]:
    """Of the device: an engine's window and ring; on a GPU also what is allocated, reserved, and was at most."""
    bytes_: dict[str, int] = {"window_and_ring": engine.memory.buffer_bytes}
    device = engine.model.device
    if device.type == "cuda":
        bytes_ |= {
            "allocated": torch.cuda.memory_allocated(device),
            "most_allocated": torch.cuda.max_memory_allocated(device),
            "reserved": torch.cuda.memory_reserved(device),
        }
    return bytes_


def samples(engine: Engine, prompt: str) -> list[AttentionSample]:
    """What every layer attended with in one more block."""
    found: dict[int, AttentionSample] = {}
    engine.attention_observer = lambda layer, q, window, parameters: found.update(
        {layer: AttentionSample(q, window, parameters)}
    )
    engine.step(prompt)
    engine.attention_observer = None
    return [found[layer] for layer in sorted(found)]


def summary(records: list[BlockTelemetry], first_ms: float) -> dict[str, Any]:
    """Medians of blocks of one kind; `over_first`: how much faster than `first_ms`."""
    milliseconds = _total(records)
    return {
        "ms": milliseconds,
        "fps": round(1000.0 * records[-1].frames / milliseconds, 3),
        "over_first": round(first_ms / milliseconds, 3),
        "blocks": len(records),
        "slowest_ms": max(record.stage_ms["total"] for record in records),
        "recalled_pages": sum(span.kind == "page" for span in records[-1].window),
        "stage_ms": {
            stage: median(record.stage_ms[stage] for record in records) for stage in records[-1].stage_ms
        },
        "density": float(records[-1].density.mean()),
        "backend": records[-1].backend,
    }


def median(values: Iterable[float]) -> float:
    """To a thousandth."""
    return round(statistics.median(values), 3)


def _total(records: list[BlockTelemetry]) -> float:
    return median(record.stage_ms["total"] for record in records)


def _other(scene_blocks: int) -> int:
    """Blocks of the scene in between: enough that no recent frame is of the first one."""
    return max(3, scene_blocks // 3)
