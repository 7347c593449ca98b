"""Equal shares of block-sparse attention: every program takes as many steps, and tiles that it cuts are merged.

A few hundred tiles on 132 multiprocessors leave the last wave half empty; equal shares do not (stream-K). Tiles that
are equally long run whole as far as they fill all programs, wave by wave, so that neighbours of one head run together
and find each other's keys in the cache; what is left, or all of it where tiles differ, is shared. The T steps of shared
tiles are numbered through; program p of P takes those from p T / P to (p + 1) T / P.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor


class Shares(NamedTuple):
    """Who does what."""

    table: Tensor
    """[P + 1, 8] int32: whole waves, then of shared tiles: first tile, tile after the last, first step, step after the
    last; the last row is empty."""
    starts: Tensor
    """[tiles] int32: first step of each shared tile."""


class Parts(NamedTuple):
    """What cut tiles left: slot 2p of program p where a tile began before it, slot 2p + 1 where one goes on."""

    out: Tensor
    """[2 P, ROWS, D] fp32, not divided."""
    largest: Tensor
    """[2 P, ROWS] fp32, base 2."""
    total: Tensor
    """[2 P, ROWS] fp32."""


@triton.jit
def _share(Counts, Table, Starts, tiles, programs, WAVES: tl.constexpr, N: tl.constexpr):
    program = tl.program_id(0)
    tile = tl.arange(0, N)
    counts = tl.load(Counts + tile, mask=tile < tiles, other=0)
    longest = tl.max(counts, 0)
    equal = (tl.min(tl.where(tile < tiles, counts, longest), 0) == longest) & WAVES
    waves = tl.where(equal, tiles // programs, 0)
    shared = (tile >= waves * programs) & (tile < tiles)
    counts = tl.where(shared, counts, 0)
    ends = tl.cumsum(counts, 0)
    starts = ends - counts
    steps = tl.sum(counts, 0).to(tl.int64)
    first = (program * steps // programs).to(tl.int32)
    last = (tl.minimum(program + 1, programs) * steps // programs).to(tl.int32)
    begin = tl.sum(((ends <= first) & (tile < tiles)).to(tl.int32), 0)
    end = tl.sum(((starts < last) & (tile < tiles)).to(tl.int32), 0)
    end = tl.where(last > first, end, begin)
    row = Table + program * 8
    tl.store(row, waves)
    tl.store(row + 1, begin)
    tl.store(row + 2, end)
    tl.store(row + 3, first)
    tl.store(row + 4, last)
    tl.store(Starts + tile, starts, mask=(tile < tiles) & (program == 0))


def share(counts: Tensor, programs: int, waves: bool = True) -> Shares:
    """Shares of tiles with these counts [tiles] int32, on the device of `counts`."""
    tiles = counts.numel()
    table = torch.empty((programs + 1, 8), dtype=torch.int32, device=counts.device)
    starts = torch.empty(tiles, dtype=torch.int32, device=counts.device)
    size = triton.next_power_of_2(tiles)
    _share[(programs + 1,)](
        counts, table, starts, tiles, programs, WAVES=waves, N=size, num_warps=4 if size <= 1024 else 8
    )
    return Shares(table, starts)


@triton.jit
def _merge(
    Part, Largest, Total, Out, Table, Starts, Counts, q_tokens, q_blocks, o_token,
    ROWS: tl.constexpr, TOGETHER: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    row = Table + program * 8
    begin, end, first, last = tl.load(row + 1), tl.load(row + 2), tl.load(row + 3), tl.load(row + 4)
    if end > begin:
        tile = end - 1
        start = tl.load(Starts + tile)
        stop = start + tl.load(Counts + tile)
        if (start >= first) & (stop > last):
            inside = tl.program_id(1) * TOGETHER + tl.arange(0, TOGETHER)
            channels = tl.arange(0, D)
            slot = (2 * program + 1) * ROWS + inside
            largest = tl.load(Largest + slot)
            total = tl.load(Total + slot)
            out = tl.load(Part + slot[:, None] * D + channels[None, :])
            other = program + 1
            while tl.load(Table + other * 8 + 3) < stop:
                slot = 2 * other * ROWS + inside
                idle = tl.load(Table + other * 8 + 3) == tl.load(Table + other * 8 + 4)
                busy = (slot >= 0) & (idle == 0)  # a program without a step leaves no part
                theirs = tl.load(Largest + slot, mask=busy, other=-float("inf"))
                higher = tl.maximum(largest, theirs)
                mine_shrinks, theirs_shrinks = tl.exp2(largest - higher), tl.exp2(theirs - higher)
                part = tl.load(Part + slot[:, None] * D + channels[None, :], mask=busy[:, None], other=0.0)
                out = out * mine_shrinks[:, None] + part * theirs_shrinks[:, None]
                total = total * mine_shrinks + tl.load(Total + slot, mask=busy, other=0.0) * theirs_shrinks
                largest = higher
                other += 1
            rows = (tile % q_blocks) * ROWS + inside
            at = Out + rows[:, None] * o_token + tile // q_blocks * D + channels[None, :]
            tl.store(at, (out / total[:, None]).to(Out.dtype.element_ty), mask=rows[:, None] < q_tokens)


def room(programs: int, rows: int, channels: int, device: torch.device) -> Parts:
    """Memory for the parts of cut tiles."""
    slots = 2 * programs
    return Parts(
        torch.empty((slots, rows, channels), device=device),
        *(torch.empty((slots, rows), device=device) for _ in range(2)),
    )


def merge(parts: Parts, shares: Shares, counts: Tensor, out: Tensor) -> None:
    """Write the cut tiles into out [1, Lq, H, D], heads and channels side by side; counts [1, H, Nq]."""
    _, rows, channels = parts.out.shape
    _merge[(len(shares.table) - 1, rows // 32)](
        *parts, out, shares.table, shares.starts, counts, out.shape[1], counts.shape[-1], out.stride(1),
        ROWS=rows, TOGETHER=32, D=channels, num_warps=4,
    )  # fmt: skip
