"""Matrices stored as int8 with one fp32 scale a row, beside tensors that are stored as they are.

A matrix `name` [rows, columns] is stored as int8 under its own name and its scales as `name.row_scale` [rows]. Half
the bytes of fp16; the rounding is at most half of a 127th of a row's largest value.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROW_SCALE = ".row_scale"


def to_rows(name: str, matrix: Tensor) -> dict[str, Tensor]:
    """What is stored for `matrix` [rows, columns]."""
    scale = matrix.float().abs().amax(1).clamp(min=1e-12) / 127
    return {name: (matrix.float() / scale[:, None]).round().to(torch.int8), name + ROW_SCALE: scale}


def from_rows(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Stored tensors with the matrices whole again, in fp16; all others as they are."""
    whole = {}
    for name, tensor in tensors.items():
        scale = tensors.get(name + ROW_SCALE)
        if scale is not None:
            whole[name] = (tensor.float() * scale[:, None]).half()
        elif not name.endswith(ROW_SCALE):
            whole[name] = tensor
    return whole
