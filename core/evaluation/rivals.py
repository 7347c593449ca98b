"""Other people's attention on the same tensors: what the benchmark compares with where it is there.

On a GPU: cuDNN's and flash's SDPA always, flash-attn-4 where it is installed, FlexAttention over the same selection.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from worldattention.kernels.reference.lists import block_lists

Dense = Callable[[Tensor, Tensor, Tensor], object]
"""q [B, Lq, H, D], k, v [B, L, H, D]."""


def dense_rivals(device: torch.device, dtype: torch.dtype) -> dict[str, Dense]:
    """Dense attention by others, by name; they multiply half precision on GPUs."""
    if device.type != "cuda" or dtype == torch.float32:
        return {}
    rivals: dict[str, Dense] = {"cudnn": _cudnn, "flash": _flash}
    if importlib.util.find_spec("flash_attn") and importlib.util.find_spec("flash_attn.cute"):
        rivals["flash_attn_4"] = _flash_attention_4
    return rivals


def _cudnn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return _sdpa("CUDNN_ATTENTION", q, k, v)


def _flash(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return _sdpa("FLASH_ATTENTION", q, k, v)


def _sdpa(backend: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, backend)):
        return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))


def _flash_attention_4(q: Tensor, k: Tensor, v: Tensor) -> object:
    interface = importlib.import_module("flash_attn.cute.interface")
    return interface.flash_attn_func(q, k, v)


def flex_rival(q: Tensor, k: Tensor, v: Tensor, selected: Tensor, block: int) -> Callable[[], object] | None:
    """FlexAttention over a selection [B, H, Nq, Nk], compiled; None off a GPU and for blocks that it lacks."""
    if not q.is_cuda or block != 128:
        return None
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    lists = block_lists(selected)
    mask = BlockMask.from_kv_blocks(
        lists.counts, lists.indices, BLOCK_SIZE=block, seq_lengths=(q.shape[1], k.shape[1])
    )
    run = torch.compile(flex_attention, dynamic=False)
    heads = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    return lambda: run(heads[0], heads[1], heads[2], block_mask=mask)
