"""Functions that a GPU runs as few fused kernels: compiled on their first use there, plain everywhere else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from worldattention.kernels.reference.rope import rotate

_SHAPES = 64
"""So many shapes a function is compiled for; torch's own limit of 8 is an error in the ninth."""


def may_compile(tensor: Tensor) -> bool:
    """Where a GPU infers. Never on a CPU, where there may be no compiler, and not within another compilation."""
    return tensor.is_cuda and not torch.is_grad_enabled() and not torch.compiler.is_compiling()


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, compiled as one graph for every shape that it meets."""
    torch._dynamo.config.recompile_limit = _SHAPES
    return torch.compile(function, dynamic=False, fullgraph=True)


def rotate_pair(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys [B, L, H, D] rotated by one table [L, D / 2]."""
    pair: tuple[Tensor, Tensor] = (compiled(_both) if may_compile(q) else _both)(q, k, cos, sin)
    return pair


def _both(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return rotate(q, cos, sin), rotate(k, cos, sin)
