"""Block means: one program a block and head."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.pool import block_count


@triton.jit
def _means(
    X, Out, tokens, channels, block, x_batch, x_token, x_head, o_batch, o_block, o_head,
    ROWS: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    number, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    inside = tl.arange(0, ROWS)
    rows = number * block + inside
    channel = tl.arange(0, D)
    real = (inside < block) & (rows < tokens)
    at = X + batch * x_batch + head * x_head + rows[:, None] * x_token + channel[None, :]
    x = tl.load(at, mask=real[:, None] & (channel[None, :] < channels), other=0.0).to(tl.float32)
    count = tl.minimum(tokens - number * block, block)
    mean = tl.sum(x, 0) / count
    at_out = Out + batch * o_batch + number * o_block + head * o_head + channel
    tl.store(at_out, mean, mask=channel < channels)


def block_means(x: Tensor, block: int, out: Tensor | None = None) -> Tensor:
    """Mean of each block, [B, L, H, D] -> [B, ceil(L / block), H, D] fp32; `out` is written in place."""
    batch, tokens, heads, channels = x.shape
    blocks = block_count(tokens, block)
    if out is None:
        out = x.new_empty((batch, blocks, heads, channels)).float()
    if x.stride(-1) != 1 or out.stride(-1) != 1:
        raise ValueError("channels must lie side by side")
    _means[(blocks, heads, batch)](
        x, out, tokens, channels, block, *x.stride()[:3], *out.stride()[:3],
        ROWS=triton.next_power_of_2(block), D=triton.next_power_of_2(channels), num_warps=4,
    )  # fmt: skip
    return out
