"""One transformer block, part by part: projections, copies, routing, sparse kernel, linear branch, feed-forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from worldattention.core.compiled import compiled, may_compile, rotate_pair
from worldattention.core.config import AttentionConfig
from worldattention.core.evaluation.bench_attention import AttentionSample
from worldattention.core.evaluation.timing import interleaved_ms
from worldattention.core.hsa import update_tail
from worldattention.core.models.transformer import after_attention, before_attention
from worldattention.core.models.world import WorldModel
from worldattention.kernels import ops

PARTS = (
    "projections",
    "rotation and copies",
    "routing",
    "sparse",
    "linear and gate",
    "prompt and feed-forward",
)


@torch.inference_mode()
def part_times(
    model: WorldModel, sample: AttentionSample, config: AttentionConfig, repeats: int = 10
) -> dict[str, Any]:
    """Milliseconds of each part of one layer, run in turns, and their shares of a pass through it.

    Args:
        sample: what a layer of the model attended with; its window's tail is written again with the same numbers.

    Returns:
        `ms` and `share` by part, `dense_ms` of dense attention over the same window, `density`.
    """
    parts, density = _parts(model, sample, config)
    window = sample.window
    rivals = {**parts, "dense": lambda: ops.dense_attention(sample.q, window.keys, window.values)}
    times = interleaved_ms(rivals, repeats, model.device)
    dense = times.pop("dense")
    total = sum(times.values())
    return {
        "ms": times,
        "share": {name: value / total for name, value in times.items()},
        "dense_ms": dense,
        "density": density,
        "q_tokens": sample.q.shape[1],
        "k_tokens": window.keys.shape[1],
    }


def _parts(
    model: WorldModel, sample: AttentionSample, config: AttentionConfig
) -> tuple[dict[str, Callable[[], object]], float]:
    q, window, parameters = sample.q, sample.window, sample.parameters
    transformer, layer = model.transformer, model.layers // 2
    block, eps = transformer.blocks[layer], transformer.config.eps
    hidden = torch.randn(1, q.shape[1], q.shape[2] * q.shape[3], device=model.device).to(model.dtype)
    modulation = transformer.time_embedding(torch.tensor([[500.0]], device=model.device)).blocks[layer]
    text = transformer.text_keys_values(model.text_encoder.encode("a").tokens.to(model.device)[None])[layer]
    tail = slice(window.context_tokens, None)
    keys, values = window.keys[:, tail].clone(), window.values[:, tail].clone()
    table = torch.ones(q.shape[1], q.shape[3] // 2, device=model.device)
    still = torch.zeros_like(table)

    def copies() -> None:
        _, turned = rotate_pair(q, keys, table, still)
        update_tail(window, turned, values, parameters)

    def route() -> ops.Routing:
        pooled = ops.block_means(q, window.block, use=config.kernels)
        return ops.route(
            pooled, window.pooled, config.tau_min, config.tau_max, config.density, config.kernels
        )

    routing = route()

    def sparse() -> torch.Tensor:
        return ops.sparse_attention(
            q, window.keys, window.values, routing.selected, window.block, routing.lists, config.kernels
        )

    attended = sparse()
    fused = may_compile(q)
    before = compiled(before_attention) if fused else before_attention
    after = compiled(after_attention) if fused else after_attention
    parts: dict[str, Callable[[], object]] = {
        "projections": lambda: before(block, hidden, modulation, eps),
        "rotation and copies": copies,
        "routing": route,
        "sparse": sparse,
    }
    if parameters is not None and window.coarse_keys is not None and window.coarse_values is not None:
        coarse, gate = (window.coarse_keys, window.coarse_values), parameters.gate
        parts["linear and gate"] = lambda: ops.add_linear_branch(
            q, attended, *coarse, gate.weight, gate.bias, config.kernels
        )
    parts["prompt and feed-forward"] = lambda: after(block, hidden, attended, modulation, text, None, eps)
    return parts, float(routing.density.mean())
