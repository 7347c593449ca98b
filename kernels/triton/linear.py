"""The linear branch and its gate: out = sparse + sigmoid(W q + b) * softmax(q Ktilde^T) Vtilde.

The coarse rows are few and dense, which torch's own attention is made for; gate, product and sum are one kernel.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.linear import dense_attention


@triton.jit
def _gated_sum(
    Q, Sparse, Linear, Weight, Bias, Out, q_tokens, q_batch, q_token, q_head, s_batch, s_token, s_head,
    l_batch, l_token, l_head, o_batch, o_token, o_head, BLOCK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, batch = tl.program_id(1), tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channels = tl.arange(0, D)
    inside = rows[:, None] < q_tokens
    q_at = Q + batch * q_batch + head * q_head + rows[:, None] * q_token + channels[None, :]
    q = tl.load(q_at, mask=inside, other=0.0)
    weight = tl.load(Weight + channels[None, :] * D + channels[:, None]).to(q.dtype)
    gate = tl.dot(q, weight, input_precision="ieee") + tl.load(Bias + channels).to(tl.float32)[None, :]
    gate = 1.0 / (1.0 + tl.exp2(-gate * 1.4426950408889634))
    s_at = Sparse + batch * s_batch + head * s_head + rows[:, None] * s_token + channels[None, :]
    l_at = Linear + batch * l_batch + head * l_head + rows[:, None] * l_token + channels[None, :]
    linear = tl.load(l_at, mask=inside, other=0.0).to(tl.float32)
    out = tl.load(s_at, mask=inside, other=0.0).to(tl.float32) + gate * linear
    o_at = Out + batch * o_batch + head * o_head + rows[:, None] * o_token + channels[None, :]
    tl.store(o_at, out.to(Out.dtype.element_ty), mask=inside)


def add_linear_branch(
    q: Tensor, sparse: Tensor, coarse_keys: Tensor, coarse_values: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """The two branches fused; arguments and result as in `ops.add_linear_branch`."""
    batch, q_tokens, heads, channels = q.shape
    linear = dense_attention(q, coarse_keys, coarse_values)
    if any(x.stride(-1) != 1 for x in (q, sparse, linear)):
        raise ValueError("channels must lie side by side")
    out = torch.empty(q.shape, dtype=sparse.dtype, device=q.device)
    block = 64 if channels >= 64 else 16
    _gated_sum[(triton.cdiv(q_tokens, block), heads, batch)](
        q, sparse, linear, weight.contiguous(), bias, out, q_tokens, *q.stride()[:3], *sparse.stride()[:3],
        *linear.stride()[:3], *out.stride()[:3],
        BLOCK=block, D=channels, num_warps=8 if channels == 128 else 4,
    )  # fmt: skip
    return out
