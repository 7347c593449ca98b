"""What new worlds look like: a contact sheet of scenes from text alone, and all of them moving beside each other.

For people: nothing is measured here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.picture_kind import picture_kind
from worldattention.core.evaluation.pictures import Frames
from worldattention.core.evaluation.recall import Progress
from worldattention.core.evaluation.recall_plan import SceneWords, plan_scene
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.files import failures_told, replacing
from worldattention.core.geometry import FPS
from worldattention.core.pocket.vocabulary import ACTIONS

MOMENTS = 6
COLUMNS = 3
"""Of the moving wall."""


@dataclass(frozen=True, slots=True)
class Looks:
    """Scenes from text alone: a prompt and a clip [T, H, W, 3] each."""

    prompts: tuple[str, ...]
    clips: tuple[Frames, ...]
    attention: str

    def sheet(self, moments: int = MOMENTS) -> Frames:
        """One picture [scenes * H, moments * W, 3]: a scene a row, from its first frame to its last."""
        rows = []
        for clip in self.clips:
            picks = np.linspace(0, len(clip) - 1, moments).round().astype(int)
            rows.append(np.concatenate(list(clip[picks]), axis=1))
        return np.concatenate(rows)

    def wall(self, columns: int = COLUMNS) -> Frames:
        """All clips at once [T, rows * H, columns * W, 3]; a last row that is not full ends in black."""
        shape = self.clips[0].shape
        spare = -len(self.clips) % columns
        clips = [*self.clips, *(np.zeros(shape, np.uint8) for _ in range(spare))]
        rows = [np.concatenate(clips[at : at + columns], axis=2) for at in range(0, len(clips), columns)]
        return np.concatenate(rows, axis=1)

    def to_json(self) -> dict[str, Any]:
        """The prompts, row by row."""
        return {"prompts": list(self.prompts), "attention": self.attention}

    def to_markdown(self) -> str:
        """The prompts, row by row."""
        lines = [
            f"New scenes from text alone, attention {self.attention}",
            "",
            "| row | prompt |",
            "|---|---|",
        ]
        return "\n".join([*lines, *(f"| {row} | {prompt} |" for row, prompt in enumerate(self.prompts, 1))])


def showcase(index: int, seed: int) -> tuple[SceneWords, int]:
    """Scene `index` and its world's seed: places and actions take turns, all else is drawn."""
    scene, world = plan_scene(index, seed)
    return replace(scene, action=index % len(ACTIONS)), world


def write_picture(path: Path, picture: Frames) -> None:
    """Writes a picture [H, W, 3] as `picture_kind` says. Raises UserError."""
    kind = picture_kind(path)
    with replacing(path, "the picture") as temporary, failures_told(path, "the picture"):
        Image.fromarray(picture).save(temporary, format=kind, quality=88)


def make_looks(
    worlds: Worlds,
    scenes: int,
    seconds: float,
    seed: int = 0,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Looks:
    """Makes the scenes in `worlds` (which are reset). Raises Cancelled when `cancel` said so."""
    blocks, done = -(-round(seconds * FPS) // 12), 0

    def film(world: World, index: int) -> tuple[str, Frames]:
        nonlocal done
        scene, own = showcase(index, seed)
        prompt = scene.phrase(random.Random(own))
        world.reset(own)
        frames = []
        for _ in range(blocks):
            if cancel is not None and cancel():
                raise Cancelled
            frames.append(world.step(prompt, cancel).frames)
            done += 1
            if progress is not None:
                progress(done, scenes * blocks)
        return prompt, np.concatenate(frames)

    films: Sequence[tuple[str, Frames]] = worlds.map([partial(film, index=index) for index in range(scenes)])
    prompts, clips = zip(*films, strict=True)
    return Looks(prompts, clips, worlds.config.attention.mode)
