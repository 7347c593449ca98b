"""Gini routing: which key blocks each query block of each head reads (DESIGN section 3)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.kernels.reference.lists import BlockLists


@dataclass(frozen=True, slots=True)
class Routing:
    """The selection and what led to it."""

    selected: Tensor
    """[B, H, Nq, Nk] bool, True where the query block reads the key block."""
    gini: Tensor
    """[H] fp32, mean over batch and query blocks, in [0, (Nk - 1) / Nk]."""
    threshold: Tensor
    """[H] fp32, tau_h."""
    density: Tensor
    """[H] fp32, share of the key blocks that were selected."""
    lists: BlockLists | None = None
    """The selection as lists, where the backend made them on its way."""


def block_map(pooled_q: Tensor, pooled_k: Tensor) -> Tensor:
    """Attention between block means: softmax(q k^T / sqrt(D)).

    Args:
        pooled_q: [B, Nq, H, D].
        pooled_k: [B, Nk, H, D].

    Returns:
        [B, H, Nq, Nk] fp32.
    """
    scaled = pooled_q.float().transpose(1, 2) * pooled_q.shape[-1] ** -0.5
    return torch.softmax(scaled @ pooled_k.float().permute(0, 2, 3, 1), dim=-1)


def head_gini(cumulative: Tensor) -> Tensor:
    """Gini per head from the inclusive mass of blocks in descending order.

    With C_m = p_(1) + ... + p_(m) and C_N = 1, the sum (1/N) sum_m (N + 1 - 2m) p_(m) equals
    (2 sum_m C_m - (N + 1)) / N, which needs no further pass over the sorted map.

    Args:
        cumulative: [B, H, Nq, Nk].

    Returns:
        [H], mean over batch and query blocks.
    """
    blocks = cumulative.shape[-1]
    return cumulative.mean(dim=(0, 2, 3)).mul_(2.0).sub_((blocks + 1) / blocks)


def kept_blocks(density: float, blocks: int) -> int:
    """Blocks that a forced density keeps: at least one, rounded up (but not by float noise)."""
    return min(blocks, max(1, math.ceil(density * blocks - 1e-6)))


def select(probabilities: Tensor, tau_min: float, tau_max: float, density: float | None = None) -> Routing:
    """Choose the smallest set of blocks whose inclusive mass reaches tau_h, or the top share.

    tau_h = tau_min + G_h (tau_max - tau_min). Blocks are taken by descending mass, the one that
    crosses tau_h included; equal masses are taken in the order of their positions.

    Args:
        probabilities: [B, H, Nq, Nk] fp32, rows sum to 1.
        density: keep this share of the blocks instead; Gini and threshold are reported all the same.
    """
    blocks = probabilities.shape[-1]
    mass, order = torch.sort(probabilities, dim=-1, descending=True, stable=True)
    cumulative = mass.cumsum(dim=-1)
    gini = head_gini(cumulative)
    threshold = tau_min + gini * (tau_max - tau_min)
    if density is None:
        keep = cumulative - mass < threshold[:, None, None]
    else:
        ranks = torch.arange(blocks, device=mass.device)
        keep = (ranks < kept_blocks(density, blocks)).expand_as(mass)
    selected = torch.zeros_like(keep).scatter_(-1, order, keep)
    return Routing(selected, gini, threshold, keep.float().mean(dim=(0, 2, 3)))


def route(
    pooled_q: Tensor, pooled_k: Tensor, tau_min: float, tau_max: float, density: float | None = None
) -> Routing:
    """Route block means, [B, Nq, H, D] against [B, Nk, H, D]; see `block_map` and `select`."""
    return select(block_map(pooled_q, pooled_k), tau_min, tau_max, density)
