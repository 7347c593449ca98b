"""`raster` as a Triton kernel: one program per frame and tile, all primitives in registers, no intermediate."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_TILE_H, _TILE_W = 16, 32


@triton.jit  # type: ignore[untyped-decorator]
def _draw(canvases, index, primitives, out, count, height, width, TH: tl.constexpr, TW: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    frame = tl.program_id(0).to(tl.int64)
    ys = tl.program_id(1) * TH + tl.arange(0, TH)[:, None]
    xs = tl.program_id(2) * TW + tl.arange(0, TW)[None, :]
    offset = (ys * width + xs) * 3
    source = canvases + tl.load(index + frame).to(tl.int64) * height * width * 3 + offset
    red, green, blue = (
        tl.load(source).to(tl.float32),
        tl.load(source + 1).to(tl.float32),
        tl.load(source + 2).to(tl.float32),
    )
    x, y = xs.to(tl.float32) + 0.5, ys.to(tl.float32) + 0.5
    middle_x, middle_y = tl.program_id(2) * TW + TW * 0.5, tl.program_id(1) * TH + TH * 0.5
    for i in range(count):
        p = primitives + (frame * count + i) * 20
        cx, cy, cos, sin = tl.load(p), tl.load(p + 1), tl.load(p + 2), tl.load(p + 3)
        hx, hy, radius, taper = tl.load(p + 4), tl.load(p + 5), tl.load(p + 6), tl.load(p + 7)
        soft, alpha = tl.load(p + 9), tl.load(p + 16)
        edge = radius + soft
        along = hx * (1 + tl.abs(taper) * (1 + 2 * edge / hy))
        reach_x = along * tl.abs(cos) + hy * tl.abs(sin) + edge + TW * 0.5
        reach_y = along * tl.abs(sin) + hy * tl.abs(cos) + edge + TH * 0.5
        if (alpha > 1e-3) & (tl.abs(middle_x - cx) < reach_x) & (tl.abs(middle_y - cy) < reach_y):
            u = (x - cx) * cos + (y - cy) * sin
            v = (y - cy) * cos - (x - cx) * sin
            if tl.load(p + 8) > 0.5:
                a, b = u / hx, v / hy
                level = tl.sqrt(a * a + b * b + 1e-9)
                distance = level * (level - 1) / tl.sqrt((a / hx) * (a / hx) + (b / hy) * (b / hy) + 1e-12)
                distance = tl.where(tl.load(p + 8) > 1.5, tl.maximum(distance, v), distance)
            else:
                slope = hx * taper / hy
                qx = (tl.abs(u) - hx - slope * v) / tl.sqrt(1 + slope * slope)
                qy = tl.abs(v) - hy
                ox, oy = tl.maximum(qx, 0.0), tl.maximum(qy, 0.0)
                distance = tl.sqrt(ox * ox + oy * oy) + tl.minimum(tl.maximum(qx, qy), 0.0) - radius
            cover = tl.minimum(tl.maximum(0.5 - distance / soft, 0.0), 1.0)
            cover = cover * cover * (3 - 2 * cover) * alpha
            down = tl.minimum(tl.maximum(0.5 + 0.5 * v / (hy + radius), 0.0), 1.0)
            across = tl.minimum(tl.maximum(0.5 + 0.5 * u / (hx + radius), 0.0), 1.0)
            paint = (1 + tl.load(p + 18) * (0.5 - across)) * cover
            keep = tl.where(tl.load(p + 17) > 0.5, 1.0, 1.0 - cover)
            red = red * keep + (tl.load(p + 10) + (tl.load(p + 13) - tl.load(p + 10)) * down) * paint
            green = green * keep + (tl.load(p + 11) + (tl.load(p + 14) - tl.load(p + 11)) * down) * paint
            blue = blue * keep + (tl.load(p + 12) + (tl.load(p + 15) - tl.load(p + 12)) * down) * paint
    target = out + frame * height * width * 3 + offset
    dtype = out.dtype.element_ty
    tl.store(target, tl.minimum(tl.maximum(red, 0.0), 1.0).to(dtype))
    tl.store(target + 1, tl.minimum(tl.maximum(green, 0.0), 1.0).to(dtype))
    tl.store(target + 2, tl.minimum(tl.maximum(blue, 0.0), 1.0).to(dtype))


def raster_triton(canvases: Tensor, index: Tensor, primitives: Tensor, dtype: torch.dtype) -> Tensor:
    """As `raster`; the result has `dtype`. Height and width must be multiples of 16 and 32."""
    frames, count, _ = primitives.shape
    _, height, width, _ = canvases.shape
    out = torch.empty(frames, height, width, 3, device=canvases.device, dtype=dtype)
    grid = (frames, height // _TILE_H, width // _TILE_W)
    _draw[grid](
        canvases.contiguous(),
        index,
        primitives.float().contiguous(),
        out,
        count,
        height,
        width,
        _TILE_H,
        _TILE_W,
    )
    return out
