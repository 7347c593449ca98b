"""Block means: what routing sees of queries and keys (DESIGN section 3, "block map")."""

import torch
from torch import Tensor


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
        torch.mean(blocks, dim=2, dtype=torch.float32, out=means[:, :whole])
    if whole * block < tokens:
        torch.mean(flat[:, whole * block :], dim=1, dtype=torch.float32, out=means[:, whole])
    return out
