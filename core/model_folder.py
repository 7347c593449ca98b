"""Whether a folder holds a model, told from its files alone: no weights are read and no library is loaded."""

from __future__ import annotations

import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

from worldattention.core.errors import UserError
from worldattention.core.files import reason
from worldattention.core.geometry import POCKET_GEOMETRY, Geometry
from worldattention.core.models.weight_files import HSA_FILE, check_class, check_file, read_json, weight_files
from worldattention.core.units import format_bytes

POCKET = "pocket"
_WAN_PARTS = ("transformer", "vae", "text_encoder", "tokenizer")
_POCKET_PARTS = ("transformer", "autoencoder")
_WEIGHTED = ("transformer", "vae", "text_encoder", "autoencoder")
_LFS = b"version https://git-lfs"


def model_folder(model: str) -> Path:
    """The folder of a model's files. Raises UserError when there is none."""
    if model == POCKET:
        with resources.as_file(resources.files("worldattention.assets") / "pocket") as path:
            return path
    folder = Path(model)
    if not os.path.isdir(folder):
        raise UserError(f"There is no model folder '{model}': give 'pocket' or the path of a folder.")
    if not os.path.isdir(folder / "transformer"):
        raise UserError(f"The folder '{model}' holds no transformer/ sub-folder: give a model folder.")
    return folder


def check_model(model: str) -> None:
    """Raises UserError, in the words of loading it, when the files of `model` already tell that it cannot be."""
    folder = model_folder(model)
    transformer_settings(folder / "transformer")
    _check_weight_files(folder / "transformer")
    if not os.path.isdir(folder / "vae"):
        check_autoencoder(model)
        return
    check_class(folder / "vae", read_json(folder / "vae" / "config.json"), "AutoencoderKLWan")
    _check_weight_files(folder / "vae")
    wan_geometry(folder)
    text = folder / "text_encoder"
    check_class(text, read_json(text / "config.json"), "UMT5EncoderModel")


def check_autoencoder(model: str) -> None:
    """As `check_model`, for work that needs no more than the pocket world's autoencoder."""
    folder = model_folder(model) / "autoencoder"
    autoencoder_settings(folder)
    _check_weight_files(folder)


def _check_weight_files(folder: Path) -> None:
    for path in weight_files(folder):
        check_file(path)
    if os.path.isfile(folder / HSA_FILE):
        check_file(folder / HSA_FILE)


def transformer_settings(folder: Path) -> dict[str, Any]:
    """The configuration in a transformer's folder. Raises UserError when it is none."""
    settings = read_json(folder / "config.json")
    if settings.get("_class_name") != "CausalWanTransformer3DModel":
        check_class(folder, settings, "WanTransformer3DModel")
    return settings


def autoencoder_settings(folder: Path) -> dict[str, Any]:
    """The configuration in the folder of the pocket world's autoencoder. Raises UserError when it is another's."""
    settings = read_json(folder / "config.json")
    kind = settings.get("_class_name")
    if kind != "PocketAutoencoder":
        raise UserError(f"The autoencoder '{kind}' in {folder} is not supported: use the pocket world's.")
    return settings


def geometry_of(folder: Path) -> Geometry:
    """Sizes of the frames of a model. Raises UserError as `wan_geometry` does."""
    return wan_geometry(folder) if os.path.isdir(folder / "vae") else POCKET_GEOMETRY


def wan_geometry(folder: Path) -> Geometry:
    """480 x 832, or `height` and `width` of the folder's own world.json. Raises UserError for odd sizes."""
    path = folder / "world.json"
    size = {"height": 480, "width": 832} | (read_json(path) if os.path.exists(path) else {})
    sides = size["height"], size["width"]
    if any(not isinstance(side, int) or side < 16 or side % 16 for side in sides):
        raise UserError(
            f"{path} must give height and width as multiples of 16, not {sides[0]} and {sides[1]}."
        )
    return Geometry(
        height=sides[0],
        width=sides[1],
        latent_channels=16,
        latent_height=sides[0] // 8,
        latent_width=sides[1] // 8,
        first_block_frames=9,
    )


def describe_model(model: str) -> str:
    """What `model` ('pocket' or a folder) is, in one sentence. Raises UserError when it cannot be used."""
    if model == POCKET:
        return "The pocket world comes with the program."
    if not model.strip():
        raise UserError("Type pocket, or choose the folder of a model.")
    folder = Path(model)
    try:
        if not os.path.isdir(folder):
            raise UserError(f"There is no folder '{model}': choose one, or type pocket.")
        parts = _WAN_PARTS if os.path.isdir(folder / "vae") else _POCKET_PARTS
        for part in parts:
            if not os.path.isdir(folder / part):
                raise UserError(f"The folder has no sub-folder {part}/: choose the folder of a whole model.")
        size = sum(_check_part(folder / part) for part in parts if part in _WEIGHTED)
    except (OSError, ValueError) as error:
        raise UserError(f"The folder cannot be read, as {reason(error)}: choose another.") from error
    kind = "A Wan model" if parts is _WAN_PARTS else "A model of the pocket world's kind"
    return f"{kind}, {format_bytes(size)} of weights."


def _check_part(folder: Path) -> int:
    """Bytes of a part's weights, once its files look whole."""
    config = folder / "config.json"
    if not os.path.isfile(config):
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
