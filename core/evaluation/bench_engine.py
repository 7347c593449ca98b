"""Whole blocks through the real engine, rung by rung, in turns; and where the time of a pass goes.

The ladder: a dense sliding window, then recall (HKV), then hybrid sparse attention (HSA), then our kernels. All
rungs run in one process over one model, block after block in turns, on equal histories of prompts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from worldattention.core.config import EngineConfig, RetrievalPolicy
from worldattention.core.engine import Engine
from worldattention.core.evaluation.bench_attention import AttentionSample
from worldattention.core.evaluation.bench_block import part_times
from worldattention.core.evaluation.timing import surroundings
from worldattention.core.models.world import WorldModel
from worldattention.core.telemetry import BlockTelemetry
from worldattention.kernels.uses import Use

SCENES = (
    "A man in a red shirt throws and catches a red ball in a village street on a bright day.",
    "A woman in a yellow shirt flies a kite on the beach at sunset.",
)
Progress = Callable[[int, int, str], None]


def rungs(config: EngineConfig) -> dict[str, EngineConfig]:
    """The ladder's configurations, in order. Kernels off is torch; on is the best that runs here."""

    def rung(mode: str, retrieval: RetrievalPolicy, kernels: Use) -> EngineConfig:
        attention = replace(config.attention, mode=mode, kernels=kernels, statistics=True)  # type: ignore[arg-type]
        return replace(config, attention=attention, cache=replace(config.cache, retrieval=retrieval))

    return {
        "dense window": rung("dense", "none", "torch"),
        "+ HKV": rung("dense", "hkv", "torch"),
        "+ HSA": rung("hsa", "hkv", "torch"),
        "+ kernels": rung("hsa", "hkv", "auto"),
    }


def benchmark_engine(
    model: WorldModel,
    config: EngineConfig,
    blocks: int,
    scene_blocks: int = 14,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Time `blocks` blocks of every rung after a return to the first scene.

    Each world shows two scenes of `scene_blocks` blocks and comes back to the first: that block recalls pages and is
    reported by itself, the ones behind it are timed.

    Returns:
        A record for JSON: where and what, and under `rungs` by name `ms` (median of a block), `fps`, `over_first`,
        `recall_ms`, `stage_ms` (medians), `density`, `backend`; under `parts` times of one layer's parts.

    Raises:
        Cancelled: `cancel` said so.
    """
    engines = {name: Engine(model, rung) for name, rung in rungs(config).items()}
    samples: list[AttentionSample] = []
    total, done = len(engines) * (2 * scene_blocks + 1 + blocks), 0
    records: dict[str, list[BlockTelemetry]] = {name: [] for name in engines}
    script = [SCENES[0]] * scene_blocks + [SCENES[1]] * scene_blocks + [SCENES[0]] * (1 + blocks)
    try:
        for index, prompt in enumerate(script):
            for name, engine in engines.items():
                if progress is not None:
                    progress(done, total, name)
                done += 1
                telemetry = engine.step(prompt, cancel).telemetry
                if index >= 2 * scene_blocks:
                    records[name].append(telemetry)
        samples = _samples(engines["+ kernels"], SCENES[0])
        parts = part_times(model, samples[len(samples) // 2], rungs(config)["+ kernels"].attention)
    finally:
        for engine in engines.values():
            engine.close()
    first = _median([telemetry.stage_ms["total"] for telemetry in records["dense window"][1:]])
    return {
        **_what(model, config),
        "blocks": blocks,
        "rungs": {name: _summary(rung, first) for name, rung in records.items()},
        "parts": parts,
    }


def benchmark_block(
    model: WorldModel,
    config: EngineConfig,
    repeats: int,
    scene_blocks: int = 14,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Time the parts of one transformer block, on what its layer attends with in a world that recalled pages.

    Raises:
        Cancelled: `cancel` said so.
    """
    rung = rungs(config)["+ kernels"]
    engine = Engine(model, rung)
    script = [SCENES[0]] * scene_blocks + [SCENES[1]] * scene_blocks
    try:
        for index, prompt in enumerate(script):
            if progress is not None:
                progress(index, len(script), "history")
            engine.step(prompt, cancel)
        samples = _samples(engine, SCENES[0])
        parts = part_times(model, samples[len(samples) // 2], rung.attention, repeats)
    finally:
        engine.close()
    return {**_what(model, config), "parts": parts}


def _what(model: WorldModel, config: EngineConfig) -> dict[str, Any]:
    """Where and what is measured."""
    sizes = model.geometry
    return {
        **surroundings(model.device),
        "model": model.name,
        "dtype": str(model.dtype).removeprefix("torch."),
        "block": config.attention.block,
        "asked_density": config.attention.density,
        "layers": model.layers,
        "heads": model.heads,
        "channels": model.head_dim,
        "frame_tokens": sizes.frame_tokens,
        "window_frames": config.cache.budget_frames + sizes.block_latents,
        "graphs": config.graphs and model.device.type == "cuda",
    }


def _samples(engine: Engine, prompt: str) -> list[AttentionSample]:
    """What every layer attended with in one more block."""
    samples: dict[int, AttentionSample] = {}
    engine.attention_observer = lambda layer, q, window, parameters: samples.update(
        {layer: AttentionSample(q, window, parameters)}
    )
    engine.step(prompt)
    engine.attention_observer = None
    return [samples[layer] for layer in sorted(samples)]


def _summary(records: list[BlockTelemetry], first_ms: float) -> dict[str, Any]:
    """Of the block that recalled, and medians of those behind it."""
    recalling, *later = records
    milliseconds = _median([telemetry.stage_ms["total"] for telemetry in later])
    return {
        "ms": milliseconds,
        "fps": 1000.0 * later[0].frames / milliseconds,
        "over_first": first_ms / milliseconds,
        "recall_ms": recalling.stage_ms["total"],
        "recall_stage_ms": recalling.stage_ms,
        "recalled_pages": sum(span.kind == "page" for span in recalling.window),
        "stage_ms": {
            stage: _median([telemetry.stage_ms[stage] for telemetry in later]) for stage in later[0].stage_ms
        },
        "density": float(later[-1].density.mean()),
        "backend": later[-1].backend,
    }


def _median(values: list[float]) -> float:
    return round(statistics.median(values), 3)
