"""The linear branch and the gate in one kernel: out = sparse + sigmoid(W q + b) * softmax(q Ktilde^T) Vtilde."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.triton.support import LOG2_E


@triton.jit
def _add_linear(
    Q, K, V, Sparse, Weight, Bias, Out, scale, q_tokens, rows_there,
    q_batch, q_token, q_head, k_batch, k_token, k_head, v_batch, v_token, v_head,
    s_batch, s_token, s_head, o_batch, o_token, o_head,
    BLOCK: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, batch = tl.program_id(1), tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channels = tl.arange(0, D)
    inside = rows[:, None] < q_tokens
    q_at = Q + batch * q_batch + head * q_head + rows[:, None] * q_token + channels[None, :]
    q = tl.load(q_at, mask=inside, other=0.0)
    largest = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    linear = tl.zeros([BLOCK, D], tl.float32)
    for start in range(0, rows_there, STEP):
        tokens = start + tl.arange(0, STEP)
        real = tokens < rows_there
        k_at = K + batch * k_batch + head * k_head + channels[:, None] + tokens[None, :] * k_token
        k = tl.load(k_at, mask=real[None, :], other=0.0)
        logits = tl.where(real[None, :], tl.dot(q, k, input_precision="ieee") * scale, -float("inf"))
        higher = tl.maximum(largest, tl.max(logits, 1))
        weights = tl.exp2(logits - higher[:, None])
        shrink = tl.exp2(largest - higher)
        total = total * shrink + tl.sum(weights, 1)
        v_at = V + batch * v_batch + head * v_head + channels[None, :] + tokens[:, None] * v_token
        v = tl.load(v_at, mask=real[:, None], other=0.0)
        linear = linear * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        largest = higher
    weight = tl.load(Weight + channels[None, :] * D + channels[:, None]).to(q.dtype)
    gate = tl.dot(q, weight, input_precision="ieee") + tl.load(Bias + channels).to(tl.float32)[None, :]
    gate = 1.0 / (1.0 + tl.exp2(-gate * 1.4426950408889634))
    s_at = Sparse + batch * s_batch + head * s_head + rows[:, None] * s_token + channels[None, :]
    out = tl.load(s_at, mask=inside, other=0.0).to(tl.float32) + gate * (linear / total[:, None])
    o_at = Out + batch * o_batch + head * o_head + rows[:, None] * o_token + channels[None, :]
    tl.store(o_at, out.to(Out.dtype.element_ty), mask=inside)


def add_linear_branch(
    q: Tensor, sparse: Tensor, coarse_keys: Tensor, coarse_values: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """The two branches fused; arguments and result as in `ops.add_linear_branch`."""
    batch, q_tokens, heads, channels = q.shape
    if any(x.stride(-1) != 1 for x in (q, sparse, coarse_keys, coarse_values)):
        raise ValueError("channels must lie side by side")
    out = torch.empty(q.shape, dtype=sparse.dtype, device=q.device)
    block = 64 if channels >= 64 else 16
    _add_linear[(triton.cdiv(q_tokens, block), heads, batch)](
        q, coarse_keys, coarse_values, sparse, weight.contiguous(), bias, out, channels**-0.5 * LOG2_E,
        q_tokens, coarse_keys.shape[1], *q.stride()[:3], *coarse_keys.stride()[:3], *coarse_values.stride()[:3],
        *sparse.stride()[:3], *out.stride()[:3],
        BLOCK=block, STEP=block, D=channels, num_warps=8 if channels == 128 else 4, num_stages=2,
    )  # fmt: skip
    return out
