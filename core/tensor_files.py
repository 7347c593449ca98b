"""Tensors as one safetensors file, whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from worldattention.core.files import failures_told, replacing

_SYSTEM_ERROR = re.compile(r"os error (\d+)")


def write_tensors(tensors: Mapping[str, Tensor], path: Path, what: str) -> None:
    """Writes contiguous CPU tensors to `path`; `what` names them, as in "the weights". Raises UserError."""
    with replacing(path, what) as temporary, failures_told(path, what):
        try:
            save_file(dict(tensors), temporary)
        except SafetensorError as error:  # which has the system's number in its text only
            number = _SYSTEM_ERROR.search(str(error))
            if number is None:
                raise
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
