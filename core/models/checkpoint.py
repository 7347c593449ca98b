"""Reading weights: safetensors only, checked before use, with every failure in one plain sentence (DESIGN 5)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from worldattention.core.errors import UserError
from worldattention.core.models.row_int8 import from_rows
from worldattention.core.models.weight_files import check_file, damaged, weight_files

_ORIGINAL_NAME = re.compile(r"^(model\.|diffusion_model\.)*blocks\.\d+\.(self_attn|cross_attn)\.")
_KEEP_FP32 = ("time_embedder", "scale_shift_table", "norm1.", "norm2.", "norm3.")


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of the .safetensors files of a folder but its `HSA_FILE`, on the CPU, as stored (`from_rows`).

    Raises UserError for a missing, truncated, foreign or duplicate file, or a Git LFS pointer, naming the file.
    """
    tensors: dict[str, Tensor] = {}
    for path in weight_files(folder):
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


def read_file(path: Path) -> dict[str, Tensor]:
    """All tensors of one .safetensors file. Raises UserError as `read_weights` does."""
    check_file(path)
    try:
        with safe_open(path, framework="pt") as stream:
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError) as error:
        raise damaged(path, error) from None
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise UserError(f"The weight '{name}' in {path} is not finite: install the model again.")
    return tensors
