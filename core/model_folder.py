"""Whether a folder holds a model, told from its files alone: no weights are read and no library is loaded."""

from __future__ import annotations

import json
import os
from pathlib import Path

from worldattention.core.errors import UserError
from worldattention.core.files import reason
from worldattention.core.units import format_bytes

POCKET = "pocket"
_WAN_PARTS = ("transformer", "vae", "text_encoder", "tokenizer")
_POCKET_PARTS = ("transformer", "autoencoder")
_WEIGHTED = ("transformer", "vae", "text_encoder", "autoencoder")
_LFS = b"version https://git-lfs"


def describe_model(model: str) -> str:
    """What `model` ('pocket' or a folder) is, in one sentence. Raises UserError when it cannot be used."""
    if model == POCKET:
        return "The pocket world comes with the program."
    if not model.strip():
        raise UserError("Type pocket, or choose the folder of a model.")
    folder = Path(model)
    try:
        if not folder.is_dir():
            raise UserError(f"There is no folder '{model}': choose one, or type pocket.")
        parts = _WAN_PARTS if (folder / "vae").is_dir() else _POCKET_PARTS
        for part in parts:
            if not (folder / part).is_dir():
                raise UserError(f"The folder has no sub-folder {part}/: choose the folder of a whole model.")
        size = sum(_check_part(folder / part) for part in parts if part in _WEIGHTED)
    except (OSError, ValueError) as error:
        raise UserError(f"The folder cannot be read, as {reason(error)}: choose another.") from error
    kind = "A Wan model" if parts is _WAN_PARTS else "A model of the pocket world's kind"
    return f"{kind}, {format_bytes(size)} of weights."


def _check_part(folder: Path) -> int:
    """Bytes of a part's weights, once its files look whole."""
    config = folder / "config.json"
    if not config.is_file():
        raise UserError(f"{folder.name}/ has no config.json: download it again.")
    try:
        json.loads(config.read_bytes())
    except ValueError as error:
        raise UserError(f"{folder.name}/config.json is broken: download it again.") from error
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise UserError(f"{folder.name}/ has no .safetensors weights: download them, or run `convert` first.")
    return sum(_check_weights(file) for file in files)


def _check_weights(file: Path) -> int:
    name, size = f"{file.parent.name}/{file.name}", file.stat().st_size
    with file.open("rb") as stream:
        head = stream.read(len(_LFS))
        if head == _LFS:
            raise UserError(f"{name} is a Git LFS pointer, not the weights: run `git lfs pull`.")
        stream.seek(0)
        length = int.from_bytes(stream.read(8), "little")
        if size < 10 or not 2 <= length <= size - 8:
            raise UserError(f"{name} is cut off or no weights file: download it again.")
        try:
            tensors = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for key, entry in tensors.items() if key != "__metadata__"]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise UserError(f"{name} has a broken header: download it again.") from error
    if max(ends, default=0) != size - 8 - length:
        raise UserError(f"{name} is cut off ({format_bytes(os.stat(file).st_size)}): download it again.")
    return size
