"""Pages in and out of the window: decode and rotate in one pass, and the codec's encoder.

The source of an install may lie in pinned main memory: the kernel then reads it over the bus, without a copy first.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worldattention.kernels.reference.codec import DTYPES, LARGEST, Encoded, PageCodec


@triton.jit
def _install(
    Data, Scale, Cos, Sin, Out, tokens, d_layer, d_token, d_head, s_layer, s_token, s_head, t_token,
    o_layer, o_token, o_head,
    ROWS: tl.constexpr, D: tl.constexpr, SCALED: tl.constexpr, TURN: tl.constexpr,
):  # fmt: skip
    head, layer = tl.program_id(1), tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channels = tl.arange(0, D)
    inside = rows < tokens
    at = Data + layer * d_layer + head * d_head + rows[:, None] * d_token + channels[None, :]
    x = tl.load(at, mask=inside[:, None], other=0.0).to(tl.float32)
    if SCALED:
        scale = tl.load(Scale + layer * s_layer + head * s_head + rows * s_token, mask=inside, other=0.0)
        x = x * scale[:, None]
    if TURN:
        even, odd = tl.split(tl.reshape(x, [ROWS, D // 2, 2]))
        half = rows[:, None] * t_token + tl.arange(0, D // 2)[None, :]
        cos = tl.load(Cos + half, mask=inside[:, None], other=0.0)
        sin = tl.load(Sin + half, mask=inside[:, None], other=0.0)
        x = tl.reshape(tl.join(even * cos - odd * sin, even * sin + odd * cos), [ROWS, D])
    o_at = Out + layer * o_layer + head * o_head + rows[:, None] * o_token + channels[None, :]
    tl.store(o_at, x.to(Out.dtype.element_ty), mask=inside[:, None])


def install(encoded: Encoded, out: Tensor, rotary: tuple[Tensor, Tensor] | None) -> None:
    """Decode [layers, L, H, D], rotate where `rotary` (cos, sin, each [L, D / 2] fp32) is given, write into `out`.

    Memory of the CPU that is not pinned is copied first: a GPU cannot read it.
    """
    data, scale = (None if x is None else _readable(x, out.device) for x in encoded)
    assert data is not None
    layers, tokens, heads, channels = data.shape
    if data.stride(-1) != 1 or out.stride(-1) != 1:
        raise ValueError("channels must lie side by side")
    cos, sin = (data, data) if rotary is None else (table.contiguous() for table in rotary)
    scales = data if scale is None else scale
    _install[(triton.cdiv(tokens, 32), heads, layers)](
        data, scales, cos, sin, out, tokens, *data.stride()[:3], *scales.stride()[:3], channels // 2,
        *out.stride()[:3], ROWS=32, D=channels, SCALED=scale is not None, TURN=rotary is not None, num_warps=4,
    )  # fmt: skip


def _readable(x: Tensor, device: torch.device) -> Tensor:
    return x if x.device == device or x.is_pinned() else x.to(device)


@triton.jit
def _encode(
    X, Data, Scale, tokens, largest, x_layer, x_token, x_head, d_layer, d_token, d_head, heads,
    ROWS: tl.constexpr, D: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    head, layer = tl.program_id(1), tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channels = tl.arange(0, D)
    inside = rows < tokens
    at = X + layer * x_layer + head * x_head + rows[:, None] * x_token + channels[None, :]
    x = tl.load(at, mask=inside[:, None], other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), 1) / largest, 1e-30)
    scaled = x / scale[:, None]
    if WHOLE:
        scaled = tl.minimum(tl.maximum(tl.floor(scaled + 0.5), -127.0), 127.0)
    at_data = Data + layer * d_layer + head * d_head + rows[:, None] * d_token + channels[None, :]
    tl.store(at_data, scaled.to(Data.dtype.element_ty), mask=inside[:, None])
    tl.store(Scale + (layer * tokens + rows) * heads + head, scale, mask=inside)


def encode(x: Tensor, codec: PageCodec) -> Encoded:
    """Encode x [layers, L, H, D]; see `reference.codec.encode`."""
    if codec == "bf16":
        return Encoded(x, None)
    layers, tokens, heads, channels = x.shape
    if x.stride(-1) != 1:
        raise ValueError("channels must lie side by side")
    data = torch.empty(x.shape, dtype=DTYPES[codec], device=x.device)
    scale = torch.empty((layers, tokens, heads), device=x.device)
    _encode[(triton.cdiv(tokens, 32), heads, layers)](
        x, data, scale, tokens, LARGEST[codec], *x.stride()[:3], *data.stride()[:3], heads,
        ROWS=32, D=channels, WHOLE=codec == "int8", num_warps=4,
    )  # fmt: skip
    return Encoded(data, scale)
