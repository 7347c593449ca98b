"""Hybrid sparse attention over a whole training sequence, differentiable and without host syncs.

Many blocks are trained at once: each latent frame of the sequence asks only the frames that a mask
lets it see, as if those were its window. What `core.hsa.attend` does for one window is repeated here
for every query frame, so that a model attends in training as it will when it generates.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from worldattention.kernels.reference.gate import gated_sum
from worldattention.kernels.reference.linear import coarse_rows
from worldattention.kernels.reference.routing import Routing
from worldattention.kernels.reference.sparse import masked_attention


class Projections(NamedTuple):
    """The learnt parts, shared by heads (DESIGN section 3)."""

    k_proj: Tensor
    """E_K, [rank, T] for T tokens a latent frame."""
    v_proj: Tensor
    """E_V, [rank, T]."""
    gate_weight: Tensor
    """W, [D, D]."""
    gate_bias: Tensor
    """b, [D]."""


class RoutingRule(NamedTuple):
    """How blocks are chosen (DESIGN section 3)."""

    block: int = 128
    """Tokens of a routing block; divides the tokens of a latent frame."""
    tau_min: float = 0.35
    tau_max: float = 1.0
    density: float | None = None
    """Share of the visible blocks to keep; None lets the threshold decide."""
    block_frames: int = 3
    """Consecutive frames that are generated together: their Gini is averaged, as in a window."""


def hsa_training_attention(
    q: Tensor, k: Tensor, v: Tensor, visible: Tensor, projections: Projections, rule: RoutingRule
) -> Tensor:
    """sparse + sigmoid(W q + b) * linear, every query frame over its visible frames only.

    The selection is not differentiated; gradients flow through q, k, v, E, W and b. Each sample has
    its own thresholds, since samples are worlds of their own.

    Args:
        q, k, v: [B, F * T, H, D], q and k rotated.
        visible: [B, F, F] bool, rows are query frames; every frame must see at least one.

    Returns:
        [B, F * T, H, D].

    Raises:
        ValueError: shapes that do not fit each other.
    """
    tokens, frames = projections.k_proj.shape[1], visible.shape[-1]
    if q.shape[1] != frames * tokens or tokens % rule.block or frames % rule.block_frames:
        raise ValueError(
            f"{q.shape[1]} tokens, {frames} frames of {tokens}, blocks of {rule.block} tokens and "
            f"{rule.block_frames} frames do not fit each other"
        )
    routing = route_visible(q, k, visible, rule)
    attend = _flex_attention if q.is_cuda else masked_attention
    sparse = attend(q, k, v, routing.selected, rule.block)
    linear = _visible_linear(q, k, v, visible, projections)
    return gated_sum(q, sparse, linear, projections.gate_weight, projections.gate_bias)


@torch.no_grad()
def route_visible(q: Tensor, k: Tensor, visible: Tensor, rule: RoutingRule) -> Routing:
    """Route every query block over its visible key blocks.

    For a row with N visible blocks, Gini and selection are those of a window of these N blocks.

    Args:
        q, k: [B, F * T, H, D], rotated.
        visible: [B, F, F] bool.

    Returns:
        selected [B, H, N, N] for N = F * T / block; gini, threshold and density [H] are means over
        samples and query blocks, density being the share of the visible blocks.
    """
    blocks = q.shape[1] // rule.block
    per_frame = blocks // visible.shape[-1]
    seen = visible.repeat_interleave(per_frame, 1).repeat_interleave(per_frame, 2)[:, None]
    count = seen.sum(dim=-1, keepdim=True)
    pooled_q, pooled_k = (_block_means(x, blocks).transpose(1, 2) for x in (q, k))
    logits = pooled_q @ pooled_k.transpose(2, 3) * q.shape[-1] ** -0.5
    probabilities = logits.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    # Invisible blocks sort behind a visible one whose mass underflowed to zero.
    mass, order = torch.sort(probabilities.masked_fill(~seen, -1.0), dim=-1, descending=True, stable=True)
    mass = mass.clamp_min(0.0)
    ranks = torch.arange(blocks, device=q.device)
    row_gini = ((count - 1 - 2 * ranks) * mass).sum(dim=-1, keepdim=True) / count
    together = row_gini.unflatten(2, (-1, per_frame * rule.block_frames))
    gini = together.mean(dim=3, keepdim=True).expand_as(together).flatten(2, 3)
    threshold = rule.tau_min + gini * (rule.tau_max - rule.tau_min)
    if rule.density is None:
        keep = mass.cumsum(dim=-1) - mass < threshold
    else:
        keep = ranks < torch.ceil(rule.density * count.double() - 1e-6).clamp_min(1.0)
    keep = (keep & (ranks < count)).expand_as(mass)
    selected = torch.zeros_like(keep).scatter(-1, order, keep)
    density = (selected.sum(dim=-1, keepdim=True) / count).mean(dim=(0, 2, 3))
    return Routing(selected, gini.mean(dim=(0, 2, 3)), threshold.mean(dim=(0, 2, 3)), density)


def _block_means(x: Tensor, blocks: int) -> Tensor:
    """[B, N, H, D] fp32; written so that a compiler can trace it."""
    batch, _, heads, channels = x.shape
    return x.reshape(batch, blocks, -1, heads, channels).mean(dim=2, dtype=torch.float32)


def _visible_linear(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, projections: Projections) -> Tensor:
    """The linear branch over the coarse rows of visible frames, [B, F * T, H, D]."""
    rank, tokens = projections.k_proj.shape
    coarse_k = coarse_rows(k, projections.k_proj).transpose(1, 2)
    coarse_v = coarse_rows(v, projections.v_proj).transpose(1, 2)
    mask = visible.repeat_interleave(tokens, 1).repeat_interleave(rank, 2)[:, None]
    return F.scaled_dot_product_attention(q.transpose(1, 2), coarse_k, coarse_v, mask).transpose(1, 2)


def _flex_attention(q: Tensor, k: Tensor, v: Tensor, selected: Tensor, block: int) -> Tensor:
    """`masked_attention` by FlexAttention, which skips unselected blocks when it is compiled."""
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    # argsort(stable=True) failed on CUDA in torch 2.11; sort does not.
    order = torch.sort(selected.to(torch.int32), dim=-1, descending=True, stable=True).indices
    mask = BlockMask.from_kv_blocks(
        selected.sum(dim=-1, dtype=torch.int32),
        order.to(torch.int32),
        BLOCK_SIZE=block,
        seq_lengths=(q.shape[1], k.shape[1]),
    )
    out = flex_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), block_mask=mask)
    return out.transpose(1, 2)
