"""Linear branch: attention over a few projected rows per latent frame (DESIGN section 3)."""

import torch
from torch import Tensor
from torch.nn import functional as F

ROW_TOKENS = 64
"""Tokens that one coarse row stands for."""


def coarse_rank(segment: int) -> int:
    """Coarse rows of a segment of `segment` tokens: ceil(segment / 64)."""
    return -(-segment // ROW_TOKENS)


def coarse_rows(x: Tensor, projection: Tensor) -> Tensor:
    """Project every segment of tokens on its coarse rows: Xtilde = E X.

    Args:
        x: [B, S * segment, H, D], rotated keys or values.
        projection: E, [rank, segment], shared by heads.

    Returns:
        [B, S * rank, H, D] in `x.dtype`.

    Raises:
        ValueError: the tokens are not whole segments.
    """
    batch, tokens, heads, channels = x.shape
    rank, segment = projection.shape
    if tokens % segment:
        raise ValueError(f"{tokens} tokens are not whole segments of {segment}")
    segments = x.reshape(batch * tokens // segment, segment, heads * channels)
    # A GPU multiplies an E that lies column by column (rows of 25 numbers) without its fast loads.
    e = projection.to(x.dtype).contiguous()
    # A batched product with an expanded E is several times as fast on a CPU as broadcasting `@`.
    rows = torch.bmm(e.expand(len(segments), rank, segment), segments)
    return rows.view(batch, tokens // segment * rank, heads, channels)


def linear_attention(q: Tensor, coarse_keys: Tensor, coarse_values: Tensor) -> Tensor:
    """Softmax attention of full-resolution queries against the coarse rows.

    Args:
        q: [B, Lq, H, D].
        coarse_keys, coarse_values: [B, R, H, D].

    Returns:
        [B, Lq, H, D].
    """
    return dense_attention(q, coarse_keys, coarse_values)


def dense_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Softmax attention in the layout of the window.

    Args:
        q: [B, Lq, H, D].
        k, v: [B, L, H, D].

    Returns:
        [B, Lq, H, D], a view whose memory may lie head by head.
    """
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
    return out.transpose(1, 2)
