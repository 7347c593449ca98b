"""A model folder of Wan2.1-T2V's layout in diffusers' form, with random weights and tiny sizes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch
from diffusers import AutoencoderKLWan
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers import UMT5Config, UMT5EncoderModel

from worldattention.core.hsa import HSAParameters
from worldattention.core.models.transformer import CausalWanTransformer3DModel

WORDS = ["a", "red", "blue", "ball", "kite", "thrown", "in", "the", "village", "on", "beach", "rain", "man"]
HEIGHT, WIDTH, TEXT, HEAD_DIM, HEADS, LAYERS = 32, 64, 16, 12, 2, 3


def random_weights(module: nn.Module) -> nn.Module:
    """Every parameter random, none left at zero or one; norms near one."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.normal_(1.0 if "norm" in name or "gamma" in name else 0.0, 0.15)
    return module


def tiny_transformer() -> CausalWanTransformer3DModel:
    return random_weights(
        CausalWanTransformer3DModel(
            num_attention_heads=HEADS, attention_head_dim=HEAD_DIM, in_channels=16, out_channels=16,
            text_dim=TEXT, freq_dim=16, ffn_dim=24, num_layers=LAYERS,
        )
    )  # fmt: skip


def tiny_vae() -> AutoencoderKLWan:
    return random_weights(
        AutoencoderKLWan(base_dim=8, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1).eval()
    )


def save_wan_folder(folder: Path, hsa: bool = True) -> Path:
    """transformer/ (as WanTransformer3DModel), vae/, text_encoder/, tokenizer/, and the size in world.json."""
    torch.manual_seed(0)
    transformer, vae = tiny_transformer(), tiny_vae()
    encoder = random_weights(UMT5EncoderModel(UMT5Config(
        vocab_size=len(WORDS) + 3, d_model=TEXT, d_kv=8, d_ff=24, num_layers=2, num_heads=2,
    )))  # fmt: skip
    for part in ("transformer", "vae", "text_encoder", "tokenizer"):
        (folder / part).mkdir(parents=True)
    config = {**transformer.config, "_class_name": "WanTransformer3DModel"}
    (folder / "transformer" / "config.json").write_text(json.dumps(config))
    tensors = {name: value.clone() for name, value in transformer.state_dict().items()}
    if hsa:
        for layer in range(LAYERS):
            for name, value in HSAParameters(HEIGHT * WIDTH // 256, HEAD_DIM).state_dict().items():
                tensors[f"blocks.{layer}.attn1.hsa.{name}"] = value.clone()
    save_file(tensors, folder / "transformer" / "diffusion_pytorch_model.safetensors")
    (folder / "vae" / "config.json").write_text(json.dumps({**vae.config, "_class_name": "AutoencoderKLWan"}))
    save_file(dict(vae.state_dict()), folder / "vae" / "diffusion_pytorch_model.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder.save_pretrained(folder / "text_encoder")
    save_tokenizer(folder / "tokenizer" / "tokenizer.json")
    (folder / "world.json").write_text(json.dumps({"height": HEIGHT, "width": WIDTH}))
    return folder


def save_tokenizer(path: Path) -> None:
    """Words are tokens; a text ends with </s>, as UMT5's do."""
    names = ["<pad>", "</s>", "<unk>", *WORDS]
    tokenizer = Tokenizer(models.WordLevel({name: place for place, name in enumerate(names)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair=None, special_tokens=[("</s>", 1)]
    )
    tokenizer.save(str(path))
