"""Where the weights of the reader of attributes lie, and whether they can be read: told without torch."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from safetensors import SafetensorError, safe_open

from worldattention.core.errors import UserError

READER_FILE = "reader.safetensors"


def find_reader(model: str) -> Path:
    """Where a model's reader lies: in its folder, or for `pocket` among the assets of a checkout."""
    if model == "pocket":
        with resources.as_file(resources.files("worldattention.assets") / "evaluation" / READER_FILE) as path:
            return path
    return Path(model) / READER_FILE


def check_reader(path: Path) -> None:
    """Raises UserError when the weights are missing or no safetensors file."""
    try:
        with safe_open(path, framework="np"):
            pass
    except FileNotFoundError:
        raise UserError(
            f"The reader's weights '{path}' are missing: run from a checkout of the repository, or give --reader."
        ) from None
    except (OSError, SafetensorError) as error:
        raise broken(path) from error


def broken(path: Path) -> UserError:
    """What to say of weights that cannot be read."""
    return UserError(
        f"The reader's weights '{path}' are broken: take them from the repository, or train them."
    )
