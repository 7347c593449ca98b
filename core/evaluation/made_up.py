"""Models with random weights at any size, for speed alone: nothing can be said of their pictures."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch
from torch import nn

from worldattention.core.geometry import Geometry
from worldattention.core.hsa import HSAParameters
from worldattention.core.loading import pick_dtype
from worldattention.core.models.checkpoint import cast
from worldattention.core.models.text import TextEncoding
from worldattention.core.models.transformer import CausalWanTransformer3DModel
from worldattention.core.models.wan_vae import WanStreamingDecoder, ready_to_decode, steady_decoder
from worldattention.core.models.world import WorldModel


@dataclass(frozen=True, slots=True)
class MadeUpSize:
    """Sizes of a transformer, its text, its autoencoder and its picture."""

    layers: int
    heads: int
    head_dim: int
    feed_forward: int
    text_dim: int
    text_tokens: int
    vae_channels: int
    vae_multiples: tuple[int, ...]
    height: int
    width: int


SIZES = {
    "wan": MadeUpSize(30, 12, 128, 8960, 4096, 512, 96, (1, 2, 4, 4), 480, 832),
    "toy": MadeUpSize(2, 2, 16, 32, 16, 8, 8, (1, 1, 1, 1), 32, 64),
}
"""`wan` is Wan2.1-T2V-1.3B at 480 x 832."""


class HashText:
    """Every text is a random vector of its own: prompts differ, and that is all."""

    def __init__(self, dim: int, tokens: int) -> None:
        self._dim, self._tokens = dim, tokens
        self._known: dict[str, TextEncoding] = {}

    def encode(self, text: str) -> TextEncoding:
        """tokens [L, D] of unit scale."""
        if text in self._known:
            return self._known[text]
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "little")
        tokens = torch.randn(self._tokens, self._dim, generator=torch.Generator().manual_seed(seed))
        mean = tokens.mean(0)
        self._known[text] = TextEncoding(tokens, mean / mean.norm(), self._tokens)
        return self._known[text]


def made_up_model(size: MadeUpSize, device: torch.device, seed: int = 0) -> WorldModel:
    """A Wan model of this size with random weights on `device`, in the type that runs there."""
    # Imported here, since only this and model folders need it.
    from diffusers import AutoencoderKLWan

    dtype = pick_dtype(device)
    torch.manual_seed(seed)
    geometry = Geometry(size.height, size.width, 16, size.height // 8, size.width // 8, first_block_frames=9)
    with device:
        transformer = CausalWanTransformer3DModel(
            num_attention_heads=size.heads,
            attention_head_dim=size.head_dim,
            in_channels=16,
            out_channels=16,
            text_dim=size.text_dim,
            freq_dim=256,
            ffn_dim=size.feed_forward,
            num_layers=size.layers,
        ).eval()
        layers = [HSAParameters(geometry.frame_tokens, size.head_dim) for _ in range(size.layers)]
        vae = AutoencoderKLWan(base_dim=size.vae_channels, dim_mult=list(size.vae_multiples))
    for block in transformer.blocks:
        block.attn1.fuse_projections()
        for projection in ("to_q", "to_k", "to_v"):
            delattr(block.attn1, projection)
    modules: list[nn.Module] = [transformer, *layers]
    for module in modules:
        cast(module, dtype, device)
    ready = ready_to_decode(vae, device, dtype)
    steady = steady_decoder(ready, device)
    return WorldModel(
        name="made-up",
        fingerprint=f"made-up-{size.layers}x{size.heads}x{size.head_dim}-{seed}",
        geometry=geometry,
        transformer=transformer,
        hsa=tuple(layers),
        text_encoder=HashText(size.text_dim, size.text_tokens),
        new_decoder=lambda: WanStreamingDecoder(ready, device, dtype, steady),
        device=device,
        dtype=dtype,
    )
