"""Fusion of the two branches (DESIGN section 3): out = sparse + sigmoid(W q + b) * linear."""

import torch
from torch import Tensor
from torch.nn import functional as F


def gated_sum(q: Tensor, sparse: Tensor, linear: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Add the linear branch through a gate per token and channel. Not a convex mix.

    Args:
        q, sparse, linear: [B, L, H, D].
        weight: W [D, D], shared by heads.
        bias: b [D].

    Returns:
        [B, L, H, D] in `sparse.dtype`.
    """
    gate = F.linear(q, weight.to(q.dtype), bias.to(q.dtype)).sigmoid_()
    return torch.addcmul(sparse, gate, linear)
