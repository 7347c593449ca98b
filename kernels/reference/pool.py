"""Block means: what routing sees of queries and keys (DESIGN section 3, "block map")."""

import torch
from torch import Tensor

_AT_ONCE = 1 << 18
"""Numbers whose mean is taken in one call: torch copies them to fp32 on a CPU."""


def block_count(tokens: int, block: int) -> int:
    """Blocks that hold `tokens`, the last one partial if need be."""
    return -(-tokens // block)


def block_means(x: Tensor, block: int, out: Tensor | None = None) -> Tensor:
    """Mean of each block of `block` tokens; a trailing partial block over its real tokens only.

    Args:
        x: [B, L, H, D].
        out: [B, ceil(L / block), H, D] fp32, written in place.

    Returns:
        [B, ceil(L / block), H, D] fp32.
    """
    batch, tokens, heads, channels = x.shape
    whole = tokens // block
    if out is None:
        out = x.new_empty((batch, block_count(tokens, block), heads, channels), dtype=torch.float32)
    # Heads and channels as one axis: torch reduces that four times as fast on a CPU.
    flat, means = x.flatten(2), out.flatten(2)
    if whole:
        blocks = flat[:, : whole * block].unflatten(1, (whole, block))
        count = max(1, _AT_ONCE // (batch * block * heads * channels))
        for part, mean in zip(blocks.split(count, 1), means[:, :whole].split(count, 1), strict=True):
            torch.mean(part, dim=2, dtype=torch.float32, out=mean)
    if whole * block < tokens:
        torch.mean(flat[:, whole * block :], dim=1, dtype=torch.float32, out=means[:, whole])
    return out
