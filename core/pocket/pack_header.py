"""What a text pack says of itself, read without torch: whether the file can be used shows before anything is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from worldattention.core.errors import UserError


def read_header(path: Path) -> tuple[dict[str, Any], str]:
    """BERT's configuration and the tokenizer's JSON. Raises UserError."""
    try:
        with safe_open(path, framework="np") as file:
            about = file.metadata() or {}
        return json.loads(about["config"]), about["tokenizer"]
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise broken(path, error) from None


def broken(path: Path, error: Exception) -> UserError:
    """What to say of a pack that lacks something or cannot be read."""
    why = "has no tokenizer" if isinstance(error, KeyError) else "cannot be read"
    return UserError(
        f"The text pack '{path}' {why}: write it again with `worldattention train pocket --stages text-pack`."
    )
