"""Collects the moving shapes of a batch of frames: `raster` primitives whose numbers are tensors."""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
from torch import Tensor

from worldattention.core.pocket.raster import (
    ALPHA,
    BOTTOM,
    BOX,
    COLUMNS,
    COS,
    CX,
    CY,
    DOME,
    ELLIPSE,
    HX,
    HY,
    KIND,
    MODE,
    OVER,
    RADIUS,
    SHADE,
    SIN,
    SOFT,
    TAPER,
    TOP,
)

Number: TypeAlias = "Tensor | float"
Colour: TypeAlias = "Tensor | tuple[float, float, float]"


class Strokes:
    """Shapes in drawing order for frames [B, T].

    Numbers are floats or tensors [B, T, 1] (or [B, T, n] where `count` is n: n shapes at once), colours triples or
    tensors [B, T, 1 or n, 3]. Constants cost nothing per frame: they come from one template in `stack`.
    """

    def __init__(self) -> None:
        self._template: list[list[float]] = []
        self._writes: list[tuple[int, int, int | slice, Tensor]] = []

    def add(
        self,
        x: Number,
        y: Number,
        half_width: Number,
        half_height: Number,
        top: Colour,
        bottom: Colour | None = None,
        *,
        count: int = 1,
        radius: Number = 0.0,
        angle: Number = 0.0,
        taper: Number = 0.0,
        kind: float = BOX,
        soft: Number = 1.2,
        alpha: Number = 1.0,
        mode: float = OVER,
        shade: Number = 0.0,
    ) -> None:
        start = len(self._template)
        self._template += [[0.0] * COLUMNS for _ in range(count)]
        direction = torch.as_tensor(angle, dtype=torch.float32)
        numbers: tuple[tuple[int, Number], ...] = (
            (CX, x),
            (CY, y),
            (COS, direction.cos() if isinstance(angle, Tensor) else float(direction.cos())),
            (SIN, direction.sin() if isinstance(angle, Tensor) else float(direction.sin())),
            (HX, half_width),
            (HY, half_height),
            (RADIUS, radius),
            (TAPER, taper),
            (KIND, kind),
            (SOFT, soft),
            (ALPHA, alpha),
            (MODE, mode),
            (SHADE, shade),
        )
        for column, value in numbers:
            self._put(start, count, column, value)
        for where, colour in ((TOP, top), (BOTTOM, top if bottom is None else bottom)):
            if isinstance(colour, Tensor):
                self._writes.append((start, count, where, colour))
            else:
                for k, value in enumerate(colour):
                    self._put(start, count, where.start + k, value)

    def _put(self, start: int, count: int, column: int, value: Number) -> None:
        if isinstance(value, Tensor):
            self._writes.append((start, count, column, value))
        else:
            for row in self._template[start : start + count]:
                row[column] = value

    def ellipse(
        self, x: Number, y: Number, rx: Number, ry: Number, top: Colour, *args: Colour, **options: Any
    ) -> None:
        self.add(x, y, rx, ry, top, *args, kind=ELLIPSE, **options)

    def dome(
        self, x: Number, foot: Number, rx: Number, ry: Number, top: Colour, *args: Colour, **options: Any
    ) -> None:
        self.add(x, foot, rx, ry, top, *args, kind=DOME, **options)

    def line(
        self, x0: Tensor, y0: Tensor, x1: Tensor, y1: Tensor, half: Number, top: Colour, **options: Any
    ) -> None:
        """A round-ended line of thickness 2 * half."""
        dx, dy = x1 - x0, y1 - y0
        length, angle = torch.sqrt(dx * dx + dy * dy + 0.01), torch.atan2(dy, dx)
        self.add((x0 + x1) / 2, (y0 + y1) / 2, length / 2, 0.05, top, radius=half, angle=angle, **options)

    def stack(self, like: Tensor) -> Tensor:
        """[B, T, N, 20] on the device of `like` [B, T]."""
        out = torch.tensor(self._template, device=like.device).expand(*like.shape, -1, -1).clone()
        for start, count, column, value in self._writes:
            out[:, :, start : start + count, column] = value
        return out
