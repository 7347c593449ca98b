"""One public function per op; each picks its backend by device, and `explain` says which and why.

The semantics are those of `kernels.reference`; shapes are documented there. `use` asks for one backend instead.
"""

from __future__ import annotations

import torch
from torch import Tensor

from worldattention.kernels.backends import (
    KERNEL_OPS,
    SDPA,
    BackendError,
    Case,
    Choice,
    choose,
)
from worldattention.kernels.reference import codec as _codec
from worldattention.kernels.reference import pool as _pool
from worldattention.kernels.reference import routing as _routing
from worldattention.kernels.reference import sparse as _sparse
from worldattention.kernels.reference.codec import Encoded, PageCodec
from worldattention.kernels.reference.gate import gated_sum
from worldattention.kernels.reference.linear import coarse_rows, dense_attention, linear_attention
from worldattention.kernels.reference.lists import BlockLists, block_lists
from worldattention.kernels.reference.rope import rotate
from worldattention.kernels.reference.routing import Routing
from worldattention.kernels.uses import Use

OPS = (*KERNEL_OPS, "dense_attention", "linear_attention", "coarse_rows", "gated_sum", "rotate")
"""The public functions."""

__all__ = [
    "OPS", "BackendError", "BlockLists", "Case", "Choice", "Encoded", "PageCodec", "Routing",
    "add_linear_branch", "block_means", "choose", "coarse_rows", "dense_attention", "encode_page", "explain",
    "gated_sum", "install_page", "linear_attention", "rotate", "route", "sparse_attention",
]  # fmt: skip


def sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    selected: Tensor,
    block: int,
    lists: BlockLists | None = None,
    use: Use = "auto",
) -> Tensor:
    """Attention of q [B, Lq, H, D] over the selected blocks of k, v [B, Lk, H, D].

    Args:
        selected: [B, H, ceil(Lq / block), ceil(Lk / block)] bool, at least one block in each row.
        lists: the same selection as lists, where routing made them.

    Returns:
        [B, Lq, H, D]. Gradients reach q, k and v, not the selection; with them, kernels of Triton run, forward too.

    Raises:
        ValueError: the selection does not fit the tensors, or `use` cannot run them.
    """
    _sparse.validate_selection(q, k, selected, block)
    family = choose("sparse_attention", Case.of(q, block), use).family
    if family == "torch":
        run = _sparse.gathered_attention if q.device.type == "cpu" else _sparse.masked_attention
        return run(q, k, v, selected, block)
    if _needs_gradient(q, k, v):
        from worldattention.kernels.triton import backward

        return backward.differentiable_sparse_attention(q, k, v, selected, block)
    lists = lists or block_lists(selected)
    if family == "gluon":
        from worldattention.kernels.gluon import sparse as gluon

        return gluon.sparse_attention(q, k, v, lists, block)
    from worldattention.kernels.triton import sparse as triton

    return triton.sparse_attention(q, k, v, lists, block)[0]


def add_linear_branch(
    q: Tensor,
    sparse: Tensor,
    coarse_keys: Tensor,
    coarse_values: Tensor,
    weight: Tensor,
    bias: Tensor,
    use: Use = "auto",
) -> Tensor:
    """sparse + sigmoid(W q + b) * softmax(q Ktilde^T / sqrt(D)) Vtilde, all [B, Lq, H, D]; coarse rows [B, R, H, D]."""
    if choose("add_linear_branch", Case.of(q), use).family == "torch":
        linear = linear_attention(q, coarse_keys, coarse_values)
        return gated_sum(q, sparse, linear, weight, bias)
    if _needs_gradient(q, sparse, coarse_keys, coarse_values, weight, bias):
        from worldattention.kernels.triton import backward

        linear = backward.differentiable_linear_attention(q, coarse_keys, coarse_values)
        return gated_sum(q, sparse, linear, weight, bias)
    from worldattention.kernels.triton import linear as triton

    return triton.add_linear_branch(q, sparse, coarse_keys, coarse_values, weight, bias)


def _needs_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def route(
    pooled_q: Tensor,
    pooled_k: Tensor,
    tau_min: float,
    tau_max: float,
    density: float | None = None,
    use: Use = "auto",
) -> Routing:
    """Route block means, [B, Nq, H, D] against [B, Nk, H, D]; see `reference.routing`."""
    if choose("route", Case.of(pooled_q), use).family == "torch":
        return _routing.route(pooled_q, pooled_k, tau_min, tau_max, density)
    from worldattention.kernels.triton import routing as triton

    return triton.route(pooled_q, pooled_k, tau_min, tau_max, density)


def block_means(x: Tensor, block: int, out: Tensor | None = None, use: Use = "auto") -> Tensor:
    """Mean of each block, [B, L, H, D] -> [B, ceil(L / block), H, D] fp32; see `reference.pool`."""
    if choose("block_means", Case.of(x, block), use).family == "torch":
        return _pool.block_means(x, block, out)
    from worldattention.kernels.triton import pool as triton

    return triton.block_means(x, block, out)


def install_page(
    encoded: Encoded, out: Tensor, rotary: tuple[Tensor, Tensor] | None = None, use: Use = "auto"
) -> None:
    """Decode a page's keys or values [layers, L, H, D], rotate them where `rotary` is given, write into `out`.

    Args:
        encoded: on the device of `out`, or in pinned main memory.
        out: [layers, L, H, D], any strides but a last one of 1.
        rotary: cos, sin [L, D / 2] fp32 on the device of `out`.
    """
    if choose("install_page", Case(out.device, out.shape[-1], dtype=out.dtype), use).family == "torch":
        scale = None if encoded.scale is None else encoded.scale.to(out.device, non_blocking=True)
        moved = Encoded(encoded.data.to(out.device, non_blocking=True), scale)
        if rotary is None:
            out.copy_(_codec.decode(moved, out.dtype))
        else:
            rotate(_codec.decode(moved, torch.float32), *rotary, out=out)
        return
    from worldattention.kernels.triton import pages as triton

    triton.install(encoded, out, rotary)


def encode_page(x: Tensor, codec: PageCodec, use: Use = "auto") -> Encoded:
    """Encode a page's keys or values [layers, L, H, D]; see `reference.codec`."""
    if choose("encode_page", Case.of(x), use).family == "torch":
        return _codec.encode(x, codec)
    from worldattention.kernels.triton import pages as triton

    return triton.encode(x, codec)


def explain(
    device: torch.device | str | None = None, case: Case | None = None, use: Use = "auto"
) -> list[Choice]:
    """What runs each op on `device` (by default: CUDA where there is one, else the CPU) or for `case`.

    Raises:
        BackendError: `use` names a backend that cannot run an op.
    """
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    case = case or Case(where)
    kind = case.device.type
    return [
        *(choose(op, case, use) for op in KERNEL_OPS),
        Choice("dense_attention", f"torch, {SDPA}", f"the fastest dense attention that torch has on {kind}"),
        Choice("linear_attention", f"torch, {SDPA}", "few coarse rows: dense attention is enough"),
        Choice("coarse_rows", "torch", "a matrix product: the vendor's library is enough"),
        *(Choice(op, "torch", f"runs on {kind} as plain torch") for op in ("gated_sum", "rotate")),
    ]
