"""The causal Wan transformer: diffusers' WanTransformer3DModel, run block by block over a key/value window.

Only the forward pass is ours: weights, names and configuration are those of diffusers (DESIGN 5), so that
Wan2.1-T2V-1.3B and the pocket world are the same class. Self-attention is handed to a callable, which owns
the window, the rotary positions and the attention mode; cross-attention reads keys and values of the prompt
that are computed once per prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from diffusers import WanTransformer3DModel
from torch import Tensor

from worldattention.core.compiled import compiled, may_compile
from worldattention.core.models.packed import PackedLinear

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""`attend(layer, q, k, v) -> out`; all [B, L, H, D], q and k after QK-norm and before rotation."""

TextKeysValues = Sequence[tuple[Tensor, Tensor]]
"""Per layer the prompt's cross-attention keys and values, [N, L, H, D]."""


@dataclass(frozen=True, slots=True)
class TimeEmbedding:
    """What a timestep contributes, ready for every layer.

    `blocks`: [layers, B, G, 6, dim] fp32, shift, 1 + scale, gate for self-attention, then for the feed-forward;
    `head`: [B, G, 2, dim] fp32, shift and 1 + scale. G groups of consecutive frames share a timestep.
    """

    blocks: Tensor
    head: Tensor


class CausalWanTransformer3DModel(WanTransformer3DModel):
    """Wan's transformer over one block of latent frames and a window of earlier keys and values."""

    def text_keys_values(self, tokens: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Cross-attention keys and values of prompts.

        tokens [N, L, text_dim] -> per layer (k, v), each [N, L, H, D] in the model's dtype.
        """
        weight = self.condition_embedder.text_embedder.linear_1.weight
        context = self.condition_embedder.text_embedder(tokens.to(weight.dtype))
        pairs = []
        for block in self.blocks:
            attention = block.attn2
            k = attention.norm_k(attention.to_k(context)).unflatten(-1, (attention.heads, -1))
            v = attention.to_v(context).unflatten(-1, (attention.heads, -1))
            pairs.append((k.to(v.dtype), v))
        return pairs

    def time_embedding(self, timesteps: Tensor) -> TimeEmbedding:
        """Modulation of every layer at `timesteps` [B, G] (0..1000), in fp32."""
        embedder = self.condition_embedder
        sinusoid = embedder.timesteps_proj(timesteps.flatten().float())
        weight = embedder.time_embedder.linear_1.weight
        embedded = embedder.time_embedder(sinusoid.to(weight.dtype)).float().unflatten(0, timesteps.shape)
        projected = embedder.time_proj(embedder.act_fn(embedded).to(embedder.time_proj.weight.dtype)).float()
        tables = torch.stack(
            [block.scale_shift_table.float() for block in self.blocks]
        )  # [layers, 1, 6, dim]
        one = _one_on_scale(6, projected.device)
        blocks = tables[:, :, None] + projected.unflatten(-1, (6, -1)) + one
        head = (
            self.scale_shift_table.float()[:, None] + embedded[:, :, None] + _one_on_scale(2, embedded.device)
        )
        return TimeEmbedding(blocks, head)

    def predict(
        self,
        latents: Tensor,
        time: Tensor | TimeEmbedding,
        text: TextKeysValues,
        attend: Attend,
        frame_text: Tensor | None = None,
        out_from: int = 0,
    ) -> Tensor:
        """The velocity (noise - clean) of latent frames.

        latents [B, F, C, h, w]; time: timesteps [B, G] with G a divisor of F, or their embedding; text of N
        prompts, N = B or, with `frame_text` [B * F], any number of prompts of which each frame sees one.
        Returns [B, F - out_from, C, h, w] in the latents' dtype.
        """
        frames, height, width = latents.shape[1], *latents.shape[-2:]
        embedding = time if isinstance(time, TimeEmbedding) else self.time_embedding(time)
        groups = embedding.head.shape[1]
        hidden = self._hidden(latents, embedding, text, attend, frame_text, len(self.blocks))
        tokens = hidden.shape[1] // frames
        hidden = hidden.unflatten(1, (frames, tokens))[:, out_from:]
        shift, scale = embedding.head.repeat_interleave(frames // groups, 1)[:, out_from:].unbind(2)
        hidden = _modulate(hidden, shift, scale, self.config.eps)
        return self._unpatchify(self.proj_out(hidden), height, width).to(latents.dtype)

    def projections(
        self, latents: Tensor, time: TimeEmbedding, text: TextKeysValues, attend: Attend, layer: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v of a layer, [B, L, H, D]; only the layers before it are run. latents [B, F, C, h, w]."""
        hidden = self._hidden(latents, time, text, attend, None, layer)
        return _before_attention(self.blocks[layer], hidden, time.blocks[layer], self.config.eps)

    def _hidden(
        self,
        latents: Tensor,
        time: TimeEmbedding,
        text: TextKeysValues,
        attend: Attend,
        frame_text: Tensor | None,
        layers: int,
    ) -> Tensor:
        """The hidden states [B, L, dim] behind the first `layers` layers."""
        hidden = self._patchify(latents)
        for layer in range(layers):
            hidden = self._block(layer, hidden, time.blocks[layer], text[layer], attend, frame_text)
        return hidden

    def _block(
        self,
        layer: int,
        hidden: Tensor,
        modulation: Tensor,
        text: tuple[Tensor, Tensor],
        attend: Attend,
        frame_text: Tensor | None,
    ) -> Tensor:
        """One transformer block: [B, L, dim] -> [B, L, dim]."""

        def attend_here(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return attend(layer, q, k, v)

        return run_block(
            self.blocks[layer], hidden, modulation, text, attend_here, frame_text, self.config.eps
        )

    def _patchify(self, latents: Tensor) -> Tensor:
        """[B, F, C, h, w] -> [B, F * T, dim]. The patch convolution as a matrix product: its stride is its size."""
        weight, bias = self.patch_embedding.weight, self.patch_embedding.bias
        batch, frames, channels, height, width = latents.shape
        _, rows, columns = self.config.patch_size
        patches = latents.reshape(batch, frames, channels, height // rows, rows, width // columns, columns)
        patches = patches.permute(0, 1, 3, 5, 2, 4, 6).flatten(4).flatten(1, 3)
        return F.linear(patches.to(weight.dtype), weight.flatten(1), bias)

    def _unpatchify(self, out: Tensor, height: int, width: int) -> Tensor:
        """[B, F, T, patch * C] -> [B, F, C, h, w]; channels come last in diffusers' projection."""
        _, rows, columns = self.config.patch_size
        out = out.unflatten(3, (rows, columns, -1)).unflatten(2, (height // rows, width // columns))
        return out.permute(0, 1, 6, 2, 4, 3, 5).flatten(5, 6).flatten(3, 4)


def run_block(
    block: Any,
    hidden: Tensor,
    modulation: Tensor,
    text: tuple[Tensor, Tensor],
    attend: Callable[[Tensor, Tensor, Tensor], Tensor],
    frame_text: Tensor | None,
    eps: float,
) -> Tensor:
    """One transformer block as a function of its weights, so that one compilation serves all layers.

    hidden [B, L, dim]; modulation [B, G, 6, dim]; text (k, v) [N, L, H, D]; `frame_text` as in `predict`.
    """
    after = compiled(after_attention) if may_compile(hidden) else after_attention
    q, k, v = _before_attention(block, hidden, modulation, eps)
    out: Tensor = after(block, hidden, attend(q, k, v), modulation, text, frame_text, eps)
    return out


def _before_attention(
    block: Any, hidden: Tensor, modulation: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`before_attention`; compiled, norms and modulation cost no launch of their own."""
    before = compiled(before_attention) if may_compile(hidden) else before_attention
    parts: tuple[Tensor, Tensor, Tensor] = before(block, hidden, modulation, eps)
    return parts


def before_attention(
    block: Any, hidden: Tensor, modulation: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k (normed) and v [B, L, H, D] of a block."""
    shift, scale = modulation.unbind(2)[:2]
    grouped = hidden.unflatten(1, (modulation.shape[1], -1))
    return _self_projections(block.attn1, _modulate(grouped, shift, scale, eps).flatten(1, 2))


def after_attention(
    block: Any,
    hidden: Tensor,
    attended: Tensor,
    modulation: Tensor,
    text: tuple[Tensor, Tensor],
    frame_text: Tensor | None,
    eps: float,
) -> Tensor:
    """What follows self-attention [B, L, H, D] in a block: its projection, the prompt, the feed-forward."""
    _, _, gate, ff_shift, ff_scale, ff_gate = modulation.unbind(2)
    groups = modulation.shape[1]
    grouped = hidden.unflatten(1, (groups, -1))
    out = attended.flatten(2)
    grouped = _gated_add(grouped, block.attn1.to_out[0](out).unflatten(1, (groups, -1)), gate)
    hidden = grouped.flatten(1, 2)

    normed = F.layer_norm(
        hidden.float(), hidden.shape[-1:], block.norm2.weight.float(), block.norm2.bias.float(), eps
    )
    hidden = hidden + _cross_attention(block.attn2, normed.to(hidden.dtype), text, frame_text)

    grouped = hidden.unflatten(1, (groups, -1))
    normed = _modulate(grouped, ff_shift, ff_scale, eps).flatten(1, 2)
    grouped = _gated_add(grouped, _feed_forward(block.ffn.net, normed).unflatten(1, (groups, -1)), ff_gate)
    return grouped.flatten(1, 2)


def _cross_attention(
    attention: Any, hidden: Tensor, text: tuple[Tensor, Tensor], frame_text: Tensor | None
) -> Tensor:
    """Attention of tokens [B, L, dim] to their prompts."""
    k, v = text
    if frame_text is not None:
        k, v = k[frame_text], v[frame_text]
    q = attention.norm_q(attention.to_q(hidden)).to(v.dtype)
    q = q.reshape(k.shape[0], -1, attention.heads, k.shape[-1])
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
    return attention.to_out[0](out.transpose(1, 2).reshape(hidden.shape)).to(hidden.dtype)


def _feed_forward(net: Any, hidden: Tensor) -> Tensor:
    """[B, L, dim] -> [B, L, dim]."""
    first = net[0].proj
    if isinstance(first, PackedLinear):
        return net[2](first.gelu(hidden))
    return net[2](F.gelu(first(hidden), approximate="tanh"))


def _one_on_scale(rows: int, device: torch.device) -> Tensor:
    """[rows, 1] with 1 where a row is a scale (second of every three, or of two): 1 + scale is what is used."""
    is_scale = [1.0 if row % 3 == 1 else 0.0 for row in range(rows)]
    return torch.tensor(is_scale, device=device)[:, None]


def _modulate(hidden: Tensor, shift: Tensor, scale: Tensor, eps: float) -> Tensor:
    """LayerNorm without weights, then x * scale + shift per group: hidden [B, G, L, dim], shift [B, G, dim]."""
    if (
        shift.shape[0] == shift.shape[1] == 1
    ):  # one timestep for all: scale and shift are the norm's own weights
        return F.layer_norm(hidden.float(), hidden.shape[-1:], scale[0, 0], shift[0, 0], eps).to(hidden.dtype)
    normed = F.layer_norm(hidden.float(), hidden.shape[-1:], eps=eps)
    return (normed * scale[:, :, None] + shift[:, :, None]).to(hidden.dtype)


def _gated_add(hidden: Tensor, update: Tensor, gate: Tensor) -> Tensor:
    """hidden + update * gate, in fp32, returned in the stream's dtype."""
    return torch.addcmul(hidden.float(), update.float(), gate[:, :, None]).to(hidden.dtype)


def _self_projections(attention: Any, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k (normed over all heads together) and v: [B, L, H, D]."""
    if attention.fused_projections:
        q, k, v = attention.to_qkv(hidden).chunk(3, dim=-1)
    else:
        q, k, v = attention.to_q(hidden), attention.to_k(hidden), attention.to_v(hidden)
    heads = (attention.heads, -1)
    q, k = attention.norm_q(q).to(v.dtype), attention.norm_k(k).to(v.dtype)
    return q.unflatten(-1, heads), k.unflatten(-1, heads), v.unflatten(-1, heads)
