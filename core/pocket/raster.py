"""Draws lists of simple shapes, back to front, on canvases.

A *primitive* is 20 numbers (`COLUMNS`): centre, direction (cosine and sine), half sizes, corner radius, taper
(relative growth of the half width from the middle to the lower edge; -1..1, 1 is a triangle with its tip on
top), kind (0 rounded box, 1 ellipse), width of the soft edge in pixels, colour at the top and at the bottom,
alpha, mode (0 over, 1 added light), shade (relative brightening of the left and darkening of the right side).
Coordinates are pixels, y down.
"""

from __future__ import annotations

import torch
from torch import Tensor

CX, CY, COS, SIN, HX, HY, RADIUS, TAPER, KIND, SOFT = range(10)
TOP, BOTTOM = slice(10, 13), slice(13, 16)
ALPHA, MODE, SHADE, SPARE = range(16, 20)
COLUMNS = 20
BOX, ELLIPSE, DOME = 0.0, 1.0, 2.0
OVER, ADD = 0.0, 1.0

_TILE = 16


def raster(canvases: Tensor, index: Tensor, primitives: Tensor) -> Tensor:
    """Draw primitives [F, N, 20] on canvases[index] (canvases [K, H, W, 3], index [F]).

    Returns [F, H, W, 3] in 0..1: half on CUDA (Triton), float elsewhere.
    """
    if canvases.is_cuda:
        from worldattention.core.pocket.raster_triton import raster_triton

        return raster_triton(canvases, index, primitives, torch.float16)
    return raster_torch(canvases, index, primitives)


def extents(primitives: Tensor) -> tuple[Tensor, Tensor]:
    """Half width and half height of the bounding boxes, each [...]; primitives [..., 20]."""
    p = primitives
    cos, sin, edge = p[..., COS].abs(), p[..., SIN].abs(), p[..., RADIUS] + p[..., SOFT]
    along = p[..., HX] * (1 + p[..., TAPER].abs() * (1 + 2 * edge / p[..., HY]))
    return along * cos + p[..., HY] * sin + edge, along * sin + p[..., HY] * cos + edge


def raster_torch(canvases: Tensor, index: Tensor, primitives: Tensor) -> Tensor:
    """`raster` in plain torch: every primitive touches only the tiles that its bounding box meets."""
    frames, count, _ = primitives.shape
    height, width = canvases.shape[1:3]
    rows, columns = height // _TILE, width // _TILE
    primitives = primitives.float()
    image = canvases[index].float().view(frames, rows, _TILE, columns, _TILE, 3)
    image = image.permute(0, 1, 3, 5, 2, 4).reshape(frames * rows * columns, 3, _TILE, _TILE)

    steps = torch.arange(_TILE, device=image.device) + 0.5
    origin_x = torch.arange(columns, device=image.device).repeat(rows) * _TILE
    origin_y = torch.arange(rows, device=image.device).repeat_interleave(columns) * _TILE
    reach_x, reach_y = extents(primitives)
    middle = _TILE / 2
    hit = (origin_x + middle - primitives[..., CX, None]).abs() < reach_x[..., None] + middle
    hit &= (origin_y + middle - primitives[..., CY, None]).abs() < reach_y[..., None] + middle
    hit &= (primitives[..., ALPHA] > 1e-3)[..., None]  # [F, N, tiles]
    order, tiles = hit.transpose(0, 1).reshape(count, -1).nonzero(as_tuple=True)

    start = 0
    for i, stop in enumerate(torch.bincount(order, minlength=count).cumsum(0).tolist()):
        if stop > start:
            tile = tiles[start:stop]
            frame, cell = tile // (rows * columns), tile % (rows * columns)
            x = (origin_x[cell, None] + steps)[:, None, :]
            y = (origin_y[cell, None] + steps)[:, :, None]
            image[tile] = _paint(image[tile], x, y, primitives[frame, i])
        start = stop
    image = image.view(frames, rows, columns, 3, _TILE, _TILE).permute(0, 1, 4, 2, 5, 3)
    return image.reshape(frames, height, width, 3).clamp(0, 1)


def _paint(image: Tensor, x: Tensor, y: Tensor, p: Tensor) -> Tensor:
    """One primitive p [n, 20] on pixels image [n, 3, h, w] at x [n, 1, w], y [n, h, 1]."""
    c = [p[:, k].view(-1, 1, 1) for k in range(COLUMNS)]
    dx, dy = x - c[CX], y - c[CY]
    u = dx * c[COS] + dy * c[SIN]
    v = dy * c[COS] - dx * c[SIN]
    cover = (0.5 - _distance(u, v, c) / c[SOFT]).clamp(0, 1)
    cover = cover * cover * (3 - 2 * cover) * c[ALPHA]
    down = (0.5 + 0.5 * v / (c[HY] + c[RADIUS])).clamp(0, 1)[:, None]
    across = (0.5 + 0.5 * u / (c[HX] + c[RADIUS])).clamp(0, 1)
    light = ((1 + c[SHADE] * (0.5 - across)) * cover)[:, None]
    top, bottom = p[:, TOP, None, None], p[:, BOTTOM, None, None]
    keep = torch.where(c[MODE] > 0.5, 1.0, 1 - cover)[:, None]
    return image * keep + (top + (bottom - top) * down) * light


def _distance(u: Tensor, v: Tensor, c: list[Tensor]) -> Tensor:
    """Signed distance in pixels (about, for ellipses) to the edge, in the primitive's own axes."""
    slope = c[HX] * c[TAPER] / c[HY]
    qx = (u.abs() - c[HX] - slope * v) * torch.rsqrt(1 + slope * slope)
    qy = v.abs() - c[HY]
    outside = torch.sqrt(qx.clamp(min=0) ** 2 + qy.clamp(min=0) ** 2)
    box = outside + torch.maximum(qx, qy).clamp(max=0) - c[RADIUS]
    a, b = u / c[HX], v / c[HY]
    level = torch.sqrt(a * a + b * b + 1e-9)  # not 0 in the very centre, where distance would be 0 / 0
    gradient = torch.sqrt((a / c[HX]) ** 2 + (b / c[HY]) ** 2 + 1e-12)
    ellipse = level * (level - 1) / gradient
    round_shape = torch.where(c[KIND] > 1.5, torch.maximum(ellipse, v), ellipse)
    return torch.where(c[KIND] > 0.5, round_shape, box)
