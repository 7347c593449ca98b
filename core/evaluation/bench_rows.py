"""Attention at the sizes of Wan2.1-1.3B: rows of one table, each against rivals that ran in turns with it.

Several sets of inputs take turns too, so that no cache holds what the next call reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from worldattention.core.config import AttentionConfig
from worldattention.core.evaluation.bench_attention import (
    AttentionSample,
    AttentionShape,
    made_up_sample,
    where_and_what,
)
from worldattention.core.evaluation.rivals import Dense, dense_rivals, flex_rival
from worldattention.core.evaluation.timing import interleaved_ms
from worldattention.core.hsa import attend
from worldattention.kernels import ops

SETS = 3
"""Sets of inputs that take turns: one alone is 300 MB at these sizes."""
Call = Callable[[AttentionSample], object]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Queries of the last frames over a window of frames."""

    query_frames: int
    window_frames: int
    block: int
    densities: tuple[float | None, ...]
    """Shares of the blocks that are kept; None is what tau selects."""


GEOMETRIES = (
    Geometry(3, 32, 128, (0.05, 0.1, 0.3, None)),
    Geometry(21, 32, 128, (0.05,)),
    Geometry(3, 32, 64, (0.05, 0.1)),
)


def benchmark_rows(
    shape: AttentionShape,
    geometries: Iterable[Geometry],
    dtype: torch.dtype,
    device: torch.device,
    config: AttentionConfig | None = None,
    *,
    repeats: int = 20,
    seed: int = 0,
    sets: int = SETS,
) -> dict[str, Any]:
    """Time dense attention and each part of the hybrid; medians in milliseconds of one call.

    Returns:
        A record for JSON: where it ran, and `rows`, each with its sizes, `block`, `density` as measured,
        `dense_ms` by rival, `flex_ms`, the times of `parts` (routing with its pooling, sparse, linear, gate), `hsa_ms`,
        the parts' `shares` of their sum, and `sparse_speedup` and `hsa_speedup` over `against`.
    """
    record: dict[str, Any] = {"rows": []}
    with torch.inference_mode():
        for geometry in geometries:
            record["rows"] += _rows(shape, geometry, dtype, device, config, repeats, seed, sets, record)
    return record


def _rows(
    shape: AttentionShape,
    geometry: Geometry,
    dtype: torch.dtype,
    device: torch.device,
    config: AttentionConfig | None,
    repeats: int,
    seed: int,
    sets: int,
    record: dict[str, Any],
) -> list[dict[str, Any]]:
    frames = geometry.window_frames - geometry.query_frames
    sized = replace(shape, memory_frames=frames, block_frames=geometry.query_frames)
    block = geometry.block
    samples = [made_up_sample(sized, block, device, seed + number, dtype) for number in range(sets)]
    setting = replace(config or AttentionConfig(), block=block)
    rivals = _dense(samples, device, dtype)
    dense = list(rivals)
    densities = {}
    for asked in geometry.densities:
        chosen = replace(setting, density=asked)
        parts, densities[asked] = _parts(samples, chosen)
        rivals |= {f"{asked} {name}": rival for name, rival in parts.items()}
    times = {name: time / sets for name, time in interleaved_ms(rivals, repeats, device).items()}
    record |= where_and_what(samples[0], dtype, sets, repeats) | record
    return [
        _row(samples[0], asked, density, {name: times[name] for name in dense}, times)
        for asked, density in densities.items()
    ]


def _dense(
    samples: Sequence[AttentionSample], device: torch.device, dtype: torch.dtype
) -> dict[str, Callable[[], object]]:
    others = dense_rivals(device, dtype) or {"torch": ops.dense_attention}
    return {name: _over(samples, partial(_attend_densely, other)) for name, other in others.items()}


def _attend_densely(run: Dense, sample: AttentionSample) -> object:
    return run(sample.q, sample.window.keys, sample.window.values)


def _over(samples: Sequence[AttentionSample], call: Call) -> Callable[[], object]:
    """One call a sample; results are dropped at once, so that they share memory."""

    def run() -> None:
        for sample in samples:
            call(sample)

    return run


def _route(sample: AttentionSample, config: AttentionConfig) -> ops.Routing:
    pooled = ops.block_means(sample.q, config.block, use=config.kernels)
    thresholds = config.tau_min, config.tau_max
    return ops.route(pooled, sample.window.pooled, *thresholds, config.density, config.kernels)


def _parts(
    samples: Sequence[AttentionSample], config: AttentionConfig
) -> tuple[dict[str, Callable[[], object]], float]:
    """The hybrid and its parts under one setting, and the density that was selected."""
    routed = {id(sample): _route(sample, config) for sample in samples}

    def sparse(sample: AttentionSample) -> Tensor:
        window, routing = sample.window, routed[id(sample)]
        return ops.sparse_attention(
            sample.q,
            window.keys,
            window.values,
            routing.selected,
            config.block,
            routing.lists,
            config.kernels,
        )

    attended = {id(sample): sparse(sample) for sample in samples}

    def linear(sample: AttentionSample) -> object:
        keys, values = sample.window.coarse_keys, sample.window.coarse_values
        assert keys is not None
        assert values is not None
        return ops.linear_attention(sample.q, keys, values)

    def both(sample: AttentionSample) -> object:
        window, parameters = sample.window, sample.parameters
        assert parameters is not None
        assert window.coarse_keys is not None
        assert window.coarse_values is not None
        coarse, gate = (window.coarse_keys, window.coarse_values), parameters.gate
        return ops.add_linear_branch(
            sample.q, attended[id(sample)], *coarse, gate.weight, gate.bias, config.kernels
        )

    calls: dict[str, Call] = {
        "routing": lambda sample: _route(sample, config),
        "sparse": sparse,
        "linear alone": linear,
        "linear and gate": both,
        "hsa": lambda sample: attend(sample.q, sample.window, sample.parameters, config, "hsa"),
    }
    rivals = {name: _over(samples, call) for name, call in calls.items()}
    flex = [
        flex_rival(s.q, s.window.keys, s.window.values, routed[id(s)].selected, config.block) for s in samples
    ]
    if all(flex):
        rivals["flex"] = lambda: [run() for run in flex if run is not None]
    density = torch.stack([routing.density for routing in routed.values()]).mean().item()
    return rivals, density


def _row(
    sample: AttentionSample,
    asked: float | None,
    density: float,
    dense_ms: dict[str, float],
    times: dict[str, float],
) -> dict[str, Any]:
    routing, sparse, both, hsa = (
        times[f"{asked} {name}"] for name in ("routing", "sparse", "linear and gate", "hsa")
    )
    against = next(iter(dense_ms))
    parts = {"routing": routing, "sparse": sparse, "linear and gate": both}
    return {
        "q_tokens": sample.q.shape[1],
        "k_tokens": sample.window.keys.shape[1],
        "block": sample.window.block,
        "asked_density": asked,
        "density": density,
        "dense_ms": dense_ms,
        "flex_ms": times.get(f"{asked} flex"),
        "parts_ms": {**parts, "linear alone": times[f"{asked} linear alone"]},
        "shares": {name: part / sum(parts.values()) for name, part in parts.items()},
        "hsa_ms": hsa,
        "against": against,
        "sparse_speedup": dense_ms[against] / sparse,
        "hsa_speedup": dense_ms[against] / hsa,
    }


def table(record: dict[str, Any]) -> list[str]:
    """The rows for people."""
    lines = [
        f"{record['heads']} heads of {record['channels']}, {record['dtype']}, on {record['device']} "
        f"(torch {record['torch']}, triton {record['triton']}, cuDNN {record['cudnn']}), milliseconds",
        "",
        "| queries | keys | block | density | dense | flex | routing | sparse | linear and gate | hybrid "
        "| dense / sparse | dense / hybrid |",
        "|---" * 12 + "|",
    ]
    for row in record["rows"]:
        dense = ", ".join(f"{name} {ms:.3f}" for name, ms in row["dense_ms"].items())
        parts = row["parts_ms"]
        flex = "" if row["flex_ms"] is None else f"{row['flex_ms']:.3f}"
        cells = [
            *(str(row[name]) for name in ("q_tokens", "k_tokens", "block")),
            f"{row['density']:.4f}" + ("" if row["asked_density"] else " (tau)"),
            dense,
            flex,
            *(f"{parts[name]:.4f}" for name in ("routing", "sparse", "linear and gate")),
            f"{row['hsa_ms']:.4f}",
            f"{row['sparse_speedup']:.2f}",
            f"{row['hsa_speedup']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
