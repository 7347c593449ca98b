"""Gini routing in two kernels, without a sort: what precedes each block of a row; then threshold and selection.

Blocks are compared pair by pair. With p sorted descending, sum_m (N + 1 - 2m) p_(m) = sum_(i<j) |p_i - p_j|, which
is the Gini coefficient times N; and a block is chosen when the mass of the blocks before it, equal masses in the
order of their positions, has not reached tau (`reference.routing.select`).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.lists import BlockLists
from worldattention.kernels.reference.routing import Routing, kept_blocks


@triton.jit
def _map(
    Q, K, Before, Gini, scale, q_blocks, k_blocks, heads, channels,
    q_batch, q_block, q_head, k_batch, k_block, k_head,
    N: tl.constexpr, D: tl.constexpr, STEP: tl.constexpr, FORCED: tl.constexpr,
):  # fmt: skip
    row, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    line = (batch * heads + head) * q_blocks + row
    blocks = tl.arange(0, N)
    real = blocks < k_blocks
    q_at = Q + batch * q_batch + row * q_block + head * q_head
    k_at = K + batch * k_batch + head * k_head + blocks[:, None] * k_block
    logits = tl.zeros([N], tl.float32)
    for start in range(0, D, STEP):
        channel = start + tl.arange(0, STEP)
        q = tl.load(q_at + channel, mask=channel < channels, other=0.0).to(tl.float32)
        there = real[:, None] & (channel[None, :] < channels)
        k = tl.load(k_at + channel[None, :], mask=there, other=0.0).to(tl.float32)
        logits += tl.sum(k * (q * scale)[None, :], 1)
    logits = tl.where(real, logits, -float("inf"))
    weights = tl.exp(logits - tl.max(logits, 0))
    mass = weights / tl.sum(weights, 0)
    # A row is read again piece by piece: through memory, which every thread of the program then sees.
    tl.store(Before + line * k_blocks + blocks, mass, mask=real)
    tl.debug_barrier()
    before = tl.zeros([N], tl.float32)
    spread = tl.zeros([N], tl.float32)
    for start in range(0, k_blocks, STEP):
        other = start + tl.arange(0, STEP)
        there = other < k_blocks
        theirs = tl.load(Before + line * k_blocks + other, mask=there, other=-1.0)[None, :]
        mine = mass[:, None]
        first = (theirs > mine) | ((theirs == mine) & (other[None, :] < blocks[:, None]))
        counted = first & there[None, :]
        before += tl.sum(tl.where(counted, 1.0, 0.0) if FORCED else tl.where(counted, theirs, 0.0), 1)
        spread += tl.sum(tl.where(there[None, :], tl.abs(theirs - mine), 0.0), 1)
    tl.debug_barrier()
    tl.store(Before + line * k_blocks + blocks, before, mask=real)
    tl.store(Gini + line, tl.sum(tl.where(real, spread, 0.0), 0) / (2 * k_blocks))


@triton.jit
def _select(
    Before, RowGini, Indices, Counts, Selected, Gini, Threshold, tau_min, tau_max, kept,
    q_blocks, k_blocks, heads, batches, N: tl.constexpr, ROWS: tl.constexpr, FORCED: tl.constexpr,
):  # fmt: skip
    row, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    total = 0.0
    for other in range(batches):
        for start in range(0, q_blocks, ROWS):
            rows = start + tl.arange(0, ROWS)
            at = RowGini + (other * heads + head) * q_blocks + rows
            total += tl.sum(tl.load(at, mask=rows < q_blocks, other=0.0), 0)
    gini = total / (batches * q_blocks)
    threshold = tau_min + gini * (tau_max - tau_min)
    if (row == 0) & (batch == 0):
        tl.store(Gini + head, gini)
        tl.store(Threshold + head, threshold)
    line = (batch * heads + head) * q_blocks + row
    blocks = tl.arange(0, N)
    real = blocks < k_blocks
    before = tl.load(Before + line * k_blocks + blocks, mask=real, other=float("inf"))
    keep = real & (before < (kept if FORCED else threshold))
    place = tl.cumsum(keep.to(tl.int32), 0)
    tl.store(Indices + line * k_blocks + place - 1, blocks, mask=keep)
    tl.store(Counts + line, tl.max(place, 0))
    tl.store(Selected + line * k_blocks + blocks, keep.to(tl.int8), mask=real)


def route(
    pooled_q: Tensor, pooled_k: Tensor, tau_min: float, tau_max: float, density: float | None = None
) -> Routing:
    """Route block means [B, Nq, H, D] against [B, Nk, H, D], without a host sync."""
    batch, q_blocks, heads, channels = pooled_q.shape
    k_blocks, device = pooled_k.shape[1], pooled_q.device
    shape = (batch, heads, q_blocks, k_blocks)
    before = torch.empty(shape, device=device)
    row_gini = torch.empty(shape[:3], device=device)
    indices = torch.empty(shape, dtype=torch.int32, device=device)
    counts = torch.empty(shape[:3], dtype=torch.int32, device=device)
    selected = torch.empty(shape, dtype=torch.bool, device=device)
    gini, threshold = (torch.empty(heads, device=device) for _ in range(2))
    grid, N, D = (q_blocks, heads, batch), triton.next_power_of_2(k_blocks), triton.next_power_of_2(channels)
    forced = density is not None
    _map[grid](
        pooled_q, pooled_k, before, row_gini, channels**-0.5, q_blocks, k_blocks, heads, channels,
        *pooled_q.stride()[:3], *pooled_k.stride()[:3], N=N, D=D, STEP=min(D, 16), FORCED=forced, num_warps=8,
    )  # fmt: skip
    _select[grid](
        before, row_gini, indices, counts, selected.view(torch.int8), gini, threshold, tau_min, tau_max,
        kept_blocks(1.0 if density is None else density, k_blocks), q_blocks, k_blocks, heads, batch,
        N=N, ROWS=min(64, triton.next_power_of_2(q_blocks)), FORCED=forced, num_warps=4,
    )  # fmt: skip
    share = counts.float().mean(dim=(0, 2)) / k_blocks
    return Routing(selected, gini, threshold, share, BlockLists(indices, counts))
