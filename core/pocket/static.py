"""The still part of scenes: places drawn on canvases, in the colours of their episodes."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from worldattention.core.pocket.palette import HUE_RGB, Light, colour_table
from worldattention.core.pocket.places import ACTOR_X, PLACE_SKETCHES
from worldattention.core.pocket.raster import BOTTOM, COLUMNS, SPARE, TOP, raster
from worldattention.core.pocket.scenes import LAYOUTS, Hidden, Scene
from worldattention.core.pocket.sketch import ROW, Sketch
from worldattention.core.pocket.vocabulary import PLACES, TIMES, WEATHERS

HEIGHT, WIDTH = 128, 256


@lru_cache(maxsize=8)
def _tables(device: torch.device) -> Tensor:
    """Rows of every still scene, [places * layouts * times * weathers, N, ROW]; short ones end in alpha 0."""
    scenes = []
    for place in PLACES:
        for layout in range(LAYOUTS):
            for time in range(len(TIMES)):
                for weather in range(len(WEATHERS)):
                    sketch = Sketch(Light(time, weather))
                    PLACE_SKETCHES[place](sketch, layout)
                    scenes.append(torch.tensor(sketch.rows))
    table = torch.zeros(len(scenes), max(len(rows) for rows in scenes), ROW)
    table[:, :, 4:6] = 1.0  # half sizes and soft edges divide
    table[:, :, 9] = 1.0
    for i, rows in enumerate(scenes):
        table[i, : len(rows)] = rows
    return table.to(device)


@lru_cache(maxsize=8)
def _actor_table(device: torch.device) -> Tensor:
    return torch.tensor([ACTOR_X[place] for place in PLACES], device=device)


def layout_of(hidden: Hidden, place: Tensor) -> Tensor:
    """Layout [B, n] that the episodes show at place [B, n]."""
    return hidden.layout.gather(1, place)


def actor_x(hidden: Hidden, place: Tensor) -> Tensor:
    """Where the actor stands at place [B, n], in pixels, [B, n]."""
    return _actor_table(place.device)[place, layout_of(hidden, place)]


def still_primitives(hidden: Hidden, scene: Scene) -> Tensor:
    """Primitives [B, S, N, 20] of every segment's place."""
    index = (scene.place * LAYOUTS + layout_of(hidden, scene.place)) * len(TIMES) + scene.time
    rows = _tables(scene.place.device)[index * len(WEATHERS) + scene.weather]
    primitives, slots = rows[..., :COLUMNS].clone(), rows[..., SPARE].long()
    rgb = colour_table(HUE_RGB, rows.device)[hidden.colours]  # [B, colours, 3]
    rgb = rgb[torch.arange(len(rgb), device=rgb.device)[:, None, None], slots]  # [B, S, N, 3]
    primitives[..., TOP] += rows[..., COLUMNS : COLUMNS + 3] * rgb
    primitives[..., BOTTOM] += rows[..., COLUMNS + 3 :] * rgb
    return primitives


def draw_canvases(hidden: Hidden, scene: Scene) -> Tensor:
    """[B, S, 128, 256, 3] half."""
    primitives = still_primitives(hidden, scene)
    batch, segments, count, columns = primitives.shape
    blank = torch.zeros(1, HEIGHT, WIDTH, 3, device=primitives.device)
    index = torch.zeros(batch * segments, dtype=torch.long, device=primitives.device)
    frames = raster(blank, index, primitives.view(batch * segments, count, columns))
    return frames.view(batch, segments, HEIGHT, WIDTH, 3).half()
