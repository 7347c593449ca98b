"""Collects the shapes of one still scene under one light, with colours that may be left open.

A colour is affine in one hidden colour: base + gain * hidden. So the shapes of every place, layout, time and
weather are constants, made once, and an episode only fills in its own colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from worldattention.core.pocket.palette import RGB, SNOW_RGB, Light, mix, times
from worldattention.core.pocket.raster import ADD, BOX, DOME, ELLIPSE, OVER
from worldattention.core.pocket.scenes import COLOURS

ROW = 26  # a primitive, whose spare column holds the slot of its hidden colour, and two gains


@dataclass(frozen=True, slots=True)
class Paint:
    """base + gain * (the hidden colour in `slot`)."""

    base: RGB
    gain: RGB = (0.0, 0.0, 0.0)
    slot: int = 0

    def scaled(self, factor: float) -> Paint:
        return Paint(times(self.base, factor), times(self.gain, factor), self.slot)


class Sketch:
    """Shapes in drawing order; see `raster` for what their numbers mean."""

    def __init__(self, light: Light) -> None:
        self.light = light
        self.rows: list[list[float]] = []

    def lit(self, rgb: RGB, snow: float = 0.0, haze: float = 0.0) -> Paint:
        """A colour under the light, covered by `snow` when it snows, sunk into the horizon's colour by `haze`."""
        white = mix(rgb, SNOW_RGB, snow if self.light.snow else 0.0)
        return Paint(mix(times(white, self.light.ambient), self.light.sky[1], haze))

    def hidden(self, name: str, snow: float = 0.0) -> Paint:
        """The hidden colour `name` under the light."""
        share = snow if self.light.snow else 0.0
        ambient = self.light.ambient
        return Paint(times(times(SNOW_RGB, ambient), share), times(ambient, 1 - share), COLOURS.index(name))

    def lamp(self, off: RGB, on: RGB) -> Paint:
        """Something that shines by itself when lamps are lit."""
        return Paint(on) if self.light.lamps else self.lit(off)

    def box(
        self,
        x: float,
        y: float,
        half_width: float,
        half_height: float,
        paint: Paint,
        *,
        fade: float = 1.0,
        bottom: Paint | None = None,
        radius: float = 0.0,
        taper: float = 0.0,
        angle: float = 0.0,
        shade: float = 0.0,
        alpha: float = 1.0,
        kind: float = BOX,
        soft: float = 1.2,
        mode: float = OVER,
    ) -> None:
        """A box (or another kind); its colour runs from `paint` on top to `bottom`, or to `paint` times `fade`."""
        low = paint.scaled(fade) if bottom is None else bottom
        slot = low.slot if paint.gain == (0.0, 0.0, 0.0) else paint.slot
        direction = (math.cos(angle), math.sin(angle))
        shape = (max(half_width, 0.05), max(half_height, 0.05), radius, taper, kind, soft)
        tail = (alpha, mode, shade, float(slot))
        self.rows.append([x, y, *direction, *shape, *paint.base, *low.base, *tail, *paint.gain, *low.gain])

    def ellipse(self, x: float, y: float, rx: float, ry: float, paint: Paint, **options: Any) -> None:
        self.box(x, y, rx, ry, paint, kind=ELLIPSE, **options)

    def dome(self, x: float, foot: float, rx: float, ry: float, paint: Paint, **options: Any) -> None:
        """The upper half of an ellipse, flat at y = foot."""
        self.box(x, foot, rx, ry, paint, kind=DOME, **options)

    def triangle(
        self, x: float, tip: float, foot: float, half_width: float, paint: Paint, **options: Any
    ) -> None:
        """An upright triangle: tip on top at y = tip, base at y = foot."""
        half = (foot - tip) / 2
        self.box(x, tip + half, half_width / 2, half, paint, taper=1.0, **options)

    def line(self, x0: float, y0: float, x1: float, y1: float, width: float, paint: Paint) -> None:
        """A round-ended line."""
        length = math.hypot(x1 - x0, y1 - y0)
        angle = math.atan2(y1 - y0, x1 - x0)
        self.box((x0 + x1) / 2, (y0 + y1) / 2, length / 2, 0.05, paint, radius=width / 2, angle=angle)

    def shine(self, x: float, y: float, radius: float, rgb: RGB, strength: float = 1.0) -> None:
        """A soft round light added to what is behind it."""
        self.box(x, y, radius, radius, Paint(rgb), kind=ELLIPSE, soft=1.8 * radius, alpha=strength, mode=ADD)

    def lamplight(self, x: float, y: float, radius: float, rgb: RGB) -> None:
        """The shine of a lamp: none by day, half at dusk."""
        if self.light.lamps:
            self.shine(x, y, radius, rgb, 1.0 if self.light.night else 0.45)

    def shadow(self, x: float, y: float, rx: float, ry: float, strength: float = 0.28) -> None:
        self.box(x, y, rx, ry, Paint((0.02, 0.03, 0.08)), kind=ELLIPSE, soft=3.0, alpha=strength)
