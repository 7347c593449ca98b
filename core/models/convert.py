"""Checkpoints of other programs into a diffusers folder: names, containers, LoRA, HSA parameters (DESIGN 5).

Read are Wan's original layout as Self-Forcing, CausVid and LongLive save it (`.pt`, tensors only, never code),
ComfyUI's (`model.diffusion_model.`), and diffusers' own names under any of these containers.
"""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.files import failures_told, replacing
from worldattention.core.models.checkpoint import grouped, load_into, read_file
from worldattention.core.models.convertible import check_checkpoint, check_free
from worldattention.core.models.transformer import CausalWanTransformer3DModel
from worldattention.core.tensor_files import write_tensors

CONTAINERS = ("generator_ema", "generator_lora", "generator", "model", "state_dict")
"""Where training programs put the generator's tensors, the preferred first."""
PREFIXES = (
    "module.",
    "_orig_mod.",
    "_fsdp_wrapped_module.",
    "base_model.model.",
    "model.",
    "diffusion_model.",
)
IGNORED = ("freqs",)
"""Buffers that are computed, not learnt."""
HEAD_DIM = 128
"""Channels of a head in every Wan2.1 model."""

_LINEARS = {"q": "to_q", "k": "to_k", "v": "to_v", "o": "to_out.0"}
_RULES = [
    (r"text_embedding\.0\.", "condition_embedder.text_embedder.linear_1."),
    (r"text_embedding\.2\.", "condition_embedder.text_embedder.linear_2."),
    (r"time_embedding\.0\.", "condition_embedder.time_embedder.linear_1."),
    (r"time_embedding\.2\.", "condition_embedder.time_embedder.linear_2."),
    (r"time_projection\.1\.", "condition_embedder.time_proj."),
    (r"head\.head\.", "proj_out."),
    (r"head\.modulation$", "scale_shift_table"),
    (r"(blocks\.\d+)\.modulation$", r"\1.scale_shift_table"),
    (r"(blocks\.\d+)\.norm3\.", r"\1.norm2."),
    (r"(blocks\.\d+)\.ffn\.0\.", r"\1.ffn.net.0.proj."),
    (r"(blocks\.\d+)\.ffn\.2\.", r"\1.ffn.net.2."),
    (r"(blocks\.\d+)\.self_attn\.hsa_attention\.([kv])_proj_mat$", r"\1.attn1.hsa.\2_proj"),
    (r"(blocks\.\d+)\.self_attn\.hsa_attention\.gate_lin\.", r"\1.attn1.hsa.gate."),
    (r"(blocks\.\d+)\.self_attn\.norm_([qk])\.", r"\1.attn1.norm_\2."),
    (r"(blocks\.\d+)\.cross_attn\.norm_([qk])\.", r"\1.attn2.norm_\2."),
    *((rf"(blocks\.\d+)\.self_attn\.{old}\.", rf"\1.attn1.{new}.") for old, new in _LINEARS.items()),
    *((rf"(blocks\.\d+)\.cross_attn\.{old}\.", rf"\1.attn2.{new}.") for old, new in _LINEARS.items()),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Converted:
    """What was found and written."""

    container: str
    """The entry of the file that held the tensors; empty where they lay at its top."""
    layers: int
    parameters: int
    merged: int
    """Matrices to which a LoRA was added."""
    hsa: bool


def convert(source: Path, folder: Path, lora: Path | None = None, head_dim: int = HEAD_DIM) -> Converted:
    """Write `folder`/transformer/ from a checkpoint, with a LoRA merged where one is given.

    Raises:
        UserError: a file is no checkpoint, or holds another architecture; or the folder has a transformer already.
    """
    target = folder / "transformer"
    check_free(target)
    container, tensors = read_checkpoint(source)
    merged = merge_lora(tensors, read_checkpoint(lora)[1], lora) if lora is not None else 0
    weights = rename(tensors, source)
    config = infer_config(weights, source, head_dim)
    _check(weights, config, source)
    with failures_told(target, "the model"):
        target.mkdir(parents=True, exist_ok=True)
    text, about = (
        json.dumps({"_class_name": "WanTransformer3DModel", **config}, indent=2),
        target / "config.json",
    )
    with replacing(about, "the model's sizes") as path, failures_told(about, "the model's sizes"):
        path.write_text(text + "\n", encoding="utf-8")
    whole = {name: value.contiguous() for name, value in weights.items()}
    write_tensors(whole, target / "diffusion_pytorch_model.safetensors", "the weights")
    return Converted(
        container,
        config["num_layers"],
        sum(value.numel() for value in weights.values()),
        merged,
        any(".attn1.hsa." in name for name in weights),
    )


def read_checkpoint(path: Path) -> tuple[str, dict[str, Tensor]]:
    """The container's name and its tensors, prefixes of wrappers taken off. Raises UserError."""
    check_checkpoint(path)
    content: Any = read_file(path) if path.suffix == ".safetensors" else _read_pickle(path)
    container = next((name for name in CONTAINERS if isinstance(content.get(name), Mapping)), "")
    inner = content[container] if container else content
    tensors = {bare(name): value for name, value in inner.items() if isinstance(value, Tensor)}
    if not tensors:
        found = ", ".join(map(str, list(content)[:4]))
        raise UserError(f"The checkpoint {path} holds no tensors (but {found}): give one of a Wan2.1 model.")
    return container, tensors


def bare(name: str) -> str:
    """A tensor's name without the prefixes of wrappers, at its start or within it."""
    name = name.replace("_fsdp_wrapped_module.", "").replace("_checkpoint_wrapped_module.", "")
    while prefix := next((prefix for prefix in PREFIXES if name.startswith(prefix)), None):
        name = name.removeprefix(prefix)
    return name


def merge_lora(tensors: dict[str, Tensor], lora: dict[str, Tensor], path: Path | None) -> int:
    """Add every B A of a LoRA to its matrix, in fp32; alpha equals the rank. Returns how many.

    Raises UserError when the LoRA does not fit.
    """
    merged = 0
    for name, down in lora.items():
        base, found, rest = name.partition(".lora_A.")
        if not found:
            continue
        up, target = lora.get(f"{base}.lora_B.{rest}"), f"{base}.weight"
        if up is None or target not in tensors or tensors[target].shape != (up.shape[0], down.shape[1]):
            raise UserError(
                f"The LoRA {path} does not fit the checkpoint at '{base}': use one of the same model."
            )
        weight = tensors[target]
        tensors[target] = (weight.float() + up.float() @ down.float()).to(weight.dtype)
        merged += 1
    if not merged:
        raise UserError(f"The file {path} holds no LoRA: its names lack 'lora_A'.")
    return merged


def rename(tensors: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Tensors under diffusers' names. Raises UserError when a name is of no Wan transformer."""
    renamed: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if name in IGNORED:
            continue
        new = diffusers_name(name)
        renamed[new] = _projection(value) if new.endswith((".hsa.k_proj", ".hsa.v_proj")) else value
    if "patch_embedding.weight" not in renamed or "blocks.0.attn1.to_q.weight" not in renamed:
        raise UserError(
            f"The checkpoint {path} is of another architecture (its tensors: {grouped(sorted(tensors))}): "
            "a Wan2.1 transformer is needed."
        )
    return renamed


def diffusers_name(name: str) -> str:
    """The diffusers name of an original one; a diffusers name stays."""
    for pattern, replacement in _RULES:
        new, count = re.subn(rf"^{pattern}", replacement, name)
        if count:
            return new
    return name


def _projection(value: Tensor) -> Tensor:
    """E as [rank, segment], rank being the smaller one."""
    matrix = value.reshape(value.shape[-2:])
    return matrix.T if matrix.shape[0] > matrix.shape[1] else matrix


def infer_config(weights: Mapping[str, Tensor], path: Path, head_dim: int) -> dict[str, Any]:
    """diffusers' configuration, read off the shapes. Raises UserError when they are of no Wan transformer."""
    try:
        dim, channels, *patch = weights["patch_embedding.weight"].shape
        config = {
            "patch_size": patch,
            "num_attention_heads": dim // head_dim,
            "attention_head_dim": head_dim,
            "in_channels": channels,
            "out_channels": weights["proj_out.weight"].shape[0] // (patch[0] * patch[1] * patch[2]),
            "text_dim": weights["condition_embedder.text_embedder.linear_1.weight"].shape[1],
            "freq_dim": weights["condition_embedder.time_embedder.linear_1.weight"].shape[1],
            "ffn_dim": weights["blocks.0.ffn.net.0.proj.weight"].shape[0],
            "num_layers": 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("blocks.")),
            "cross_attn_norm": "blocks.0.norm2.weight" in weights,
            "eps": 1e-6,
        }
    except (KeyError, IndexError, ValueError) as error:
        raise UserError(f"The checkpoint {path} is no whole Wan2.1 transformer: it lacks {error}.") from None
    if dim % head_dim:
        raise UserError(f"The checkpoint {path} has {dim} channels, which are no heads of {head_dim}.")
    return config


def _check(weights: Mapping[str, Tensor], config: dict[str, Any], path: Path) -> None:
    """Raises UserError that names groups of missing, unknown or misshapen tensors."""
    with torch.device("meta"):
        model = CausalWanTransformer3DModel.from_config(config)
    own = {name: value.to("meta") for name, value in weights.items() if ".attn1.hsa." not in name}
    load_into(model, own, f"transformer (of {path.name})")


def _read_pickle(path: Path) -> dict[str, Any]:
    """The content of a `.pt`: tensors and plain containers only, no code is run."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except pickle.UnpicklingError:
        raise UserError(
            f"The file {path} holds more than tensors, or is no PyTorch checkpoint: code in it is never run; "
            "save its state dict alone."
        ) from None
    except (OSError, RuntimeError, EOFError, ValueError) as error:
        why = " ".join(str(error).split())[:120]
        raise UserError(f"The file {path} cannot be read as a checkpoint ({why}): fetch it again.") from None
    if not isinstance(content, dict):
        raise UserError(
            f"The file {path} holds a {type(content).__name__}, and a table of tensors is needed."
        )
    return content
