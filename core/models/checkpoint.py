"""Reading weights: safetensors only, checked before use, with every failure in one plain sentence (DESIGN 5)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from worldattention.core.errors import UserError
from worldattention.core.models.row_int8 import from_rows

_LFS_POINTER = b"version https://git-lfs"
_PICKLES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04")
_PICKLE_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
_ORIGINAL_NAME = re.compile(r"^(model\.|diffusion_model\.)*blocks\.\d+\.(self_attn|cross_attn)\.")
HSA_FILE = "hsa.safetensors"
"""Beside a transformer's weights: HSA parameters from `calibrate`, which replace those of the weights."""
_KEEP_FP32 = ("time_embedder", "scale_shift_table", "norm1.", "norm2.", "norm3.")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file. Raises UserError when there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"The model file {path} is missing: install the model again.") from None
    except (OSError, ValueError) as error:
        raise UserError(
            f"The model file {path} cannot be read ({_short(error)}): install it again."
        ) from None
    if not isinstance(value, dict):
        raise UserError(f"The model file {path} is no JSON object: install the model again.")
    return value


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of the .safetensors files of a folder but its `HSA_FILE`, on the CPU, as stored (`from_rows`).

    Raises UserError for a missing, truncated, foreign or duplicate file, or a Git LFS pointer, naming the file.
    """
    files = sorted(path for path in folder.glob("*.safetensors") if path.name != HSA_FILE)
    if not files:
        raise UserError(_no_weights(folder))
    tensors: dict[str, Tensor] = {}
    for path in files:
        for name, tensor in read_file(path).items():
            if name in tensors:
                raise UserError(
                    f"The weight file {path} repeats '{name}' of another file: remove the extra file."
                )
            tensors[name] = tensor
    return from_rows(tensors)


def fingerprint(tensors: dict[str, Tensor]) -> str:
    """16 hex digits over names, shapes and values: the same weights in other files have the same fingerprint."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def load_into(module: nn.Module, tensors: dict[str, Tensor], what: str) -> None:
    """Fills `module`, which may be on the meta device, with exactly these tensors.

    Raises UserError that names missing, unexpected or misshapen weights.
    """
    expected = module.state_dict()
    missing, unexpected = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
    shapes = [
        name for name in expected.keys() & tensors.keys() if expected[name].shape != tensors[name].shape
    ]
    if any(_ORIGINAL_NAME.match(name) for name in unexpected):
        raise UserError(
            f"The {what} weights have the names of Wan's original code, not those of diffusers: "
            "bring them into form with `worldattention convert`."
        )
    for problem, names in (
        ("lack", missing),
        ("have unknown", unexpected),
        ("have another shape of", shapes),
    ):
        if names:
            raise UserError(f"The {what} weights {problem} {grouped(names)}: use the matching files.")
    module.load_state_dict(tensors, strict=True, assign=True)


def class_name(settings: dict[str, Any]) -> str | None:
    """The class that a configuration of diffusers or transformers names."""
    return settings.get("_class_name") or next(iter(settings.get("architectures") or []), None)


def check_class(folder: Path, settings: dict[str, Any], expected: str) -> None:
    """Raises UserError when a folder's configuration names another class."""
    found = class_name(settings)
    if found is not None and found != expected:
        raise UserError(f"{folder / 'config.json'} describes a '{found}', and {expected} is needed here.")


def grouped(names: Sequence[str]) -> str:
    """Names of weights for a person: those that differ in numbers alone are one group with its size."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(re.sub(r"\.\d+\.", ".*.", name), []).append(name)
    shown = [
        members[0] if len(members) == 1 else f"{pattern} ({len(members)} of them)"
        for pattern, members in list(groups.items())[:3]
    ]
    return ", ".join(shown) + (f" and {len(groups) - 3} more" if len(groups) > 3 else "")


def cast(module: nn.Module, dtype: torch.dtype, device: torch.device) -> None:
    """Moves `module` and casts its matrices to `dtype`; time embedding, modulation tables and layer norms stay fp32."""
    for name, parameter in module.named_parameters():
        keep = any(part in name for part in _KEEP_FP32)
        parameter.data = parameter.data.to(device=device, dtype=torch.float32 if keep else dtype)
        parameter.requires_grad_(False)
    for _, buffer in module.named_buffers():
        buffer.data = buffer.data.to(device=device)


def _no_weights(folder: Path) -> str:
    pickles = sorted(path for path in folder.glob("*") if path.suffix in _PICKLE_SUFFIXES)
    if pickles:
        return (
            f"The weight file {pickles[0]} is a PyTorch pickle, and safetensors are expected: "
            "bring it into form with `worldattention convert`."
        )
    return f"There are no .safetensors weights in {folder}: check the model folder."


def read_file(path: Path) -> dict[str, Tensor]:
    """All tensors of one .safetensors file. Raises UserError as `read_weights` does."""
    try:
        with path.open("rb") as stream:
            start = stream.read(len(_LFS_POINTER))
            if start == _LFS_POINTER:
                raise UserError(
                    f"The weight file {path} is only a Git LFS pointer: run 'git lfs pull' to fetch it."
                )
            if start.startswith(_PICKLES):
                raise UserError(
                    f"The weight file {path} is a PyTorch pickle under another name, and safetensors are expected: "
                    "bring it into form with `worldattention convert`."
                )
        with safe_open(path, framework="pt") as stream:
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"The weight file {path} is damaged or no safetensors file ({_short(error)}): install it again."
        ) from None
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise UserError(f"The weight '{name}' in {path} is not finite: install the model again.")
    return tensors


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
