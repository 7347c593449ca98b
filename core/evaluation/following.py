"""Does the world show what was said? New scenes from text alone, read and compared with true ones.

A scene is made from nothing; its last blocks are read. The same scene, rendered with hidden attributes of its own
and sent through the autoencoder, says what reader and autoencoder can reach at best.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.following_report import (
    FOLLOWED,
    FollowingReport,
    SceneShown,
    Shown,
    following_report,
)
from worldattention.core.evaluation.pictures import Frames, gradient_energy, motion_energy
from worldattention.core.evaluation.recall import Progress
from worldattention.core.evaluation.recall_plan import SceneWords, plan_scene
from worldattention.core.evaluation.recall_report import majority
from worldattention.core.evaluation.records import EVERYTHING, NO_RECORDS, Recorder, Share
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.pocket.truth import PLACE_ATTRIBUTES
from worldattention.core.pocket.vocabulary import ACTIONS, PLACES


class Reads(Protocol):
    """A reader of named attributes."""

    def read(self, frames: Frames, names: Sequence[str]) -> Sequence[Mapping[str, int]]: ...


Truth = Callable[[SceneWords, int, int], Frames]
"""(scene, frames, seed) -> pictures of the true scene."""


@dataclass(frozen=True, slots=True)
class FollowingSettings:
    """`blocks` are made a scene, the last `read_blocks` are read, every `frame_stride`-th frame of them.

    Only the scenes of `share` are made.
    """

    episodes: int = 64
    seed: int = 0
    blocks: int = 8
    read_blocks: int = 4
    frame_stride: int = 3
    share: Share = EVERYTHING


def evaluate_following(
    worlds: Worlds,
    reader: Reads,
    truth: Truth,
    settings: FollowingSettings,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
    recorder: Recorder = NO_RECORDS,
) -> FollowingReport:
    """Makes the scenes in `worlds` (which are reset) and sums them up; `recorder` gets every scene at once.

    Raises:
        UserError: records cannot be written.
        Cancelled: `cancel` said so.
    """
    done = 0
    attention = worlds.config.attention.mode
    about = {"what": "prompt", "attention": attention, "seed": settings.seed}
    indices = settings.share.of(settings.episodes)

    def make(world: World, index: int) -> SceneShown:
        nonlocal done
        scene, seed = plan_scene(index, settings.seed)
        prompt = scene.phrase(random.Random(seed))
        world.reset(seed)
        blocks = []
        for _ in range(settings.blocks):
            if cancel is not None and cancel():
                raise Cancelled
            blocks.append(world.step(prompt, cancel).frames)
            done += 1
            if progress is not None:
                progress(done, len(indices) * settings.blocks)
        stride, frames = settings.frame_stride, settings.read_blocks * 12
        made = look(np.concatenate(blocks[-settings.read_blocks :]), scene, reader, stride)
        true = look(truth(scene, frames, seed % (1 << 31)), scene, reader, stride)
        shown = SceneShown(index, ACTIONS[scene.action], made, true)
        recorder.add(about, shown.to_record())
        return shown

    scenes = worlds.map([partial(make, index=index) for index in indices])
    return following_report(scenes, attention, settings.seed)


def look(frames: Frames, scene: SceneWords, reader: Reads, stride: int) -> Shown:
    """Reads frames [T, H, W, 3] of `scene`."""
    names = (*FOLLOWED, *PLACE_ATTRIBUTES[PLACES[scene.place]])
    readings = reader.read(frames[::stride], names)
    read = majority(readings)
    return Shown(
        right={name: read.get(name) == getattr(scene, name) for name in FOLLOWED},
        hidden={name: value for name, value in read.items() if name not in FOLLOWED},
        action_share=sum(reading["action"] == scene.action for reading in readings) / len(readings),
        gradient=float(gradient_energy(frames).mean()),
        motion=float(motion_energy(frames).mean()),
    )
