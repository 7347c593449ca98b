"""Checkpoints of training: safetensors in parts below 16 MiB, written whole or not at all.

Matrices are kept in fp16, one-dimensional tensors (norms, biases, statistics) in fp32: a variance of a batch
norm can overflow fp16, and a checkpoint with one infinity makes every later loss look wonderful. Matrices of the
cross-attention are kept in int8 with a scale a row (`core.models.row_int8`), so that a checkout stays small.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.models.row_int8 import from_rows, to_rows

PART_BYTES = 15 << 20
_IN_ROWS = re.compile(r"blocks\.\d+\.attn2\.to_[qkv]\.weight")


def save_weights(
    folder: Path, name: str, weights: Mapping[str, Tensor], part_bytes: int = PART_BYTES
) -> None:
    """Write `weights` as `name.safetensors`, or as `name-00001-of-0000N.safetensors` when they are many.

    Raises ValueError when a value is not finite; nothing is written then.
    """
    compact: dict[str, Tensor] = {}
    for key, value in weights.items():
        kept = _compact(key, value)
        compact |= to_rows(key, value.detach().cpu()) if _IN_ROWS.fullmatch(key) else {key: kept}
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for key, value in compact.items():
        if parts[-1] and size + value.nbytes > part_bytes:
            parts.append({})
            size = 0
        parts[-1][key] = value
        size += value.nbytes
    folder.mkdir(parents=True, exist_ok=True)
    names = part_names(name, len(parts))
    for part, file in zip(parts, names, strict=True):
        save_file(part, folder / f"{file}.new", metadata={"format": "pt"})
        (folder / f"{file}.new").chmod(0o644)  # safetensors makes files that only their owner can read
    for old in weight_files(folder, name):
        if old.name not in names:
            old.unlink()
    for file in names:
        os.replace(folder / f"{file}.new", folder / file)


def part_names(name: str, count: int) -> list[str]:
    """File names of a checkpoint of `count` parts, as Hugging Face names them."""
    if count == 1:
        return [f"{name}.safetensors"]
    return [f"{name}-{part:05d}-of-{count:05d}.safetensors" for part in range(1, count + 1)]


def weight_files(folder: Path, name: str) -> list[Path]:
    """The files of checkpoint `name`, in order; empty when there is none."""
    single = folder / f"{name}.safetensors"
    return [single] if single.is_file() else sorted(folder.glob(f"{name}-[0-9]*-of-[0-9]*.safetensors"))


def load_weights(folder: Path, name: str) -> dict[str, Tensor]:
    """All tensors of checkpoint `name`, in fp32 (integers as they are). Raises UserError when it is missing."""
    files = weight_files(folder, name)
    if not files:
        raise UserError(f"There is no checkpoint '{name}' in {folder}: run the stage that makes it first.")
    stored: dict[str, Tensor] = {}
    for file in files:
        with safe_open(file, framework="pt") as part:
            for key in part.keys():  # noqa: SIM118 - it is no dictionary
                stored[key] = part.get_tensor(key)
    whole = from_rows(stored)
    return {key: value.float() if value.is_floating_point() else value for key, value in whole.items()}


def save_json(path: Path, value: object) -> None:
    """Write JSON whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    os.replace(draft, path)


def _compact(key: str, value: Tensor) -> Tensor:
    value = value.detach().cpu()
    if not value.is_floating_point():
        return value.contiguous()
    value = (value.half() if value.ndim > 1 else value.float()).contiguous()
    if not torch.isfinite(value).all():
        raise ValueError(f"'{key}' has values that are not finite, so the checkpoint was not written")
    return value
