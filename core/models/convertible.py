"""Whether `convert` can begin, told from the files alone: no tensor is read and no torch loaded."""

from __future__ import annotations

from pathlib import Path

from worldattention.core.errors import UserError
from worldattention.core.files import check_makeable, failures_told
from worldattention.core.models.weight_files import check_file, short


def check_checkpoint(path: Path) -> None:
    """Raises UserError when it shows already that `convert` cannot read `path`."""
    if path.suffix == ".safetensors":
        return check_file(path)
    try:
        with path.open("rb"):
            return None
    except FileNotFoundError:
        raise UserError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise UserError(
            f"The file {path} cannot be read as a checkpoint ({short(error)}): fetch it again."
        ) from None


def check_free(folder: Path) -> None:
    """Raises UserError when weights lie in `folder`, or it cannot be made."""
    if any(folder.glob("*.safetensors")):
        raise UserError(f"{folder} holds weights already: give another folder, or delete them first.")
    with failures_told(folder, "the model"):
        check_makeable(folder)
