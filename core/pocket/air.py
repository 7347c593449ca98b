"""Snow and rain: the same in every episode, and exact functions of time."""

from __future__ import annotations

import math

import torch

from worldattention.core.pocket.actor import PERIOD_SECONDS, Cast
from worldattention.core.pocket.strokes import Strokes
from worldattention.core.pocket.vocabulary import WEATHERS

_FLAKES, _DROPS = 22, 20
_GOLDEN = 0.618034


def draw_weather(s: Strokes, c: Cast) -> None:
    """Large slow flakes, and drops that fall the height of the picture in one period."""
    snow, rain = ((c.weather == WEATHERS.index(name)).float() for name in ("snow", "rain"))
    i = torch.arange(_FLAKES, device=c.x.device, dtype=torch.float32)
    x, y = 256 * torch.remainder(_GOLDEN * i, 1.0), 140 * (i + 0.5) / _FLAKES
    fall = torch.remainder(y + 140 * c.seconds / (4 * PERIOD_SECONDS), 140.0) - 6
    sway = 4 * torch.sin(c.phase / 2 + math.tau * _GOLDEN * i * 3)
    size = 1.7 + 0.9 * torch.remainder(i * 0.37, 1.0)
    colour = c.lit(0.5, 0.5, 0.5) + 0.48
    s.ellipse(x + sway, fall, size, size, colour, count=_FLAKES, soft=1.5, alpha=0.95 * snow)

    i = torch.arange(_DROPS, device=c.x.device, dtype=torch.float32)
    x, y = 256 * torch.remainder(_GOLDEN * i + 0.3, 1.0), 148 * (i + 0.5) / _DROPS
    fall = torch.remainder(y + 148 * c.seconds / PERIOD_SECONDS, 148.0) - 10
    slant = x - 0.12 * fall + 8
    s.ellipse(slant, fall, 1.1, 7.0, (0.86, 0.92, 1.0), count=_DROPS, angle=0.12, soft=1.3, alpha=0.62 * rain)
