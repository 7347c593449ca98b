"""Launches block-sparse attention on Hopper."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from worldattention.kernels.gluon.narrow import attend_narrow
from worldattention.kernels.gluon.wide import attend_shares
from worldattention.kernels.reference.lists import BlockLists
from worldattention.kernels.triton.shares import merge, room, share
from worldattention.kernels.triton.support import LOG2_E, order_of


def settings(block: int, channels: int, qk_bytes: int = 2) -> dict[str, Any]:
    """Compile-time constants for blocks of 64 or 128 tokens and heads of 64 or 128 channels."""
    common: dict[str, Any] = {"KEYS": block, "D": channels, "QK_BYTES": qk_bytes, "num_warps": 4}
    if block == 64:  # small and many: several programs share a multiprocessor
        return {**common, "STAGES": 1 if channels == 128 else 2}
    return {
        **common,
        "STAGES": 2 if channels == 128 else 4,
        "SLOTS": 2,
        "TMA_STORE": qk_bytes == 2,  # results leave from where the queries lay
        "CONSUMER_REGISTERS": 240,
        "PRODUCER_REGISTERS": 24,
    }


def sparse_attention(
    q: Tensor, k: Tensor, v: Tensor, lists: BlockLists, block: int, scale: float | None = None
) -> Tensor:
    """Attention of q [1, Lq, H, D] over the listed blocks of k, v [1, Lk, H, D].

    Args:
        q, k: bf16, or both fp8 (e4m3): then `scale` holds their own scales too.
        v: bf16.
        scale: of the logits; 1 / sqrt(D) by default.

    Returns:
        [1, Lq, H, D] bf16.

    Raises:
        ValueError: a tensor's heads and channels do not lie side by side, or there is more than one world.
    """
    _, q_tokens, heads, channels = q.shape
    q_flat, k_flat, v_flat = (_flat(x) for x in (q, k, v))
    described = (
        _descriptor(q_flat, 64, channels), _descriptor(k_flat, block, channels), _descriptor(v_flat, block, channels),
    )  # fmt: skip
    out = torch.empty((1, q_tokens, heads, channels), dtype=torch.bfloat16, device=q.device)
    sizes = (heads * channels, *lists.indices.shape[2:], q_tokens, k.shape[1])
    factor = (channels**-0.5 if scale is None else scale) * LOG2_E
    options = {"RAGGED": k.shape[1] % block != 0, **settings(block, channels, q.element_size())}
    if block == 64:
        attend_narrow[(lists.counts.numel(),)](
            *described, out, order_of(lists), lists.indices, lists.counts, factor, *sizes, **options
        )
        return out
    programs = multiprocessors(q.device)
    shares, parts = share(lists.counts, programs), room(programs, block, channels, q.device)
    attend_shares[(programs,)](
        *described, _descriptor(_flat(out), 64, channels), out, *parts, *shares, lists.indices, lists.counts,
        factor, *sizes, **options,
    )  # fmt: skip
    merge(parts, shares, lists.counts, out)
    return out


def multiprocessors(device: torch.device) -> int:
    """How many programs with all of a multiprocessor's shared memory run at once."""
    return torch.cuda.get_device_properties(device).multi_processor_count


def _flat(x: Tensor) -> Tensor:
    """[1, L, H, D] as [L, H * D], without a copy."""
    if x.shape[0] != 1 or x.stride(3) != 1 or x.stride(2) != x.shape[3]:
        raise ValueError(
            f"one world with heads and channels side by side is needed, not strides {x.stride()}"
        )
    return x[0].flatten(1)


def _descriptor(x: Tensor, rows: int, channels: int) -> Any:
    kind = gl.bfloat16 if x.dtype == torch.bfloat16 else gl.float8e4nv
    layout = gl.NVMMASharedLayout.get_default_for([rows, channels], kind)
    return TensorDescriptor.from_tensor(x, [rows, channels], layout)
