"""The kind of a picture's file, told before anything is made."""

from __future__ import annotations

from pathlib import Path

from worldattention.core.errors import UserError


def picture_kind(path: Path) -> str:
    """JPEG or PNG, by a file's suffix. Raises UserError for others."""
    kind = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG"}.get(path.suffix.lower())
    if kind is None:
        raise UserError(f"The picture '{path}' must end in .jpg or .png: name it so.")
    return kind
