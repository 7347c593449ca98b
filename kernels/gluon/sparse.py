"""Launches block-sparse attention on Hopper."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from worldattention.kernels.gluon.kernel import attend_narrow, attend_wide
from worldattention.kernels.reference.lists import BlockLists
from worldattention.kernels.triton.support import LOG2_E, order_of


def settings(block: int, channels: int, qk_bytes: int = 2) -> dict[str, Any]:
    """Compile-time constants for blocks of 64 or 128 tokens and heads of 64 or 128 channels."""
    common: dict[str, Any] = {"KEYS": block, "D": channels, "QK_BYTES": qk_bytes, "num_warps": 4}
    if block == 64:  # small and many: several programs share a multiprocessor
        return {**common, "STAGES": 1 if channels == 128 else 2}
    stages = 2 if channels == 128 else 4
    return {**common, "STAGES": stages, "CONSUMER_REGISTERS": 240, "PRODUCER_REGISTERS": 24}


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
    flat = [_flat(x) for x in (q, k, v)]
    rows = 64
    descriptors = [_descriptor(x, size, channels) for x, size in zip(flat, (rows, block, block), strict=True)]
    out = torch.empty((1, q_tokens, heads, channels), dtype=torch.bfloat16, device=q.device)
    q_blocks, k_blocks = lists.indices.shape[2:]
    kernel = attend_wide if block == 128 else attend_narrow
    kernel[(heads * q_blocks,)](
        *descriptors, out, order_of(lists), lists.indices, lists.counts,
        (channels**-0.5 if scale is None else scale) * LOG2_E, heads * channels, q_blocks, k_blocks,
        q_tokens, k.shape[1], RAGGED=k.shape[1] % block != 0, **settings(block, channels, q.element_size()),
    )  # fmt: skip
    return out


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
