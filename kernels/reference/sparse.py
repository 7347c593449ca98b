"""Block-sparse attention over a selection of key blocks."""

from itertools import groupby

import torch
from torch import Tensor
from torch.nn import functional as F

from worldattention.kernels.reference.linear import dense_attention
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
    """The same for a CPU: selected blocks are gathered, and only they are multiplied.

    Every row of the selection, one query block of one head, is an attention of its own. Rows that
    read equally many tokens run as one batch: padding them to a common length cost more than the
    calls that it saved, and so did the union of a head's rows under a mask.

    Arguments and result as in `masked_attention`.
    """
    batch, q_tokens, heads, channels = q.shape
    counts, order = _token_counts(selected, block, k.shape[1]).sort(stable=True)
    if int(counts[0]) == k.shape[1]:
        return dense_attention(q, k, v)
    lines = _key_lines(selected, order, block, k.shape[1])
    queries = _query_blocks(q, block)[order]
    keys, values = k.reshape(-1, channels), v.reshape(-1, channels)
    out = torch.empty_like(queries)
    first = line = 0
    for tokens, group in groupby(counts.tolist()):
        rows = len(list(group))
        taken = lines[line : line + rows * tokens].view(1, rows, tokens)
        # `embedding` is the one gather of rows that torch has vectorised for every dtype.
        result = F.scaled_dot_product_attention(
            queries[None, first : first + rows], F.embedding(taken, keys), F.embedding(taken, values)
        )
        out.index_copy_(0, order[first : first + rows], result[0])
        first, line = first + rows, line + rows * tokens
    return out.view(batch, heads, -1, channels)[:, :, :q_tokens].transpose(1, 2)


def _token_counts(selected: Tensor, block: int, k_tokens: int) -> Tensor:
    """Tokens that each row of the selection reads, [B * H * Nq]; the last block may be partial."""
    counts = selected.sum(dim=-1) * block
    missing = selected.shape[-1] * block - k_tokens
    if missing:
        counts -= selected[..., -1] * missing
    return counts.flatten()


def _key_lines(selected: Tensor, order: Tensor, block: int, k_tokens: int) -> Tensor:
    """Where the selected tokens lie in keys flattened to [B * Lk * H, D], row after row in `order`."""
    _, heads, q_blocks, k_blocks = selected.shape
    row, chosen = selected.flatten(0, 2)[order].nonzero(as_tuple=True)
    head = order // q_blocks  # counted through the batch
    origin = head // heads * (k_tokens * heads) + head % heads
    lines = (origin[row] + chosen * (block * heads))[:, None] + torch.arange(0, block * heads, heads)
    if k_tokens % block:
        real = torch.full_like(chosen, block)
        real[chosen == k_blocks - 1] = k_tokens % block
        return lines[torch.arange(block) < real[:, None]]
    return lines.flatten()


def _query_blocks(q: Tensor, block: int) -> Tensor:
    """Queries head by head in blocks, [B * H * Nq, block, D]; a partial block is filled with zeros."""
    by_head = q.transpose(1, 2)
    if q.shape[1] % block:
        by_head = F.pad(by_head, (0, 0, 0, -q.shape[1] % block))
    return by_head.reshape(-1, block, q.shape[-1])


def validate_selection(q: Tensor, k: Tensor, selected: Tensor, block: int) -> None:
    """Raises ValueError when the selection does not fit the tensors."""
    batch, q_tokens, heads, _ = q.shape
    expected = (batch, heads, block_count(q_tokens, block), block_count(k.shape[1], block))
    if tuple(selected.shape) != expected:
        raise ValueError(f"selection {tuple(selected.shape)} does not fit blocks {expected}")
