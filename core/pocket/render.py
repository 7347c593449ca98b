"""From scenes to pictures: build the shapes of many episodes at once, then draw slices of them.

Building is bound by the number of operations and not by the batch, so build for hundreds of episodes and draw
`Drawing.select` of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.pocket.actor import cast, draw_behind, draw_body, draw_prop_arm
from worldattention.core.pocket.air import draw_weather
from worldattention.core.pocket.props import draw_ball, draw_props_before, draw_props_behind, hands_of
from worldattention.core.pocket.raster import COLUMNS, raster
from worldattention.core.pocket.scenes import Hidden, Scene
from worldattention.core.pocket.static import HEIGHT, WIDTH, draw_canvases
from worldattention.core.pocket.strokes import Strokes

__all__ = ["FPS", "HEIGHT", "WIDTH", "Drawing", "build", "draw", "render"]

FPS = 16


@dataclass(frozen=True, slots=True)
class Drawing:
    """canvases [B, S, H, W, 3] half: the still part of every segment; primitives [B, T, N, 20]: what moves."""

    canvases: Tensor
    primitives: Tensor

    def select(self, index: Tensor | slice) -> Drawing:
        """The episodes at `index` (anything that indexes the first dimension of a tensor)."""
        return Drawing(self.canvases[index], self.primitives[index])


def build(hidden: Hidden, scene: Scene, which: Tensor, seconds: Tensor) -> Drawing:
    """Shapes of frames `which` [B, T] (integer: the segment each frame shows) at `seconds` [B, T]."""
    c = cast(hidden, scene, which, seconds)
    hands = hands_of(c)
    strokes = Strokes()
    draw_behind(strokes, c)
    draw_props_behind(strokes, c, hands)
    draw_body(strokes, c, hands)
    draw_props_before(strokes, c, hands)
    draw_prop_arm(strokes, c, hands)
    draw_ball(strokes, c)
    draw_weather(strokes, c)
    return Drawing(draw_canvases(hidden, scene), strokes.stack(which))


def draw(drawing: Drawing, which: Tensor) -> Tensor:
    """[B, T, H, W, 3] in 0..1: half on CUDA, float on the CPU. `which` as in `build`."""
    batch, frames = which.shape
    segments = drawing.canvases.shape[1]
    index = torch.arange(batch, device=which.device)[:, None] * segments + which
    canvases = drawing.canvases.reshape(-1, HEIGHT, WIDTH, 3)
    flat = drawing.primitives.reshape(batch * frames, -1, COLUMNS)
    return raster(canvases, index.reshape(-1), flat).view(batch, frames, HEIGHT, WIDTH, 3)


def render(hidden: Hidden, scene: Scene, which: Tensor, seconds: Tensor) -> Tensor:
    """`draw` of `build`."""
    return draw(build(hidden, scene, which, seconds), which)
