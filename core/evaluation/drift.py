"""Does a world stay as it was? Sharpness, motion and what can be read, over minutes under one prompt."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.following import FOLLOWED, Reads
from worldattention.core.evaluation.pictures import Frames, Values, gradient_energy, motion_energy
from worldattention.core.evaluation.recall import Progress
from worldattention.core.evaluation.recall_plan import SceneWords, plan_scene
from worldattention.core.evaluation.statistics import Estimate, estimate_mean, estimate_ratio
from worldattention.core.evaluation.vde import CHUNKS, video_drift_error
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.geometry import FPS

LEAST = 1e-6
"""Energies below this are none: a still picture has no motion to divide by."""


@dataclass(frozen=True, slots=True)
class DriftSettings:
    """Lengths in seconds; the first and last `end_seconds` are compared."""

    episodes: int = 16
    seed: int = 0
    seconds: float = 60.0
    end_seconds: float = 10.0
    frame_stride: int = 8

    @property
    def blocks(self) -> int:
        """Blocks of one world."""
        return -(-round(self.seconds * FPS) // 12)


@dataclass(frozen=True, slots=True)
class Course:
    """One world: energies of every frame, and the share of prompted attributes read right at both ends."""

    gradient: Values
    motion: Values
    read_first: float
    read_last: float


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Estimates over worlds, by figure."""

    estimates: dict[str, Estimate]
    attention: str
    settings: DriftSettings

    def to_json(self) -> dict[str, Any]:
        """An estimate a figure; under `about` what was done."""
        about = {
            "attention": self.attention,
            "episodes": self.settings.episodes,
            "seed": self.settings.seed,
            "seconds": self.settings.seconds,
        }
        return {**{name: estimate.to_json() for name, estimate in self.estimates.items()}, "about": about}

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"Drift over {self.settings.seconds:g} s, attention {self.attention}, {self.settings.episodes} worlds",
            "",
            "| figure | value | 95 % interval |",
            "|---|---|---|",
        ]
        lines += [
            f"| {name} | {e.accuracy:.3f} | {e.low:.3f} to {e.high:.3f} |"
            for name, e in self.estimates.items()
        ]
        return "\n".join(lines)


def evaluate_drift(
    worlds: Worlds,
    reader: Reads,
    settings: DriftSettings,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> DriftReport:
    """Runs the worlds (which are reset) and sums them up. Raises Cancelled when `cancel` said so."""
    done = 0

    def advance() -> None:
        nonlocal done
        if cancel is not None and cancel():
            raise Cancelled
        done += 1
        if progress is not None:
            progress(done, settings.episodes * settings.blocks)

    scenes = [plan_scene(index, settings.seed) for index in range(settings.episodes)]
    jobs = [
        partial(
            _run, scene=scene, seed=seed, reader=reader, settings=settings, advance=advance, cancel=cancel
        )
        for scene, seed in scenes
    ]
    courses = worlds.map(jobs)
    return DriftReport(_estimates(courses, settings), worlds.config.attention.mode, settings)


def _run(
    world: World,
    scene: SceneWords,
    seed: int,
    reader: Reads,
    settings: DriftSettings,
    advance: Callable[[], None],
    cancel: Callable[[], bool] | None,
) -> Course:
    """One world under one prompt; pictures are dropped block by block."""
    prompt = scene.phrase(random.Random(seed))
    world.reset(seed)
    ends = max(1, min(round(settings.end_seconds * FPS / 12), settings.blocks // 2))
    last = np.empty(0, np.uint8)
    gradient: list[Values] = []
    motion: list[Values] = []
    first_reads: list[float] = []
    last_reads: list[float] = []
    for block in range(settings.blocks):
        advance()
        frames = world.step(prompt, cancel).frames
        gradient.append(gradient_energy(frames))
        motion.append(motion_energy(np.concatenate([last, frames]) if block else frames))
        last = frames[-1:]
        if block < ends:
            first_reads.append(_share(reader, frames, scene, settings.frame_stride))
        if block >= settings.blocks - ends:
            last_reads.append(_share(reader, frames, scene, settings.frame_stride))
    return Course(
        np.concatenate(gradient),
        np.concatenate(motion),
        float(np.mean(first_reads)),
        float(np.mean(last_reads)),
    )


def _share(reader: Reads, frames: Frames, scene: SceneWords, stride: int) -> float:
    """Share of the prompted attributes that frames show right."""
    readings = reader.read(frames[::stride], FOLLOWED)
    right = [reading[name] == getattr(scene, name) for reading in readings for name in FOLLOWED]
    return sum(right) / len(right)


def _estimates(courses: Sequence[Course], settings: DriftSettings) -> dict[str, Estimate]:
    seed, end = settings.seed, round(settings.end_seconds * FPS)

    def last_over_first(values: Sequence[Values]) -> Estimate:
        ends = [min(end, len(one) // 2) for one in values]
        above = [float(one[-n:].mean()) for one, n in zip(values, ends, strict=True)]
        below = [max(float(one[:n].mean()), LEAST) for one, n in zip(values, ends, strict=True)]
        return estimate_ratio(above, below, seed)

    gradients, motions = [one.gradient for one in courses], [one.motion for one in courses]
    return {
        "sharpness, last over first": last_over_first(gradients),
        "motion, last over first": last_over_first(motions),
        "read-back, last over first": estimate_ratio(
            [one.read_last for one in courses], [max(one.read_first, LEAST) for one in courses], seed
        ),
        "VDE of sharpness": estimate_mean([drift_of(one) for one in gradients], seed),
        "VDE of motion": estimate_mean([drift_of(one) for one in motions], seed),
    }


def drift_of(values: Values) -> float:
    """Video drift error of a metric of every frame [T], in ten equal parts; a rest at the end is left out."""
    parts = values[: len(values) // CHUNKS * CHUNKS].reshape(CHUNKS, -1).mean(1)
    return video_drift_error([max(float(part), LEAST) for part in parts])
