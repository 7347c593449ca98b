"""Block-sparse attention over a selection of key blocks."""

import torch
from torch import Tensor
from torch.nn import functional as F

from worldattention.kernels.reference.pool import block_count


def token_mask(selected: Tensor, block: int, q_tokens: int, k_tokens: int) -> Tensor:
    """The selection [B, H, Nq, Nk] spread over tokens, [B, H, Lq, Lk] bool."""
    rows = selected.repeat_interleave(block, dim=2)[:, :, :q_tokens]
    return rows.repeat_interleave(block, dim=3)[..., :k_tokens]


def masked_attention(q: Tensor, k: Tensor, v: Tensor, selected: Tensor, block: int) -> Tensor:
    """The definition: softmax attention in which unselected blocks are masked out.

    Args:
        q: [B, Lq, H, D].
        k, v: [B, Lk, H, D].
        selected: [B, H, ceil(Lq / block), ceil(Lk / block)] bool, at least one block in each row.

    Returns:
        [B, Lq, H, D].
    """
    mask = token_mask(selected, block, q.shape[1], k.shape[1])
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask)
    return out.transpose(1, 2)


def gathered_attention(q: Tensor, k: Tensor, v: Tensor, selected: Tensor, block: int) -> Tensor:
    """The same on a CPU: selected blocks are gathered, and only they are multiplied.

    Arguments and result as in `masked_attention`.
    """
    out = torch.empty_like(q)
    offsets = torch.arange(block, device=k.device)
    for batch, head, row in torch.cartesian_prod(
        *(torch.arange(selected.shape[axis]) for axis in range(3))
    ).tolist():
        blocks = selected[batch, head, row].nonzero()
        tokens = (blocks * block + offsets).flatten()
        tokens = tokens[tokens < k.shape[1]]
        span = slice(row * block, min((row + 1) * block, q.shape[1]))
        out[batch, span, head] = F.scaled_dot_product_attention(
            q[batch, None, None, span, head],
            k[batch, :, head].index_select(0, tokens)[None, None],
            v[batch, :, head].index_select(0, tokens)[None, None],
        )[0, 0]
    return out


def validate_selection(q: Tensor, k: Tensor, selected: Tensor, block: int) -> None:
    """Raise ValueError when the selection does not fit the tensors."""
    batch, q_tokens, heads, _ = q.shape
    expected = (batch, heads, block_count(q_tokens, block), block_count(k.shape[1], block))
    if tuple(selected.shape) != expected:
        raise ValueError(f"selection {tuple(selected.shape)} does not fit blocks {expected}")
