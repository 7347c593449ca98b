"""Dense, sparse and hybrid attention side by side: the same tensors, one process, interleaved.

Only ratios of rivals that ran in turns count: a machine's speed drifts by more than they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from worldattention.core.config import AttentionConfig
from worldattention.core.evaluation.rivals import Dense, dense_rivals, flex_rival
from worldattention.core.evaluation.timing import interleaved_ms, surroundings
from worldattention.core.hsa import AttentionWindow, HSAParameters, attend, build_window, update_tail
from worldattention.kernels import ops
from worldattention.kernels.testing import attention_inputs


@dataclass(frozen=True, slots=True)
class AttentionSample:
    """What one layer attended with."""

    q: Tensor
    """[B, Lq, H, D], rotated."""
    window: AttentionWindow
    parameters: HSAParameters | None
    """None for a model without HSA parameters: the hybrid is then not measured."""


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """Shape of made-up samples; by default the pocket world with its whole budget of memory."""

    frame_tokens: int = 128
    memory_frames: int = 32
    block_frames: int = 3
    heads: int = 6
    channels: int = 64


def made_up_sample(
    shape: AttentionShape,
    block: int,
    device: torch.device | str = "cpu",
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> AttentionSample:
    """A sample of random blocks with structure, made on `device`, the heads from diffuse to focused."""
    current, context = (frames * shape.frame_tokens for frames in (shape.block_frames, shape.memory_frames))
    q, k, v = attention_inputs(
        current,
        context + current,
        heads=shape.heads,
        channels=shape.channels,
        block=block,
        structure=0.75,
        dtype=dtype,
        generator=torch.Generator(device).manual_seed(seed),
    )
    parameters = HSAParameters(shape.frame_tokens, shape.channels).to(device, dtype).requires_grad_(False)
    window = build_window(k, v, context, parameters, block)
    update_tail(window, k[:, context:].clone(), v[:, context:].clone(), parameters)
    return AttentionSample(q, window, parameters)


def benchmark_attention(
    dtype: torch.dtype,
    samples: Sequence[AttentionSample] | None = None,
    config: AttentionConfig | None = None,
    *,
    forced_density: float = 0.3,
    repeats: int = 20,
) -> dict[str, Any]:
    """Time dense attention, the sparse branch and the whole hybrid at two densities.

    `dense` is torch's SDPA over the whole window. `sparse` is the sparse branch with its selection
    given; `routing` is pooling and selection; `hsa` is everything that a pass does: pooling, routing,
    sparse and linear branch, gate. Times are medians over `repeats` of the sum over samples.

    Args:
        samples: tensors taken from a model, in any dtype; by default one made-up sample.
        config: `block` must be that of the windows.
        forced_density: the second density; the first is what tau selects.

    Returns:
        A record for JSON: where it ran, shapes, `dense_ms`, and under `tau` and `forced` each
        `density`, `sparse_ms`, `routing_ms`, `hsa_ms` (None without HSA parameters),
        `sparse_speedup` and `hsa_speedup` over dense.
    """
    config = config or AttentionConfig()
    if samples is None:
        samples = [made_up_sample(AttentionShape(), config.block)]
    cases = [_cast(sample, dtype) for sample in samples]
    with torch.inference_mode():
        settings = {
            "tau": replace(config, density=None),
            "forced": replace(config, density=forced_density),
        }
        rivals: dict[str, Callable[[], object]] = {"dense": lambda: _dense(cases)}
        others = dense_rivals(cases[0].q.device, dtype)
        rivals |= {name: partial(_each, other, cases) for name, other in others.items()}
        for name, setting in settings.items():
            rivals |= {f"{name} {part}": rival for part, rival in _rivals(cases, setting).items()}
        times = interleaved_ms(rivals, repeats, cases[0].q.device)
        record = where_and_what(cases[0], dtype, len(cases), repeats)
        record["dense_ms"] = times["dense"]
        record["rivals_ms"] = {name: times[name] for name in others}
        for name, setting in settings.items():
            record[name] = _summary(times, name, _density(cases, setting))
    return record


def _cast(sample: AttentionSample, dtype: torch.dtype) -> AttentionSample:
    """The sample in `dtype`, with a window of its own."""
    window, parameters = sample.window, sample.parameters
    if parameters is not None:
        cast = HSAParameters(parameters.segment, sample.q.shape[-1]).to(sample.q.device)
        cast.load_state_dict(parameters.state_dict())
        parameters = cast.to(dtype).requires_grad_(False)
    keys, values = window.keys.to(dtype, copy=True), window.values.to(dtype, copy=True)
    copy = build_window(keys, values, window.context_tokens, parameters, window.block)
    tail = slice(window.context_tokens, None)
    update_tail(copy, keys[:, tail].clone(), values[:, tail].clone(), parameters)
    return AttentionSample(sample.q.to(dtype), copy, parameters)


def _route(case: AttentionSample, config: AttentionConfig) -> ops.Routing:
    pooled = ops.block_means(case.q, case.window.block)
    return ops.route(pooled, case.window.pooled, config.tau_min, config.tau_max, config.density)


def _dense(cases: list[AttentionSample]) -> None:
    for case in cases:
        ops.dense_attention(case.q, case.window.keys, case.window.values)


def _each(other: Dense, cases: list[AttentionSample]) -> None:
    for case in cases:
        other(case.q, case.window.keys, case.window.values)


def _rivals(cases: list[AttentionSample], config: AttentionConfig) -> dict[str, Callable[[], object]]:
    """The rivals of dense attention under one setting."""
    routings = [_route(case, config) for case in cases]

    def sparse() -> None:
        for case, routing in zip(cases, routings, strict=True):
            window = case.window
            ops.sparse_attention(
                case.q,
                window.keys,
                window.values,
                routing.selected,
                window.block,
                routing.lists,
                config.kernels,
            )

    def routing() -> None:
        for case in cases:
            _route(case, config)

    def hsa() -> None:
        for case in cases:
            attend(case.q, case.window, case.parameters, config, "hsa")

    rivals: dict[str, Callable[[], object]] = {"sparse": sparse, "routing": routing}
    flex = [
        flex_rival(case.q, case.window.keys, case.window.values, routing.selected, case.window.block)
        for case, routing in zip(cases, routings, strict=True)
    ]
    if all(flex):
        rivals["flex"] = lambda: [run() for run in flex if run is not None]
    return rivals if any(case.parameters is None for case in cases) else {**rivals, "hsa": hsa}


def _density(cases: list[AttentionSample], config: AttentionConfig) -> float:
    return torch.stack([_route(case, config).density for case in cases]).mean().item()


def _summary(times: dict[str, float], name: str, density: float) -> dict[str, float | None]:
    """Times and ratios of one setting."""
    dense, sparse, hsa = times["dense"], times[f"{name} sparse"], times.get(f"{name} hsa")
    return {
        "density": density,
        "sparse_ms": sparse,
        "routing_ms": times[f"{name} routing"],
        "hsa_ms": hsa,
        "sparse_speedup": dense / sparse,
        "hsa_speedup": None if hsa is None else dense / hsa,
        "flex_ms": times.get(f"{name} flex"),
    }


def where_and_what(case: AttentionSample, dtype: torch.dtype, count: int, repeats: int) -> dict[str, Any]:
    """Where and what was measured: device, versions, backends, sizes."""
    _, q_tokens, heads, channels = case.q.shape
    return {
        "dtype": str(dtype).removeprefix("torch."),
        **surroundings(case.q.device),
        "backends": {
            choice.op: choice.backend for choice in ops.explain(case=ops.Case.of(case.q, case.window.block))
        },
        "q_tokens": q_tokens,
        "k_tokens": case.window.keys.shape[1],
        "heads": heads,
        "channels": channels,
        "block": case.window.block,
        "samples": count,
        "repeats": repeats,
    }
