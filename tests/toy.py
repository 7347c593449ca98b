"""A world model of toy size with random weights: the real classes, small enough for any test."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

from worldattention.core.config import CacheConfig, EngineConfig, SamplerConfig
from worldattention.core.engine import Engine
from worldattention.core.geometry import Geometry
from worldattention.core.hsa import HSAParameters
from worldattention.core.models.text import TextEncoding
from worldattention.core.models.transformer import CausalWanTransformer3DModel
from worldattention.core.models.vae import AutoencoderConfig, PocketAutoencoder, PocketStreamingDecoder
from worldattention.core.models.world import WorldModel

TOY_GEOMETRY = Geometry(height=32, width=64, latent_channels=4, latent_height=4, latent_width=8)
HEADS, HEAD_DIM, LAYERS, TEXT_DIM = 2, 12, 4, 10


class HashEncoder:
    """Deterministic stand-in for a text encoder: every word is a random vector of its own."""

    def encode(self, text: str) -> TextEncoding:
        tokens = torch.zeros(8, TEXT_DIM)
        words = text.lower().split()[:8]
        for place, word in enumerate(words):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:6], "little")
            tokens[place] = torch.randn(TEXT_DIM, generator=torch.Generator().manual_seed(seed))
        pooled = tokens[: max(len(words), 1)].mean(0) + 1e-3
        return TextEncoding(tokens, pooled / pooled.norm(), len(words))


def toy_model(seed: int = 0, hsa: bool = True, dtype: torch.dtype = torch.float32) -> WorldModel:
    """Random weights of unit scale everywhere, so that every part changes the picture."""
    torch.manual_seed(seed)
    transformer = CausalWanTransformer3DModel(
        num_attention_heads=HEADS,
        attention_head_dim=HEAD_DIM,
        in_channels=4,
        out_channels=4,
        text_dim=TEXT_DIM,
        freq_dim=16,
        ffn_dim=40,
        num_layers=LAYERS,
    ).eval()
    layers = [HSAParameters(TOY_GEOMETRY.frame_tokens, HEAD_DIM) for _ in range(LAYERS)]
    for module in (transformer, *layers):
        for parameter in module.parameters():
            parameter.requires_grad_(False).normal_(std=0.25)
    autoencoder = PocketAutoencoder(AutoencoderConfig(4, (8, 8, 8), (8, 8, 8))).eval().requires_grad_(False)
    device = torch.device("cpu")
    return WorldModel(
        name="toy",
        fingerprint=f"toy{seed}",
        geometry=TOY_GEOMETRY,
        transformer=transformer if dtype == torch.float32 else transformer.to(dtype),
        hsa=tuple(layer.to(dtype) if hsa else None for layer in layers),
        text_encoder=HashEncoder(),
        new_decoder=lambda: PocketStreamingDecoder(autoencoder, device, torch.float32),
        device=device,
        dtype=dtype,
    )


def toy_config(seed: int = 0, **cache: object) -> EngineConfig:
    """Small quotas and the real window."""
    return EngineConfig(seed=seed, cache=CacheConfig(**cache), sampler=SamplerConfig())  # type: ignore[arg-type]


def toy_engine(seed: int = 0, model: WorldModel | None = None, **cache: object) -> Engine:
    """An engine over the toy model."""
    return Engine(model or toy_model(), toy_config(seed, **cache))


def save_toy_folder(folder: Path, hsa: bool = True) -> Path:
    """A model folder of the pocket world's layout with random weights: two layers, one head."""
    torch.manual_seed(0)
    transformer = CausalWanTransformer3DModel(
        num_attention_heads=1,
        attention_head_dim=12,
        in_channels=16,
        out_channels=16,
        text_dim=384,
        freq_dim=16,
        ffn_dim=24,
        num_layers=2,
    )
    tensors = {name: value.half() for name, value in transformer.state_dict().items()}
    if hsa:
        for layer in range(2):
            for name, value in HSAParameters(128, 12).state_dict().items():
                tensors[f"blocks.{layer}.attn1.hsa.{name}"] = value.contiguous()
    sizes = AutoencoderConfig(16, (8, 8, 8), (8, 8, 8))
    autoencoder = PocketAutoencoder(sizes)
    for part in ("transformer", "autoencoder"):
        (folder / part).mkdir(parents=True)
    (folder / "transformer" / "config.json").write_text(json.dumps(dict(transformer.config)))
    settings = {"_class_name": "PocketAutoencoder", **asdict(sizes)}
    (folder / "autoencoder" / "config.json").write_text(json.dumps(settings))
    save_file(tensors, folder / "transformer" / "model.safetensors")
    save_file(
        {name: value.clone() for name, value in autoencoder.state_dict().items()},
        folder / "autoencoder" / "model.safetensors",
    )
    return folder
