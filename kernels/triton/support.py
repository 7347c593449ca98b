"""What the Triton kernels can take, and the order in which their tiles run."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

LOG2_E = math.log2(math.e)


@triton.jit
def _rank(Counts, Order, tiles, TOGETHER: tl.constexpr, CHUNK: tl.constexpr):
    own = tl.program_id(0) * TOGETHER + tl.arange(0, TOGETHER)
    mine = tl.load(Counts + own, mask=own < tiles, other=-1)
    rank = tl.zeros([TOGETHER], tl.int32)
    for start in range(0, tiles, CHUNK):
        other = start + tl.arange(0, CHUNK)
        theirs = tl.load(Counts + other, mask=other < tiles, other=-1)
        before = (theirs[None, :] > mine[:, None]) | (
            (theirs[None, :] == mine[:, None]) & (other[None, :] < own[:, None])
        )
        rank += tl.sum(before.to(tl.int32), 1)
    tl.store(Order + rank, own, mask=own < tiles)


def densest_first(counts: Tensor) -> Tensor:
    """Tiles in the order of descending counts, [tiles] int32: long rows must not start last.

    A rank by comparison, not a sort: there are a few hundred tiles, and this is one launch.
    """
    tiles = counts.numel()
    order = torch.empty(tiles, dtype=torch.int32, device=counts.device)
    _rank[(triton.cdiv(tiles, 32),)](counts, order, tiles, TOGETHER=32, CHUNK=128)
    return order
