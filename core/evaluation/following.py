"""Does the world show what was said? New scenes from text alone, read and compared with true ones.

A scene is made from nothing; its last blocks are read. The same scene, rendered with hidden attributes of its own
and sent through the autoencoder, says what reader and autoencoder can reach at best.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.pictures import Frames, gradient_energy, motion_energy
from worldattention.core.evaluation.recall import Progress, majority
from worldattention.core.evaluation.recall_plan import SceneWords, plan_scene
from worldattention.core.evaluation.statistics import (
    Estimate,
    Hits,
    estimate_mean,
    estimate_ratio,
    estimate_share,
)
from worldattention.core.evaluation.variety import variety
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.pocket.truth import PLACE_ATTRIBUTES
from worldattention.core.pocket.vocabulary import ACTIONS, PLACES, VOCABULARY

FOLLOWED = tuple(VOCABULARY)
"""Attributes that a prompt names."""


class Reads(Protocol):
    """A reader of named attributes."""

    def read(self, frames: Frames, names: Sequence[str]) -> Sequence[Mapping[str, int]]: ...


Truth = Callable[[SceneWords, int, int], Frames]
"""(scene, frames, seed) -> pictures of the true scene."""


@dataclass(frozen=True, slots=True)
class FollowingSettings:
    """`blocks` are made a scene, the last `read_blocks` are read, every `frame_stride`-th frame of them."""

    episodes: int = 64
    seed: int = 0
    blocks: int = 8
    read_blocks: int = 4
    frame_stride: int = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """What pictures of a scene show: `right` names the followed attributes that are as prompted."""

    right: Mapping[str, bool]
    hidden: Mapping[str, int]
    action_share: float
    gradient: float
    motion: float


@dataclass(frozen=True, slots=True)
class FollowingReport:
    """Estimates of the made scenes (`made`) and of the true ones through the autoencoder (`true`); ratios of both."""

    made: dict[str, Estimate]
    true: dict[str, Estimate]
    ratios: dict[str, Estimate]
    variety: float
    variety_true: float
    attention: str
    settings: FollowingSettings

    def to_json(self) -> dict[str, Any]:
        """Per attribute an estimate, its ceiling under `true`; ratios; under `about` what was done."""
        return {
            **{name: estimate.to_json() for name, estimate in {**self.made, **self.ratios}.items()},
            "true": {name: estimate.to_json() for name, estimate in self.true.items()},
            "variety": {"made": self.variety, "true": self.variety_true},
            "about": {
                "attention": self.attention,
                "episodes": self.settings.episodes,
                "seed": self.settings.seed,
            },
        }

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"New scenes from text alone, attention {self.attention}, {self.settings.episodes} scenes",
            "",
            "| figure | made | 95 % interval | true, through the autoencoder |",
            "|---|---|---|---|",
        ]
        for name, estimate in {**self.made, **self.ratios}.items():
            ceiling = f"{self.true[name].accuracy:.3f}" if name in self.true else "1"
            lines.append(
                f"| {name} | {estimate.accuracy:.3f} | {estimate.low:.3f} to {estimate.high:.3f} | {ceiling} |"
            )
        lines.append(f"| variety of what no prompt names | {self.variety:.3f} | | {self.variety_true:.3f} |")
        return "\n".join(lines)


def evaluate_following(
    worlds: Worlds,
    reader: Reads,
    truth: Truth,
    settings: FollowingSettings,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> FollowingReport:
    """Makes the scenes in `worlds` (which are reset) and sums them up. Raises Cancelled when `cancel` said so."""
    done = 0

    def make(world: World, scene: SceneWords, seed: int) -> Shown:
        nonlocal done
        prompt = scene.phrase(random.Random(seed))
        world.reset(seed)
        blocks = []
        for _ in range(settings.blocks):
            if cancel is not None and cancel():
                raise Cancelled
            blocks.append(world.step(prompt, cancel).frames)
            done += 1
            if progress is not None:
                progress(done, settings.episodes * settings.blocks)
        return look(np.concatenate(blocks[-settings.read_blocks :]), scene, reader, settings.frame_stride)

    scenes = [plan_scene(index, settings.seed) for index in range(settings.episodes)]
    jobs = [partial(make, scene=scene, seed=seed) for scene, seed in scenes]
    made = worlds.map(jobs)
    frames = settings.read_blocks * 12
    true = [
        look(truth(scene, frames, seed % (1 << 31)), scene, reader, settings.frame_stride)
        for scene, seed in scenes
    ]
    props = [ACTIONS[scene.action] != "wave" for scene, _ in scenes]
    return FollowingReport(
        made=_estimates(made, props, settings.seed),
        true=_estimates(true, props, settings.seed),
        ratios={
            "gradient energy, made over true": _ratio(made, true, "gradient", settings.seed),
            "motion energy, made over true": _ratio(made, true, "motion", settings.seed),
        },
        variety=variety([shown.hidden for shown in made]),
        variety_true=variety([shown.hidden for shown in true]),
        attention=worlds.config.attention.mode,
        settings=settings,
    )


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


def _estimates(shown: Sequence[Shown], props: Sequence[bool], seed: int) -> dict[str, Estimate]:
    estimates = {
        name: estimate_share([Hits(int(one.right[name]), 1) for one in shown], seed) for name in FOLLOWED
    }
    shares = [one.action_share for one, prop in zip(shown, props, strict=True) if prop]
    if shares:
        estimates["prop present"] = estimate_mean(shares, seed)
    return estimates


def _ratio(made: Sequence[Shown], true: Sequence[Shown], name: str, seed: int) -> Estimate:
    rows = [[max(getattr(one, name), 1e-9) for one in shown] for shown in (made, true)]
    return estimate_ratio(rows[0], rows[1], seed)
