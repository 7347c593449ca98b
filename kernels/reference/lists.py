"""A selection of blocks as lists, which is how kernels read it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class BlockLists(NamedTuple):
    """What row r reads are its first `counts[r]` entries of `indices`, ascending."""

    indices: Tensor
    """[B, H, Nq, Nk] int32, contiguous; entries behind the count are undefined."""
    counts: Tensor
    """[B, H, Nq] int32, contiguous."""
    order: Tensor | None = None
    """Rows, flattened, in the order in which they are to run, int32 contiguous; None: densest first."""


def block_lists(selected: Tensor) -> BlockLists:
    """The lists of a selection [B, H, Nq, Nk] bool."""
    # argsort(stable=True) failed on CUDA in torch 2.11; sort does not.
    marks = selected.to(torch.int8).contiguous()
    order = torch.sort(marks, dim=-1, descending=True, stable=True).indices
    return BlockLists(order.to(torch.int32), marks.sum(dim=-1, dtype=torch.int32))
