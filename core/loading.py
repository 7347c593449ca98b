"""From the name of a model to a running engine."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.fitting import fitting_engine, warm_up
from worldattention.core.geometry import POCKET_GEOMETRY, Geometry
from worldattention.core.heap import keep_heap, take_room
from worldattention.core.hsa import HSAParameters
from worldattention.core.model_folder import (
    autoencoder_settings,
    model_folder,
    transformer_settings,
    wan_geometry,
)
from worldattention.core.models.checkpoint import cast, fingerprint, load_into, read_file, read_weights
from worldattention.core.models.packed import can_pack, pack_linears
from worldattention.core.models.text import MiniLMEncoder, TextEncoder
from worldattention.core.models.transformer import CausalWanTransformer3DModel
from worldattention.core.models.umt5 import UMT5Encoder
from worldattention.core.models.vae import AutoencoderConfig, PocketAutoencoder, PocketStreamingDecoder
from worldattention.core.models.wan_vae import WanStreamingDecoder, load_wan_autoencoder, steady_decoder
from worldattention.core.models.weight_files import HSA_FILE
from worldattention.core.models.world import WorldModel
from worldattention.core.pocket.text import PocketTextEncoder
from worldattention.core.sampler import Beginning

_HSA = ".attn1.hsa."
POCKET_BEGINNING = Beginning(deviation=0.93, period=10, restarts=4, unseen=16, led=12)
"""Found on worlds of four seeds (MODEL_CARD.md). All that is done in the pocket world repeats after 2.5 s, ten latent
frames. What is unseen takes the passes of twelve blocks, once a world."""

Progress = Callable[[str, float], None]
"""Called with a stage's name and the share done, 0..1."""

logger = logging.getLogger(__name__)


def open_engine(
    model: str = "pocket",
    device: str = "auto",
    config: EngineConfig | None = None,
    progress: Progress | None = None,
    text_encoder: TextEncoder | None = None,
) -> Engine:
    """Loads a model and makes an engine over it. Takes seconds: call it in a worker.

    `text_encoder` replaces the model's own, for machines where its package is not installed.

    Raises UserError when the model folder is missing, broken or of another kind, or the device is not there.
    """
    report = progress or _silent
    keep_heap()
    loaded = load_model(model, device, report, text_encoder)
    report("memory", 0.85)
    engine = fitting_engine(loaded, config or EngineConfig())
    if loaded.device.type == "cpu":
        take_room()
    elif loaded.device.type == "cuda":
        warm_up(engine, lambda share: report("kernels, compiled the first time", 0.85 + 0.15 * share))
    report("ready", 1.0)
    return engine


def load_model(
    model: str,
    device: str = "auto",
    progress: Progress | None = None,
    text_encoder: TextEncoder | None = None,
) -> WorldModel:
    """The networks of `model`: 'pocket', a folder of its layout, or a diffusers folder of Wan2.1-T2V."""
    report = progress or _silent
    where = pick_device(device)
    dtype = pick_dtype(where)
    folder = model_folder(model)
    if os.path.isdir(folder / "vae"):
        return _load_wan(model, folder, where, dtype, report, text_encoder)
    report("transformer", 0.0)
    transformer, hsa, name = load_transformer(folder / "transformer", where, dtype)
    report("autoencoder", 0.3)
    autoencoder = load_autoencoder(folder / "autoencoder")
    geometry = POCKET_GEOMETRY
    _check_fit(transformer, geometry, folder)
    if can_pack(where, dtype):
        pack_linears(transformer, geometry.block_tokens)
    report("text encoder", 0.4)
    encoder = PocketTextEncoder(text_encoder or MiniLMEncoder())
    return WorldModel(
        name=model,
        fingerprint=name,
        geometry=geometry,
        transformer=transformer,
        hsa=hsa,
        text_encoder=encoder,
        new_decoder=lambda: PocketStreamingDecoder(autoencoder, where, dtype),
        device=where,
        dtype=dtype,
        beginning=POCKET_BEGINNING,
    )


def _load_wan(
    model: str,
    folder: Path,
    where: torch.device,
    dtype: torch.dtype,
    report: Progress,
    text_encoder: TextEncoder | None,
) -> WorldModel:
    """The networks of a diffusers folder: transformer/, vae/, text_encoder/, tokenizer/."""
    report("transformer", 0.0)
    transformer, hsa, name = load_transformer(folder / "transformer", where, dtype)
    report("autoencoder", 0.6)
    vae = load_wan_autoencoder(folder / "vae", where, dtype)
    geometry = wan_geometry(folder)
    _check_fit(transformer, geometry, folder)
    _check_hsa(hsa, geometry, folder)
    report("text encoder", 0.8)
    steady = steady_decoder(vae, where)
    return WorldModel(
        name=model,
        fingerprint=name,
        geometry=geometry,
        transformer=transformer,
        hsa=hsa,
        text_encoder=text_encoder or UMT5Encoder(folder, where, dtype),
        new_decoder=lambda: WanStreamingDecoder(vae, where, dtype, steady),
        device=where,
        dtype=dtype,
    )


def load_transformer(
    folder: Path, device: torch.device, dtype: torch.dtype
) -> tuple[CausalWanTransformer3DModel, tuple[HSAParameters | None, ...], str]:
    """The transformer of a diffusers folder, its HSA parameters a layer (None when it has none), its fingerprint."""
    settings = transformer_settings(folder)
    tensors = read_weights(folder)
    joint = any(_HSA in name for name in tensors)  # those of the file below were fitted to finished weights
    if os.path.isfile(folder / HSA_FILE):
        tensors |= read_file(folder / HSA_FILE)
    name = fingerprint(tensors)
    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")  # of sizes that are refused just below
            transformer = CausalWanTransformer3DModel.from_config(settings)
    except (TypeError, ValueError, ArithmeticError, AssertionError, RuntimeError, MemoryError) as error:
        why = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(
            f"{folder / 'config.json'} describes no Wan transformer ({why}): use its own file."
        ) from None
    hsa = _take_hsa(tensors, transformer, joint)
    load_into(transformer, _to_fp32(tensors), "transformer")
    _rebuild_rope(transformer)
    for layer in hsa:
        if layer is not None:
            cast(layer, dtype, device)
    for block in transformer.blocks:
        block.attn1.fuse_projections()
        for projection in ("to_q", "to_k", "to_v"):  # the fused matrix replaces them
            delattr(block.attn1, projection)
    cast(transformer, dtype, device)
    return transformer.eval(), hsa, name


def pick_device(device: str) -> torch.device:
    """'auto', 'cpu', 'cuda' or 'cuda:N' -> a device that is there. Raises UserError otherwise."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        wanted = torch.device(device)
    except RuntimeError:
        raise UserError(f"Unknown device '{device}': choose auto, cpu, cuda or cuda:N.") from None
    if wanted.type not in ("cpu", "cuda"):
        raise UserError(f"The device '{device}' is not supported: choose auto, cpu, cuda or cuda:N.")
    if wanted.type == "cuda" and not torch.cuda.is_available():
        why = (
            "this PyTorch was built without CUDA" if torch.version.cuda is None else "no CUDA device answers"
        )
        raise UserError(f"The device '{device}' cannot be used ({why}): choose --device cpu.")
    if wanted.type == "cuda" and wanted.index is not None and wanted.index >= torch.cuda.device_count():
        raise UserError(
            f"There is no device '{device}': this machine has {torch.cuda.device_count()} CUDA devices."
        )
    return wanted


def pick_dtype(device: torch.device) -> torch.dtype:
    """bf16 where the hardware multiplies it natively (CUDA, CPUs with AMX or AVX-512 BF16), else fp32."""
    if device.type == "cuda" or has_native_bf16():
        return torch.bfloat16
    return torch.float32


def has_native_bf16() -> bool:
    """Whether this CPU multiplies bf16 matrices natively."""
    capable = torch.cpu.get_capabilities()
    return bool(capable.get("amx_bf16", False) or capable.get("avx512_bf16", False))


def _take_hsa(
    tensors: dict[str, Tensor], model: CausalWanTransformer3DModel, joint: bool
) -> tuple[HSAParameters | None, ...]:
    """Moves `blocks.N.attn1.hsa.*` out of `tensors` into modules, one a layer; `joint` is about the weights beside."""
    layers: list[HSAParameters | None] = []
    for index in range(len(model.blocks)):
        prefix = f"blocks.{index}{_HSA}"
        own = {
            key.removeprefix(prefix): tensors.pop(key).float()
            for key in list(tensors)
            if key.startswith(prefix)
        }
        if not own:
            layers.append(None)
            continue
        segment = own["k_proj"].shape[-1] if "k_proj" in own else 1
        module = HSAParameters(segment, int(model.config.attention_head_dim), joint)
        load_into(module, own, f"HSA (layer {index})")
        layers.append(module)
    return tuple(layers)


def _rebuild_rope(model: CausalWanTransformer3DModel) -> None:
    """The rotary tables are no weights: built under meta they are empty, so they are made anew."""
    config = model.config
    rope = type(model.rope)(config.attention_head_dim, config.patch_size, config.rope_max_seq_len)
    model.rope = rope


def load_autoencoder(folder: Path) -> PocketAutoencoder:
    settings = autoencoder_settings(folder)
    sizes: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in settings.items() if not key.startswith("_")
    }
    try:
        autoencoder = PocketAutoencoder(AutoencoderConfig(**sizes))
    except TypeError as error:
        raise UserError(
            f"{folder / 'config.json'} has an unknown entry ({error}): use its own file."
        ) from None
    load_into(autoencoder, _to_fp32(read_weights(folder)), "autoencoder")
    return autoencoder.eval().requires_grad_(False)


def _check_fit(transformer: CausalWanTransformer3DModel, geometry: Geometry, folder: Path) -> None:
    if transformer.config.in_channels != geometry.latent_channels:
        raise UserError(
            f"The transformer in {folder} has {transformer.config.in_channels} latent channels, "
            f"its autoencoder {geometry.latent_channels}: use parts of one model."
        )


def _check_hsa(hsa: tuple[HSAParameters | None, ...], geometry: Geometry, folder: Path) -> None:
    segments = {layer.segment for layer in hsa if layer is not None}
    if segments - {geometry.frame_tokens}:
        raise UserError(
            f"The HSA parameters in {folder} are for {min(segments)} tokens a latent frame, and this size has "
            f"{geometry.frame_tokens}: give the size that they were made for in world.json."
        )


def _to_fp32(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights are stored in fp16; counters stay whole numbers."""
    return {
        name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()
    }


def _silent(stage: str, share: float) -> None:
    logger.debug("%s %.0f %%", stage, 100 * share)
