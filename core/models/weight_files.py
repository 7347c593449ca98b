"""What the files of a model say before a tensor is read: no torch is loaded, and every failure is one sentence.

`checkpoint` reads through these as well, so a folder that is refused early is refused in the same words.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from worldattention.core.errors import UserError

_LFS_POINTER = b"version https://git-lfs"
_PICKLES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04")
_PICKLE_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
HSA_FILE = "hsa.safetensors"
"""Beside a transformer's weights: HSA parameters from `calibrate`, which replace those of the weights."""


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file. Raises UserError when there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"The model file {path} is missing: install the model again.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"The model file {path} cannot be read ({short(error)}): install it again.") from None
    if not isinstance(value, dict):
        raise UserError(f"The model file {path} is no JSON object: install the model again.")
    return value


def class_name(settings: dict[str, Any]) -> str | None:
    """The class that a configuration of diffusers or transformers names."""
    return settings.get("_class_name") or next(iter(settings.get("architectures") or []), None)


def check_class(folder: Path, settings: dict[str, Any], expected: str) -> None:
    """Raises UserError when a folder's configuration names another class."""
    found = class_name(settings)
    if found is not None and found != expected:
        raise UserError(f"{folder / 'config.json'} describes a '{found}', and {expected} is needed here.")


def weight_files(folder: Path) -> list[Path]:
    """The .safetensors files of a folder but its `HSA_FILE`, by name. Raises UserError when there are none."""
    files = sorted(path for path in folder.glob("*.safetensors") if path.name != HSA_FILE)
    if not files:
        raise UserError(_no_weights(folder))
    return files


def check_file(path: Path) -> None:
    """Raises UserError when a .safetensors file is missing, cut off, foreign or a Git LFS pointer; reads its header."""
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
        with safe_open(path, framework="np"):
            pass
    except (OSError, SafetensorError) as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> UserError:
    """What to say of a weight file that cannot be read."""
    return UserError(
        f"The weight file {path} is damaged or no safetensors file ({short(error)}): install it again."
    )


def _no_weights(folder: Path) -> str:
    pickles = sorted(path for path in folder.glob("*") if path.suffix in _PICKLE_SUFFIXES)
    if pickles:
        return (
            f"The weight file {pickles[0]} is a PyTorch pickle, and safetensors are expected: "
            "bring it into form with `worldattention convert`."
        )
    return f"There are no .safetensors weights in {folder}: check the model folder."


def short(error: Exception) -> str:
    """What a library says of a failure, cut to a clause."""
    return " ".join(str(error).split())[:120]
