"""Block-sparse attention, forward: one program a query block of a head, over the key blocks of its list.

Keys and values are read as they lie: any strides but a last one of 1, no gather, pad or copy. Tiles run densest
first. The softmax is online, in fp32 and base 2 (FlashAttention-2, algorithm 1).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.lists import BlockLists
from worldattention.kernels.reference.pool import block_count
from worldattention.kernels.triton.support import LOG2_E, order_of


@triton.jit
def _attend(
    Q, K, V, Out, Lse, Order, Indices, Counts, scale, q_tokens, k_tokens, q_blocks, k_blocks, heads,
    q_batch, q_token, q_head, k_batch, k_token, k_head, v_batch, v_token, v_head, o_batch, o_token, o_head,
    BLOCK: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr, SAVE: tl.constexpr,
):  # fmt: skip
    tile = tl.load(Order + tl.program_id(0))
    head = (tile // q_blocks) % heads
    batch = (tile // q_blocks // heads).to(tl.int64)
    rows = (tile % q_blocks) * BLOCK + tl.arange(0, BLOCK)
    channels = tl.arange(0, D)
    q_at = Q + batch * q_batch + head * q_head + rows[:, None] * q_token + channels[None, :]
    q = tl.load(q_at, mask=rows[:, None] < q_tokens, other=0.0)
    k_at = K + batch * k_batch + head * k_head + channels[:, None]
    v_at = V + batch * v_batch + head * v_head + channels[None, :]
    largest = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    out = tl.zeros([BLOCK, D], tl.float32)
    steps = tl.load(Counts + tile) * (BLOCK // STEP)
    for step in range(steps):
        block = tl.load(Indices + tile * k_blocks + step // (BLOCK // STEP))
        tokens = block * BLOCK + (step % (BLOCK // STEP)) * STEP + tl.arange(0, STEP)
        real = tokens < k_tokens
        k = tl.load(k_at + tokens[None, :] * k_token, mask=real[None, :], other=0.0)
        logits = tl.dot(q, k, input_precision="ieee") * scale
        # The first step of a block holds a real token, so the maximum is finite before any empty step.
        logits = tl.where(real[None, :], logits, -float("inf"))
        higher = tl.maximum(largest, tl.max(logits, 1))
        weights = tl.exp2(logits - higher[:, None])
        shrink = tl.exp2(largest - higher)
        total = total * shrink + tl.sum(weights, 1)
        v = tl.load(v_at + tokens[:, None] * v_token, mask=real[:, None], other=0.0)
        out = out * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        largest = higher
    o_at = Out + batch * o_batch + head * o_head + rows[:, None] * o_token + channels[None, :]
    tl.store(o_at, (out / total[:, None]).to(Out.dtype.element_ty), mask=rows[:, None] < q_tokens)
    if SAVE:
        at = (batch * heads + head) * q_tokens + rows
        tl.store(Lse + at, largest + tl.log2(total), mask=rows < q_tokens)


def sparse_attention(
    q: Tensor, k: Tensor, v: Tensor, lists: BlockLists, block: int, *, save: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Attention of q [B, Lq, H, D] over the listed blocks of k, v [B, Lk, H, D].

    Returns:
        [B, Lq, H, D], and with `save` the base-2 log-sum-exp of scaled logits [B, H, Lq] fp32 for the backward pass.

    Raises:
        ValueError: a tensor's channels do not lie side by side.
    """
    batch, q_tokens, heads, channels = q.shape
    if any(x.stride(-1) != 1 for x in (q, k, v)):
        raise ValueError("channels must lie side by side")
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty((batch, heads, q_tokens), device=q.device) if save else None
    q_blocks, k_blocks = block_count(q_tokens, block), block_count(k.shape[1], block)
    _attend[(batch * heads * q_blocks,)](
        q, k, v, out, out if lse is None else lse, order_of(lists), lists.indices, lists.counts,
        channels**-0.5 * LOG2_E, q_tokens, k.shape[1], q_blocks, k_blocks, heads,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *out.stride()[:3],
        BLOCK=block, STEP=min(block, 64), D=channels, SAVE=save,
        num_warps=8 if block * channels >= 128 * 128 else 4, num_stages=2,
    )  # fmt: skip
    return out, lse
