"""What the Triton kernels can take, and the order in which their tiles run."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.lists import BlockLists

LOG2_E = math.log2(math.e)


@triton.jit
def _rank(
    Counts, Order, Mean, tiles, q_blocks, heads, batches,
    TOGETHER: tl.constexpr, CHUNK: tl.constexpr, MEAN: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    own = program * TOGETHER + tl.arange(0, TOGETHER)
    mine = tl.load(Counts + own, mask=own < tiles, other=-1)
    rank = tl.zeros([TOGETHER], tl.int32)
    total = 0
    for start in range(0, tiles, CHUNK):
        other = start + tl.arange(0, CHUNK)
        theirs = tl.load(Counts + other, mask=other < tiles, other=-1)
        before = (theirs[None, :] > mine[:, None]) | (
            (theirs[None, :] == mine[:, None]) & (other[None, :] < own[:, None])
        )
        rank += tl.sum(before.to(tl.int32), 1)
        if MEAN:
            counted = (other < tiles) & (other // q_blocks % heads == program)
            total += tl.sum(tl.where(counted, theirs, 0), 0)
    tl.store(Order + rank, own, mask=own < tiles)
    if MEAN:
        tl.store(Mean + program, total * 1.0 / (q_blocks * batches), mask=program < heads)


def densest_first(counts: Tensor, order: Tensor | None = None, mean: Tensor | None = None) -> Tensor:
    """Tiles in the order of descending counts, [tiles] int32: long rows must not start last.

    A rank by comparison, not a sort: there are a few hundred tiles, and this is one launch.

    Args:
        counts: [B, H, Nq] int32, contiguous (any shape without `mean`).
        order: as many int32, written in place.
        mean: [H] fp32, takes the mean count of each head.
    """
    tiles = counts.numel()
    if order is None:
        order = torch.empty(tiles, dtype=torch.int32, device=counts.device)
    batches, heads, q_blocks = counts.shape if mean is not None else (1, 1, tiles)
    _rank[(max(triton.cdiv(tiles, 32), heads),)](
        counts, order, order if mean is None else mean, tiles, q_blocks, heads, batches,
        TOGETHER=32, CHUNK=128, MEAN=mean is not None,
    )  # fmt: skip
    return order


def order_of(lists: BlockLists) -> Tensor:
    """The order that routing gave the rows, or densest first."""
    return densest_first(lists.counts) if lists.order is None else lists.order
