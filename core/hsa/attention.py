"""Attention of the current block over its window, in one of four modes."""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.hsa.parameters import HSAParameters
from worldattention.core.hsa.window import AttentionWindow
from worldattention.kernels import ops

AttentionMode = Literal["hsa", "dense", "linear", "sparse"]


class AttentionSettings(Protocol):
    """What `attend` reads of the configuration."""

    @property
    def block(self) -> int: ...

    @property
    def tau_min(self) -> float: ...

    @property
    def tau_max(self) -> float: ...

    @property
    def density(self) -> float | None: ...

    @property
    def statistics(self) -> bool: ...


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
    config: AttentionSettings,
    mode: AttentionMode,
) -> tuple[Tensor, HeadStatistics]:
    """Attention of the current block's queries over the window.

    `hsa` is the sparse branch plus the gated linear branch, `sparse` and `linear` are one branch
    alone, `dense` reads everything. `dense` and `linear` do not route, so their Gini and threshold
    are NaN unless `config.statistics` asks for them.

    Args:
        q: [B, Lq, H, D], rotated.

    Returns:
        [B, Lq, H, D] and the statistics.

    Raises:
        UserError: `hsa` or `linear` without HSA parameters.
    """
    if mode == "dense":
        out = ops.dense_attention(q, window.keys, window.values)
        return out, _unrouted(q, window, config, density=1.0)
    if mode == "linear":
        _require(parameters, window, mode)
        return _linear(q, window), _unrouted(q, window, config, density=0.0)
    if mode not in ("hsa", "sparse"):
        raise UserError(f"Attention must be one of hsa, dense, linear, sparse, not {mode!r}.")
    routing = _route(q, window, config)
    out = ops.sparse_attention(q, window.keys, window.values, routing.selected, window.block)
    if mode == "hsa":
        gate = _require(parameters, window, mode).gate
        out = ops.gated_sum(q, out, _linear(q, window), gate.weight, gate.bias)
    return out, HeadStatistics(routing.gini, routing.threshold, routing.density)


def _require(parameters: HSAParameters | None, window: AttentionWindow, mode: str) -> HSAParameters:
    if parameters is None or window.coarse_keys is None:
        raise UserError(
            f"This model has no HSA parameters, so it cannot run with attention {mode!r}: "
            "choose sparse or dense, or calibrate the model first."
        )
    return parameters


def _linear(q: Tensor, window: AttentionWindow) -> Tensor:
    assert window.coarse_keys is not None and window.coarse_values is not None
    return ops.linear_attention(q, window.coarse_keys, window.coarse_values)


def _route(q: Tensor, window: AttentionWindow, config: AttentionSettings) -> ops.Routing:
    pooled_q = ops.block_means(q, window.block)
    return ops.route(pooled_q, window.pooled, config.tau_min, config.tau_max, config.density)


def _unrouted(
    q: Tensor, window: AttentionWindow, config: AttentionSettings, density: float
) -> HeadStatistics:
    heads = q.shape[2]
    shares = torch.full((heads,), density, device=q.device)
    if not config.statistics:
        unknown = torch.full((heads,), torch.nan, device=q.device)
        return HeadStatistics(unknown, unknown, shares)
    routing = _route(q, window, config)
    return HeadStatistics(routing.gini, routing.threshold, shares)
