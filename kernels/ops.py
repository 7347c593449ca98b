"""One public function per op; each picks its backend by device, and `explain` says which and why.

The semantics are those of `kernels.reference`; shapes are documented there.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from worldattention.kernels.reference import sparse as _sparse
from worldattention.kernels.reference.gate import gated_sum
from worldattention.kernels.reference.linear import coarse_rows, dense_attention, linear_attention
from worldattention.kernels.reference.pool import block_means
from worldattention.kernels.reference.rope import rotate
from worldattention.kernels.reference.routing import Routing, route

__all__ = [
    "Choice",
    "Routing",
    "block_means",
    "coarse_rows",
    "dense_attention",
    "explain",
    "gated_sum",
    "linear_attention",
    "rotate",
    "route",
    "sparse_attention",
]


class Choice(NamedTuple):
    """Which backend runs an op, and why."""

    op: str
    backend: str
    why: str


def sparse_attention(q: Tensor, k: Tensor, v: Tensor, selected: Tensor, block: int) -> Tensor:
    """Attention of q [B, Lq, H, D] over the selected blocks of k, v [B, Lk, H, D].

    Args:
        selected: [B, H, ceil(Lq / block), ceil(Lk / block)] bool, at least one block in each row.

    Returns:
        [B, Lq, H, D].

    Raises:
        ValueError: the selection does not fit the tensors.
    """
    _sparse.validate_selection(q, k, selected, block)
    run = _sparse.gathered_attention if q.device.type == "cpu" else _sparse.masked_attention
    return run(q, k, v, selected, block)


def explain(device: torch.device | str | None = None) -> list[Choice]:
    """What runs each op on `device` (by default: CUDA where there is one, else the CPU)."""
    kind = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu")).type
    sdpa = "scaled_dot_product_attention"
    if kind == "cpu":
        sparse = Choice("sparse_attention", "torch, gathered", "on a CPU only selected blocks are multiplied")
    else:
        sparse = Choice(
            "sparse_attention",
            f"torch {sdpa}, masked",
            f"no kernel of our own for {kind}: right, but not faster",
        )
    plain = f"runs on {kind} as plain torch"
    return [
        sparse,
        Choice("dense_attention", f"torch {sdpa}", f"the fastest dense attention that torch has on {kind}"),
        Choice("linear_attention", f"torch {sdpa}", "few coarse rows: dense attention is enough"),
        *(
            Choice(op, "torch", plain)
            for op in ("route", "block_means", "coarse_rows", "gated_sum", "rotate")
        ),
    ]
