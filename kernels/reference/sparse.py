"""Block-sparse attention over a selection of key blocks."""

from collections.abc import Iterator
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import functional as F

from worldattention.kernels.reference.linear import dense_attention
from worldattention.kernels.reference.pool import block_count

ROWS_TOGETHER = 3
"""Rows of a selection in one call: many would overflow the cache of a core."""


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

    Every row of the selection, one query block of one head, is an attention of its own. Rows run head
    by head, since neighbours share blocks that are still in the cache; up to `ROWS_TOGETHER` of them
    that read equally many tokens run as one batch. Slower were: padding rows to a common length,
    masking the union of a head's rows, and sorting rows into larger batches.

    Arguments and result as in `masked_attention`.
    """
    batch, q_tokens, heads, channels = q.shape
    sizes = _token_counts(selected, block, k.shape[1]).tolist()
    if min(sizes) == k.shape[1]:
        return dense_attention(q, k, v)
    queries = _query_blocks(q, block)
    lines = _key_lines(selected, block, k.shape[1])
    sources = k.reshape(-1, channels), v.reshape(-1, channels)
    out = torch.empty_like(queries)
    line = 0
    for start, stop in _batches(sizes):
        rows, length = stop - start, (stop - start) * sizes[start]
        taken = lines[line : line + length]
        keys, values = (x.index_select(0, taken).view(1, rows, -1, channels) for x in sources)
        out[start:stop] = F.scaled_dot_product_attention(queries[None, start:stop], keys, values)[0]
        line += length
    return out.view(batch, heads, -1, channels)[:, :, :q_tokens].transpose(1, 2)


def _batches(sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Spans of at most `ROWS_TOGETHER` equal neighbours."""
    start = 0
    for _, group in groupby(sizes):
        end = start + len(list(group))
        for first in range(start, end, ROWS_TOGETHER):
            yield first, min(first + ROWS_TOGETHER, end)
        start = end


def _token_counts(selected: Tensor, block: int, k_tokens: int) -> Tensor:
    """Tokens that each row of the selection reads, [B * H * Nq]; the last block may be partial."""
    counts = selected.sum(dim=-1) * block
    missing = selected.shape[-1] * block - k_tokens
    if missing:
        counts -= selected[..., -1] * missing
    return counts.flatten()


def _key_lines(selected: Tensor, block: int, k_tokens: int) -> Tensor:
    """Where the selected tokens lie in keys flattened to [B * Lk * H, D], row after row."""
    _, heads, _, k_blocks = selected.shape
    sample, head, _, chosen = selected.nonzero(as_tuple=True)
    first = sample * (k_tokens * heads) + head + chosen * (block * heads)
    lines = first[:, None] + torch.arange(0, block * heads, heads)
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
