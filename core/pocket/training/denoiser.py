"""The transformer as training runs it: whole sequences, a mask of frames, one compilation for all layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from worldattention.core.geometry import POCKET_GEOMETRY
from worldattention.core.hsa import HSAParameters
from worldattention.core.models.transformer import CausalWanTransformer3DModel, run_block
from worldattention.kernels.reference.rope import rotary_table, rotate

POCKET_CONFIG: Mapping[str, Any] = {
    "patch_size": [1, 2, 2],
    "num_attention_heads": 6,
    "attention_head_dim": 64,
    "in_channels": 16,
    "out_channels": 16,
    "text_dim": 384,
    "freq_dim": 256,
    "ffn_dim": 1536,
    "num_layers": 8,
    "cross_attn_norm": True,
    "qk_norm": "rms_norm_across_heads",
    "eps": 1e-6,
}

Heads = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Attention over rotated q, k, v [B, L, H, D] -> [B, L, H, D]."""


@dataclass(frozen=True, slots=True)
class SequenceAttention:
    """What the self-attention of one sequence needs: tables [B, L, D / 2], frame mask [B, F, F], block mask."""

    cos: Tensor
    sin: Tensor
    visible: Tensor
    mask: Any

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Dense attention within the mask, un-compiled; q and k un-rotated."""
        q, k = rotate(q, self.cos, self.sin), rotate(k, self.cos, self.sin)
        return masked_attention(q, k, v, self.mask)


def sequence_attention(
    position: Tensor, visible: Tensor, head_dim: int, grid: tuple[int, int] = POCKET_GEOMETRY.grid
) -> SequenceAttention:
    """Tables and masks for slots `position` [B, F] and `visible` [B, F, F] of frames of `grid` tokens."""
    cos, sin = rotary_table(position, grid, head_dim)
    return SequenceAttention(cos, sin, visible, frame_mask(visible, grid[0] * grid[1]))


def frame_mask(visible: Tensor, tokens: int) -> Any:
    """`visible` [B, F, F] as a BlockMask of frames of `tokens` on a GPU; as a dense mask on the CPU,
    where an eager FlexAttention would ignore which blocks are listed."""
    heads = visible[:, None]
    if not visible.is_cuda:
        return heads.repeat_interleave(tokens, 2).repeat_interleave(tokens, 3)
    from torch.nn.attention.flex_attention import BlockMask

    count = heads.sum(-1, dtype=torch.int32)
    index = torch.sort((~heads).to(torch.int8), dim=-1, stable=True).indices.to(torch.int32)
    lengths = (visible.shape[-2] * tokens, visible.shape[-1] * tokens)
    return BlockMask.from_kv_blocks(
        count.contiguous(), index.contiguous(), BLOCK_SIZE=tokens, seq_lengths=lengths
    )


def masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
    """Attention within `mask` (of `frame_mask`); all [B, L, H, D]."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if isinstance(mask, Tensor):
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    else:
        from torch.nn.attention.flex_attention import flex_attention

        out = flex_attention(q, k, v, block_mask=mask)
    return out.transpose(1, 2)


def dense_block(
    block: nn.Module,
    hidden: Tensor,
    modulation: Tensor,
    text: tuple[Tensor, Tensor],
    frame_text: Tensor | None,
    cos: Tensor,
    sin: Tensor,
    mask: Any,
    eps: float,
) -> Tensor:
    """One layer over whole sequences [B, L, dim], dense within the mask."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return masked_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, mask)

    return run_block(block, hidden, modulation, text, attend, frame_text, eps)


@cache
def compiled(function: Callable[..., Tensor], device_type: str) -> Callable[..., Tensor]:
    """`function`, compiled for GPUs. Nothing is compiled on the CPU, where there may be no compiler."""
    if device_type != "cuda":
        return function
    torch._dynamo.config.recompile_limit = 64
    return torch.compile(function, dynamic=False)


class SequenceTransformer(CausalWanTransformer3DModel):
    """The model itself; a layer runs as one function that is compiled once for all layers."""

    def _block(
        self,
        layer: int,
        hidden: Tensor,
        modulation: Tensor,
        text: tuple[Tensor, Tensor],
        attend: Any,
        frame_text: Tensor | None,
    ) -> Tensor:
        if not isinstance(attend, SequenceAttention):
            return super()._block(layer, hidden, modulation, text, attend, frame_text)
        run = compiled(dense_block, hidden.device.type)
        return run(
            self.blocks[layer], hidden, modulation, text, frame_text, attend.cos, attend.sin, attend.mask,
            self.config.eps,
        )  # fmt: skip


def new_transformer(
    device: torch.device, layers: int, kind: type[SequenceTransformer] = SequenceTransformer
) -> SequenceTransformer:
    """A transformer of the pocket world with `layers` layers, initialised: every block starts as the identity,
    and the prediction as zero."""
    model: SequenceTransformer = kind.from_config(dict(POCKET_CONFIG) | {"num_layers": layers})
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
    with torch.no_grad():
        for block in model.blocks:
            for last in (block.attn1.to_out[0], block.attn2.to_out[0], block.ffn.net[2]):
                last.weight.zero_()
        embedder = model.condition_embedder
        for linear in (embedder.time_embedder.linear_1, embedder.time_embedder.linear_2):
            linear.weight.normal_(std=0.02)
        model.proj_out.weight.zero_()
    return model.to(device).train()


def attach_hsa(model: CausalWanTransformer3DModel, tokens: int) -> list[HSAParameters]:
    """Give every layer HSA parameters for frames of `tokens`, as `blocks.N.attn1.hsa`; those there stay."""
    for block in model.blocks:
        if not hasattr(block.attn1, "hsa"):
            block.attn1.hsa = HSAParameters(tokens, model.config.attention_head_dim).to(model.device)
    return [block.attn1.hsa for block in model.blocks]
