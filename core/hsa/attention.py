"""Attention of the current block over its window, in one of four modes."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from worldattention.core.config import ATTENTION_MODES, AttentionConfig, AttentionMode, check_choice
from worldattention.core.errors import UserError
from worldattention.core.hsa.parameters import HSAParameters
from worldattention.core.hsa.window import AttentionWindow
from worldattention.kernels import ops


@dataclass(frozen=True, slots=True)
class HeadStatistics:
    """What routing saw and did, per head; tensors, so that reading them is the caller's choice."""

    gini: Tensor
    """[H]; NaN where routing did not run."""
    threshold: Tensor
    """[H], tau_h; NaN where routing did not run."""
    density: Tensor
    """[H], share of the key blocks that were read at full resolution."""


def attend(
    q: Tensor,
    window: AttentionWindow,
    parameters: HSAParameters | None,
    config: AttentionConfig,
    mode: AttentionMode,
) -> tuple[Tensor, HeadStatistics]:
    """Attention of the current block's queries over the window.

    `hsa` is the sparse branch plus the gated linear branch, `sparse` and `linear` are one branch
    alone, `dense` reads everything in the place of the sparse branch; the linear branch stays where the
    model was trained with it. `dense` and `linear` do not route, so their Gini and threshold
    are NaN unless `config.statistics` asks for them.

    Args:
        q: [B, Lq, H, D], rotated.

    Returns:
        [B, Lq, H, D] and the statistics.

    Raises:
        UserError: an unknown mode, or `hsa` or `linear` without HSA parameters.
    """
    check_choice("attention", mode, ATTENTION_MODES)
    if mode == "dense":
        out = ops.dense_attention(q, window.keys, window.values)
        if parameters is not None and parameters.joint:
            out = _add_linear_branch(q, out, window, parameters, config)
        return out, _unrouted(q, window, config, density=1.0)
    if mode == "linear":
        coarse_keys, coarse_values, _ = _linear_parts(window, parameters, mode)
        out = ops.linear_attention(q, coarse_keys, coarse_values)
        return out, _unrouted(q, window, config, density=0.0)
    routing = _route(q, window, config)
    out = ops.sparse_attention(
        q, window.keys, window.values, routing.selected, window.block, routing.lists, config.kernels
    )
    if mode == "hsa":
        out = _add_linear_branch(q, out, window, parameters, config)
    return out, HeadStatistics(routing.gini, routing.threshold, routing.density)


def _add_linear_branch(
    q: Tensor, out: Tensor, window: AttentionWindow, parameters: HSAParameters | None, config: AttentionConfig
) -> Tensor:
    coarse_keys, coarse_values, gate = _linear_parts(window, parameters, "hsa")
    return ops.add_linear_branch(q, out, coarse_keys, coarse_values, gate.weight, gate.bias, config.kernels)


def _linear_parts(
    window: AttentionWindow, parameters: HSAParameters | None, mode: str
) -> tuple[Tensor, Tensor, nn.Linear]:
    """Coarse keys and values [B, R, H, D], and the gate that fuses the linear branch."""
    if parameters is None or window.coarse_keys is None or window.coarse_values is None:
        raise UserError(
            f"This model has no HSA parameters, so attention '{mode}' cannot run: "
            "choose sparse or dense, or calibrate the model first."
        )
    return window.coarse_keys, window.coarse_values, parameters.gate


def _route(q: Tensor, window: AttentionWindow, config: AttentionConfig) -> ops.Routing:
    pooled_q = ops.block_means(q, window.block, use=config.kernels)
    return ops.route(pooled_q, window.pooled, config.tau_min, config.tau_max, config.density, config.kernels)


def _unrouted(q: Tensor, window: AttentionWindow, config: AttentionConfig, density: float) -> HeadStatistics:
    heads = q.shape[2]
    shares = torch.full((heads,), density, device=q.device)
    if not config.statistics:
        unknown = torch.full((heads,), torch.nan, device=q.device)
        return HeadStatistics(unknown, unknown, shares)
    routing = _route(q, window, config)
    return HeadStatistics(routing.gini, routing.threshold, shares)
