"""One layer's attention window: what queries of the current block can read.

Tokens before `context_tokens` stand still for a whole block of passes: their pooled and coarse rows
are computed once (`refresh_context`). The current block lies last and is rewritten by every pass
(`update_tail`). Nothing is concatenated or cloned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from worldattention.core.hsa.parameters import HSAParameters
from worldattention.kernels import ops
from worldattention.kernels.reference.pool import block_count


@dataclass(slots=True)
class AttentionWindow:
    """Rotated keys and values of one layer, current block last."""

    keys: Tensor
    """[B, L, H, D], rotated, contiguous."""
    values: Tensor
    """[B, L, H, D]."""
    pooled: Tensor
    """[B, ceil(L / block), H, D] fp32, block means of `keys`."""
    coarse_keys: Tensor | None
    """[B, R, H, D], or None without HSA parameters."""
    coarse_values: Tensor | None
    """[B, R, H, D], or None without HSA parameters."""
    context_tokens: int
    """Tokens before the current block."""
    block: int
    """Tokens of a routing block."""

    def twin(self) -> AttentionWindow:
        """Another one over the same keys and values, with pooled and coarse rows of its own."""
        keys, values = (None if x is None else x.clone() for x in (self.coarse_keys, self.coarse_values))
        return replace(self, pooled=self.pooled.clone(), coarse_keys=keys, coarse_values=values)

    def adopt(self, other: AttentionWindow) -> None:
        """Take over the pooled and coarse rows of another one over the same keys and values."""
        for name in ("pooled", "coarse_keys", "coarse_values"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is not None:
                mine.copy_(theirs)


def side_by_side(windows: Sequence[AttentionWindow]) -> AttentionWindow:
    """One window whose heads are those of several alike, [B, L, N * H, D]: a copy.

    All that attention does is done for each head by itself, with weights that heads share, so that worlds which
    lie side by side do not see one another.
    """

    def joined(name: str) -> Any:
        parts = [getattr(window, name) for window in windows]
        return None if parts[0] is None else torch.cat(parts, 2)

    fields = ("keys", "values", "pooled", "coarse_keys", "coarse_values")
    return replace(windows[0], **{name: joined(name) for name in fields})


def build_window(
    keys: Tensor,
    values: Tensor,
    context_tokens: int,
    parameters: HSAParameters | None,
    block: int,
) -> AttentionWindow:
    """A window over `keys` and `values` [B, L, H, D], which are kept, not copied.

    The context must be in place; the last L - context_tokens tokens may hold anything, and stay
    undefined until the first `update_tail`.

    Args:
        parameters: None for a model without HSA parameters; `hsa` and `linear` are then refused.
    """
    batch, tokens, heads, channels = keys.shape
    pooled = keys.new_empty((batch, block_count(tokens, block), heads, channels), dtype=torch.float32)
    coarse_keys = coarse_values = None
    if parameters is not None:
        rows = tokens // parameters.segment * parameters.rank
        coarse_keys = keys.new_empty((batch, rows, heads, channels))
        coarse_values = torch.empty_like(coarse_keys)
    window = AttentionWindow(keys, values, pooled, coarse_keys, coarse_values, context_tokens, block)
    refresh_context(window, parameters)
    return window


def refresh_context(window: AttentionWindow, parameters: HSAParameters | None) -> None:
    """Recompute the pooled and coarse rows of the whole context, after its keys or values changed."""
    context = window.context_tokens
    if context == 0:
        return
    whole = context // window.block
    ops.block_means(window.keys[:, : whole * window.block], window.block, out=window.pooled[:, :whole])
    _write_coarse(window, 0, context, parameters)


def update_tail(
    window: AttentionWindow, keys: Tensor, values: Tensor, parameters: HSAParameters | None
) -> None:
    """Put the current block into the window, and renew the pooled and coarse rows that it touches.

    Args:
        keys, values: [B, L - context_tokens, H, D]; keys rotated.
    """
    context = window.context_tokens
    if keys.shape[1] != window.keys.shape[1] - context:
        raise ValueError(f"{keys.shape[1]} tokens do not fill the window's tail")
    window.keys[:, context:] = keys
    window.values[:, context:] = values
    # A block across the border holds context tokens too, so its mean is taken from the window.
    first = context // window.block
    ops.block_means(window.keys[:, first * window.block :], window.block, out=window.pooled[:, first:])
    _write_coarse(window, context, window.keys.shape[1], parameters)


def _write_coarse(window: AttentionWindow, start: int, stop: int, parameters: HSAParameters | None) -> None:
    """Renew the coarse rows of the tokens from `start` to `stop`, both on borders of segments."""
    if parameters is None or window.coarse_keys is None or window.coarse_values is None:
        return
    rows = slice(*(edge // parameters.segment * parameters.rank for edge in (start, stop)))
    window.coarse_keys[:, rows] = ops.coarse_rows(window.keys[:, start:stop], parameters.k_proj)
    window.coarse_values[:, rows] = ops.coarse_rows(window.values[:, start:stop], parameters.v_proj)
