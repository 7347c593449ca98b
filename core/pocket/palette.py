"""Colours and light: what every shape of the pocket world is painted with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from worldattention.core.pocket.vocabulary import TIMES, WEATHERS

RGB = tuple[float, float, float]

HUE_RGB: tuple[RGB, ...] = (
    (0.87, 0.20, 0.19),
    (0.97, 0.54, 0.13),
    (0.98, 0.85, 0.27),
    (0.33, 0.70, 0.29),
    (0.13, 0.72, 0.70),
    (0.20, 0.42, 0.88),
    (0.56, 0.29, 0.77),
    (0.96, 0.53, 0.73),
)
SHIRT_RGB: tuple[RGB, ...] = (
    (0.86, 0.17, 0.17),
    (0.16, 0.37, 0.88),
    (0.16, 0.62, 0.27),
    (0.96, 0.82, 0.18),
    (0.95, 0.95, 0.95),
    (0.53, 0.22, 0.70),
    (0.97, 0.52, 0.10),
    (0.15, 0.15, 0.19),
)
SKIN_RGB: tuple[RGB, ...] = ((0.98, 0.82, 0.70), (0.80, 0.58, 0.42), (0.50, 0.33, 0.24))
HAIR_RGB: tuple[RGB, ...] = ((0.16, 0.12, 0.11), (0.48, 0.27, 0.13), (0.88, 0.69, 0.30), (0.72, 0.28, 0.12))
TROUSERS_RGB: tuple[RGB, ...] = ((0.20, 0.25, 0.45), (0.47, 0.38, 0.28), (0.38, 0.40, 0.45))
SNOW_RGB: RGB = (0.94, 0.96, 1.0)

_AMBIENT: tuple[RGB, ...] = ((1.0, 1.0, 1.0), (0.95, 0.76, 0.68), (0.60, 0.65, 0.90))
_SKY_TOP: tuple[RGB, ...] = ((0.30, 0.58, 0.94), (0.38, 0.33, 0.62), (0.06, 0.09, 0.27))
_SKY_LOW: tuple[RGB, ...] = ((0.80, 0.91, 0.99), (1.0, 0.68, 0.45), (0.24, 0.30, 0.56))
_CLOUDED: RGB = (0.74, 0.78, 0.84)
_DIM = (1.0, 0.95, 0.88)  # by weather


def mix(a: RGB, b: RGB, share: float) -> RGB:
    """a where share is 0, b where it is 1."""
    return (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share)


def times(a: RGB, b: RGB | float) -> RGB:
    """Channel-wise product."""
    x, y, z = b if isinstance(b, tuple) else (b, b, b)
    return (a[0] * x, a[1] * y, a[2] * z)


@dataclass(frozen=True, slots=True)
class Light:
    """The light of one time of day (index of `TIMES`) in one weather (index of `WEATHERS`)."""

    time: int
    weather: int

    @property
    def clear(self) -> bool:
        return WEATHERS[self.weather] == "clear"

    @property
    def snow(self) -> bool:
        return WEATHERS[self.weather] == "snow"

    @property
    def night(self) -> bool:
        return TIMES[self.time] == "night"

    @property
    def lamps(self) -> bool:
        """Whether lamps and windows are lit."""
        return TIMES[self.time] != "day"

    @property
    def ambient(self) -> RGB:
        """What every lit colour is multiplied by."""
        return times(_AMBIENT[self.time], _DIM[self.weather])

    @property
    def sky(self) -> tuple[RGB, RGB]:
        """Colour of the sky at the top of the picture and at the horizon."""
        top, low = _SKY_TOP[self.time], _SKY_LOW[self.time]
        if self.clear:
            return top, low
        grey = times(_CLOUDED, self.ambient)
        return mix(top, times(grey, 0.80), 0.55), mix(low, grey, 0.50)


@lru_cache(maxsize=8)
def ambient_table(device: torch.device) -> Tensor:
    """[times, weathers, 3]: `Light.ambient` for tensors."""
    rows = [[Light(t, w).ambient for w in range(len(WEATHERS))] for t in range(len(TIMES))]
    return torch.tensor(rows, device=device)


@lru_cache(maxsize=64)
def colour_table(colours: tuple[RGB, ...], device: torch.device) -> Tensor:
    """[n, 3] on the device, to be indexed."""
    return torch.tensor(colours, device=device)
