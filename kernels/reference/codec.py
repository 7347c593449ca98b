"""The page codec: keys and values in one byte a number, with a scale per token and head.

decoded = data * scale, where scale = largest magnitude / the largest number of the type: 448 for fp8 (e4m3), 127 for
int8. `bf16` is the identity: data as they are, no scale.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

PageCodec = Literal["bf16", "fp8", "int8"]
LARGEST = {"fp8": 448.0, "int8": 127.0}
DTYPES = {"fp8": torch.float8_e4m3fn, "int8": torch.int8}


class Encoded(NamedTuple):
    """Encoded keys or values of a page."""

    data: Tensor
    """[..., L, H, D]."""
    scale: Tensor | None
    """[..., L, H] fp32; None for `bf16`."""


def encode(x: Tensor, codec: PageCodec) -> Encoded:
    """Encode x [..., L, H, D]. A token and head of zeros stays zero; int8 rounds halves up."""
    if codec == "bf16":
        return Encoded(x, None)
    real = x.float()
    scale = (real.abs().amax(dim=-1) / LARGEST[codec]).clamp_min(1e-30)
    scaled = real / scale[..., None]
    if codec == "int8":
        scaled = torch.floor(scaled + 0.5).clamp_(-127, 127)
    return Encoded(scaled.to(DTYPES[codec]), scale)


def decode(encoded: Encoded, dtype: torch.dtype) -> Tensor:
    """The numbers again, [..., L, H, D] in `dtype`."""
    if encoded.scale is None:
        return encoded.data.to(dtype)
    return (encoded.data.float() * encoded.scale[..., None]).to(dtype)
