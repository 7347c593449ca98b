"""Block-sparse attention with gradients (FlashAttention-2, algorithm 2, over lists of blocks).

The linear branch is the same attention over its coarse rows with every block listed.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.lists import BlockLists, block_lists
from worldattention.kernels.reference.pool import block_count
from worldattention.kernels.triton.sparse import sparse_attention
from worldattention.kernels.triton.support import order_of


@triton.jit
def _query_gradient(
    Q, K, V, Grad, Lse, Delta, DQ, Order, Indices, Counts, scale, q_tokens, k_tokens, q_blocks, k_blocks, heads,
    q_batch, q_token, q_head, k_batch, k_token, k_head, v_batch, v_token, v_head, g_batch, g_token, g_head,
    d_batch, d_token, d_head,
    BLOCK: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    tile = tl.load(Order + tl.program_id(0))
    head = (tile // q_blocks) % heads
    batch = (tile // q_blocks // heads).to(tl.int64)
    rows = (tile % q_blocks) * BLOCK + tl.arange(0, BLOCK)
    channels = tl.arange(0, D)
    inside = rows < q_tokens
    q_at = Q + batch * q_batch + head * q_head + rows[:, None] * q_token + channels[None, :]
    q = tl.load(q_at, mask=inside[:, None], other=0.0)
    g_at = Grad + batch * g_batch + head * g_head + rows[:, None] * g_token + channels[None, :]
    grad = tl.load(g_at, mask=inside[:, None], other=0.0)
    line = (batch * heads + head) * q_tokens + rows
    lse = tl.load(Lse + line, mask=inside, other=0.0)
    delta = tl.load(Delta + line, mask=inside, other=0.0)
    k_at = K + batch * k_batch + head * k_head + channels[:, None]
    v_at = V + batch * v_batch + head * v_head + channels[:, None]
    out = tl.zeros([BLOCK, D], tl.float32)
    for step in range(tl.load(Counts + tile) * (BLOCK // STEP)):
        block = tl.load(Indices + tile * k_blocks + step // (BLOCK // STEP))
        tokens = block * BLOCK + (step % (BLOCK // STEP)) * STEP + tl.arange(0, STEP)
        real = tokens < k_tokens
        k = tl.load(k_at + tokens[None, :] * k_token, mask=real[None, :], other=0.0)
        v = tl.load(v_at + tokens[None, :] * v_token, mask=real[None, :], other=0.0)
        weights = tl.exp2(tl.dot(q, k, input_precision="ieee") * (scale * 1.4426950408889634) - lse[:, None])
        weights = tl.where(real[None, :], weights, 0.0)
        change = weights * (tl.dot(grad, v, input_precision="ieee") - delta[:, None]) * scale
        out += tl.dot(change.to(k.dtype), tl.trans(k), input_precision="ieee")
    d_at = DQ + batch * d_batch + head * d_head + rows[:, None] * d_token + channels[None, :]
    tl.store(d_at, out.to(DQ.dtype.element_ty), mask=inside[:, None])


@triton.jit
def _key_gradients(
    Q, K, V, Grad, Lse, Delta, DK, DV, Order, Indices, Counts, scale, q_tokens, k_tokens, q_blocks, k_blocks, heads,
    q_batch, q_token, q_head, k_batch, k_token, k_head, v_batch, v_token, v_head, g_batch, g_token, g_head,
    d_batch, d_token, d_head,
    BLOCK: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    tile = tl.load(Order + tl.program_id(0))
    head = (tile // k_blocks) % heads
    batch = (tile // k_blocks // heads).to(tl.int64)
    tokens = (tile % k_blocks) * BLOCK + tl.arange(0, BLOCK)
    channels = tl.arange(0, D)
    real = tokens < k_tokens
    k_at = K + batch * k_batch + head * k_head + tokens[:, None] * k_token + channels[None, :]
    k = tl.load(k_at, mask=real[:, None], other=0.0)
    v_at = V + batch * v_batch + head * v_head + tokens[:, None] * v_token + channels[None, :]
    v = tl.load(v_at, mask=real[:, None], other=0.0)
    q_at = Q + batch * q_batch + head * q_head + channels[:, None]
    g_at = Grad + batch * g_batch + head * g_head + channels[None, :]
    dk = tl.zeros([BLOCK, D], tl.float32)
    dv = tl.zeros([BLOCK, D], tl.float32)
    for step in range(tl.load(Counts + tile) * (BLOCK // STEP)):
        block = tl.load(Indices + tile * q_blocks + step // (BLOCK // STEP))
        rows = block * BLOCK + (step % (BLOCK // STEP)) * STEP + tl.arange(0, STEP)
        inside = rows < q_tokens
        q = tl.load(q_at + rows[None, :] * q_token, mask=inside[None, :], other=0.0)
        grad = tl.load(g_at + rows[:, None] * g_token, mask=inside[:, None], other=0.0)
        line = (batch * heads + head) * q_tokens + rows
        lse = tl.load(Lse + line, mask=inside, other=0.0)
        delta = tl.load(Delta + line, mask=inside, other=0.0)
        weights = tl.exp2(tl.dot(k, q, input_precision="ieee") * (scale * 1.4426950408889634) - lse[None, :])
        weights = tl.where(inside[None, :] & real[:, None], weights, 0.0)
        dv += tl.dot(weights.to(grad.dtype), grad, input_precision="ieee")
        change = weights * (tl.dot(v, tl.trans(grad), input_precision="ieee") - delta[None, :]) * scale
        dk += tl.dot(change.to(q.dtype), tl.trans(q), input_precision="ieee")
    at = batch * d_batch + head * d_head + tokens[:, None] * d_token + channels[None, :]
    tl.store(DK + at, dk.to(DK.dtype.element_ty), mask=real[:, None])
    tl.store(DV + at, dv.to(DV.dtype.element_ty), mask=real[:, None])


class _SparseAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, selected: Tensor, block: int) -> Tensor:
        lists = block_lists(selected)
        out, lse = sparse_attention(q, k, v, lists, block, save=True)
        ctx.save_for_backward(q, k, v, out, lse, selected)
        ctx.block = block
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse, selected = ctx.saved_tensors
        grad = grads[0].contiguous()
        return (*_gradients(q, k, v, grad, out, lse, selected, ctx.block), None, None)


def _gradients(
    q: Tensor, k: Tensor, v: Tensor, grad: Tensor, out: Tensor, lse: Tensor, selected: Tensor, block: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v, each contiguous."""
    _, q_tokens, heads, channels = q.shape
    delta = (grad.float() * out.float()).sum(dim=-1).transpose(1, 2).contiguous()
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    dk, dv = (torch.empty(k.shape, dtype=k.dtype, device=k.device) for _ in range(2))
    sizes = (q_tokens, k.shape[1], block_count(q_tokens, block), block_count(k.shape[1], block), heads)
    strides = [stride for x in (q, k, v, grad) for stride in x.stride()[:3]]
    options: dict[str, Any] = {"BLOCK": block, "STEP": min(block, 32), "D": channels, "num_stages": 2}
    options["num_warps"] = 8 if block * channels >= 128 * 64 else 4
    rows, columns = block_lists(selected), block_lists(selected.transpose(2, 3))
    inputs, scale = (q, k, v, grad, lse, delta), channels**-0.5
    _query_gradient[(rows.counts.numel(),)](
        *inputs, dq, *_listed(rows), scale, *sizes, *strides, *dq.stride()[:3], **options
    )
    _key_gradients[(columns.counts.numel(),)](
        *inputs, dk, dv, *_listed(columns), scale, *sizes, *strides, *dk.stride()[:3], **options
    )
    return dq, dk, dv


def _listed(lists: BlockLists) -> tuple[Tensor, Tensor, Tensor]:
    return order_of(lists), lists.indices, lists.counts


def differentiable_sparse_attention(q: Tensor, k: Tensor, v: Tensor, selected: Tensor, block: int) -> Tensor:
    """As `ops.sparse_attention`, with gradients of q, k and v; the selection is not differentiated."""
    out: Tensor = _SparseAttention.apply(q, k, v, selected, block)
    return out


def differentiable_linear_attention(q: Tensor, coarse_keys: Tensor, coarse_values: Tensor) -> Tensor:
    """As `ops.linear_attention`, with gradients; coarse rows [B, R, H, D]."""
    block = 64 if q.shape[-1] >= 64 else 16
    shape = (
        q.shape[0],
        q.shape[2],
        block_count(q.shape[1], block),
        block_count(coarse_keys.shape[1], block),
    )
    everything = torch.ones(shape, dtype=torch.bool, device=q.device)
    return differentiable_sparse_attention(q, coarse_keys, coarse_values, everything, block)
