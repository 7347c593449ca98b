"""Gini routing without a sort: logits, then mass and spread of every row, then threshold and selection.

One program a row, so that a few hundred rows fill the device. With p sorted descending, sum_m (N + 1 - 2m) p_(m) =
sum_(i<j) |p_i - p_j|, which is the Gini coefficient times N. The border of a selection, the largest p whose mass
with all larger ones reaches tau, is found by bisection: bit patterns of numbers that are not negative rise with them.
Equal masses are taken in the order of their positions (`reference.routing.select`).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.lists import BlockLists
from worldattention.kernels.reference.routing import Routing, kept_blocks
from worldattention.kernels.triton.support import densest_first

ONE_BITS = tl.constexpr(0x3F800000)
"""The bit pattern of 1.0."""


@triton.jit
def _logits(
    Q, K, Logits, scale, q_blocks, k_blocks, heads, channels,
    q_batch, q_block, q_head, k_batch, k_block, k_head,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, D: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    place = tl.program_id(2)
    head, batch = place % heads, (place // heads).to(tl.int64)
    q_at = Q + batch * q_batch + head * q_head + rows[:, None] * q_block
    k_at = K + batch * k_batch + head * k_head + columns[None, :] * k_block
    logits = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, D, STEP):
        channel = start + tl.arange(0, STEP)
        q_there = (rows[:, None] < q_blocks) & (channel[None, :] < channels)
        k_there = (columns[None, :] < k_blocks) & (channel[:, None] < channels)
        q = tl.load(q_at + channel[None, :], mask=q_there, other=0.0).to(tl.float32)
        k = tl.load(k_at + channel[:, None], mask=k_there, other=0.0).to(tl.float32)
        logits += tl.dot(q, k, input_precision="ieee")
    there = (rows[:, None] < q_blocks) & (columns[None, :] < k_blocks)
    at = Logits + (place * q_blocks + rows[:, None]) * k_blocks + columns[None, :]
    tl.store(at, logits * scale, mask=there)


@triton.jit
def _mass(Map, Gini, k_blocks, N: tl.constexpr, STEP: tl.constexpr):
    line = tl.program_id(0)
    blocks = tl.arange(0, N)
    real = blocks < k_blocks
    row = Map + line * k_blocks
    logits = tl.load(row + blocks, mask=real, other=-float("inf"))
    weights = tl.exp(logits - tl.max(logits, 0))
    mass = weights / tl.sum(weights, 0)
    tl.debug_barrier()
    tl.store(row + blocks, mass, mask=real)
    # Read again piece by piece: through memory, which every thread of the program then sees.
    tl.debug_barrier()
    spread = tl.zeros([N, STEP], tl.float32)
    for start in range(0, k_blocks, STEP):
        other = start + tl.arange(0, STEP)
        theirs = tl.load(row + other, mask=other < k_blocks, other=0.0)
        spread += tl.abs(mass[:, None] - theirs[None, :])
    total = tl.sum(tl.where(real, tl.sum(spread, 1), 0.0), 0)
    behind = tl.cdiv(k_blocks, STEP) * STEP - k_blocks
    tl.store(Gini + line, (total - behind * tl.sum(mass, 0)) / (2 * k_blocks))


@triton.jit
def _select(
    Map, RowGini, Indices, Counts, Order, Selected, Gini, Threshold, Density, tau_min, tau_max, kept,
    q_blocks, k_blocks, heads, batches, N: tl.constexpr, ROWS: tl.constexpr, FORCED: tl.constexpr,
):  # fmt: skip
    line = tl.program_id(0)
    row, place = line % q_blocks, line // q_blocks
    head, batch = place % heads, place // heads
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
        if FORCED:
            tl.store(Density + head, kept * 1.0 / k_blocks)
    if FORCED:  # all rows are as long
        tl.store(Order + line, line)
        goal = kept * 1.0
    else:
        goal = threshold
    blocks = tl.arange(0, N)
    mass = tl.load(Map + line * k_blocks + blocks, mask=blocks < k_blocks, other=-1.0)
    bits = mass.to(tl.int32, bitcast=True)
    weight = tl.full([N], 1.0, tl.float32) if FORCED else mass
    border = 0
    beyond = ONE_BITS + 1
    for _ in range(30):
        middle = border + (beyond - border) // 2
        enough = tl.sum(tl.where(bits >= middle, weight, 0.0), 0) >= goal
        border = tl.where(enough, middle, border)
        beyond = tl.where(enough, beyond, middle)
    larger = bits > border
    equal = bits == border
    before = tl.cumsum(equal.to(tl.int32), 0) - equal.to(tl.int32)
    reached = tl.sum(tl.where(larger, weight, 0.0), 0) + before.to(tl.float32) * weight
    keep = larger | (equal & (reached < goal))
    position = tl.cumsum(keep.to(tl.int32), 0)
    tl.store(Indices + line * k_blocks + position - 1, blocks, mask=keep)
    tl.store(Counts + line, tl.max(position, 0))
    tl.store(Selected + line * k_blocks + blocks, keep.to(tl.int8), mask=blocks < k_blocks)


def route(
    pooled_q: Tensor, pooled_k: Tensor, tau_min: float, tau_max: float, density: float | None = None
) -> Routing:
    """Route block means [B, Nq, H, D] against [B, Nk, H, D], without a host sync."""
    batch, q_blocks, heads, channels = pooled_q.shape
    k_blocks, device = pooled_k.shape[1], pooled_q.device
    shape = (batch, heads, q_blocks, k_blocks)
    mass = torch.empty(shape, device=device)
    row_gini = torch.empty(shape[:3], device=device)
    indices = torch.empty(shape, dtype=torch.int32, device=device)
    counts, order = (torch.empty(shape[:3], dtype=torch.int32, device=device) for _ in range(2))
    selected = torch.empty(shape, dtype=torch.bool, device=device)
    gini, threshold, share = (torch.empty(heads, device=device) for _ in range(3))
    rows, N, D = batch * heads * q_blocks, triton.next_power_of_2(k_blocks), _at_least_16(channels)
    _logits[(triton.cdiv(q_blocks, 16), triton.cdiv(k_blocks, 64), batch * heads)](
        pooled_q, pooled_k, mass, channels**-0.5, q_blocks, k_blocks, heads, channels,
        *pooled_q.stride()[:3], *pooled_k.stride()[:3], ROWS=16, COLUMNS=64, D=D, STEP=min(D, 32), num_warps=4,
    )  # fmt: skip
    _mass[(rows,)](mass, row_gini, k_blocks, N=N, STEP=8, num_warps=4 if N <= 512 else 8)
    forced = density is not None
    _select[(rows,)](
        mass, row_gini, indices, counts, order, selected.view(torch.int8), gini, threshold, share,
        tau_min, tau_max, kept_blocks(1.0 if density is None else density, k_blocks),
        q_blocks, k_blocks, heads, batch,
        N=N, ROWS=min(64, triton.next_power_of_2(q_blocks)), FORCED=forced, num_warps=1 if N <= 512 else 2,
    )  # fmt: skip
    if not forced:
        densest_first(counts, order, share)
        share = share / k_blocks
    return Routing(selected, gini, threshold, share, BlockLists(indices, counts, order))


def _at_least_16(channels: int) -> int:
    return max(16, triton.next_power_of_2(channels))
