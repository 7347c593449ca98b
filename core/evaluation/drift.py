"""Does a world stay as it was? Sharpness, motion and what can be read, over minutes under one prompt."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.following import Reads
from worldattention.core.evaluation.following_report import FOLLOWED
from worldattention.core.evaluation.pictures import Frames, Values, gradient_energy, motion_energy
from worldattention.core.evaluation.recall import Progress
from worldattention.core.evaluation.recall_plan import SceneWords, plan_scene
from worldattention.core.evaluation.records import EVERYTHING, NO_RECORDS, Record, Recorder, Share, agreed
from worldattention.core.evaluation.statistics import Estimate, estimate_mean, estimate_ratio
from worldattention.core.evaluation.vde import CHUNKS, video_drift_error
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.geometry import FPS

LEAST = 1e-6
"""Energies below this are none: a still picture has no motion to divide by."""


@dataclass(frozen=True, slots=True)
class DriftSettings:
    """Lengths in seconds; the first and last `end_seconds` are compared. Only the worlds of `share` are made."""

    episodes: int = 16
    seed: int = 0
    seconds: float = 60.0
    end_seconds: float = 10.0
    frame_stride: int = 8
    share: Share = EVERYTHING

    @property
    def blocks(self) -> int:
        """Blocks of one world."""
        return -(-round(self.seconds * FPS) // 12)


@dataclass(frozen=True, slots=True)
class Course:
    """World `index`: energies of every frame, and the share of prompted attributes read right at both ends."""

    index: int
    gradient: Values
    motion: Values
    read_first: float
    read_last: float

    def to_record(self) -> dict[str, Any]:
        """What is kept."""
        energies = {name: np.round(getattr(self, name), 4).tolist() for name in ("gradient", "motion")}
        return {"index": self.index, "read_first": self.read_first, "read_last": self.read_last, **energies}

    @classmethod
    def of_record(cls, record: Record) -> Course:
        """The inverse of `to_record`, but for rounding."""
        gradient, motion = (np.array(record[name], np.float64) for name in ("gradient", "motion"))
        return cls(int(record["index"]), gradient, motion, record["read_first"], record["read_last"])


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Estimates over worlds, by figure."""

    estimates: dict[str, Estimate]
    attention: str
    episodes: int
    seed: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """An estimate a figure; under `about` what was done."""
        about = {
            "attention": self.attention,
            "episodes": self.episodes,
            "seed": self.seed,
            "seconds": self.seconds,
        }
        return {**{name: estimate.to_json() for name, estimate in self.estimates.items()}, "about": about}

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"Drift over {self.seconds:g} s, attention {self.attention}, {self.episodes} worlds",
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
    recorder: Recorder = NO_RECORDS,
) -> DriftReport:
    """Runs the worlds (which are reset) and sums them up; `recorder` gets every world when it ends.

    Raises:
        UserError: records cannot be written.
        Cancelled: `cancel` said so.
    """
    done = 0
    attention = worlds.config.attention.mode
    about: dict[str, Any] = {"what": "drift", "attention": attention, "seed": settings.seed}
    about |= {"seconds": settings.seconds, "end_seconds": settings.end_seconds}
    indices = settings.share.of(settings.episodes)

    def advance() -> None:
        nonlocal done
        if cancel is not None and cancel():
            raise Cancelled
        done += 1
        if progress is not None:
            progress(done, len(indices) * settings.blocks)

    def run(world: World, index: int) -> Course:
        course = _run(world, index, reader, settings, advance, cancel)
        recorder.add(about, course.to_record())
        return course

    courses = worlds.map([partial(run, index=index) for index in indices])
    return _report(courses, attention, settings)


def drift_of_records(records: Sequence[Record]) -> DriftReport:
    """The report of kept worlds. Raises UserError when they are of different evaluations."""
    courses = {int(record["index"]): Course.of_record(record) for record in records}
    names = "seed", "seconds", "end_seconds"
    settings = DriftSettings(**{name: agreed(records, name) for name in names})
    return _report([courses[index] for index in sorted(courses)], agreed(records, "attention"), settings)


def _report(courses: Sequence[Course], attention: str, settings: DriftSettings) -> DriftReport:
    estimates = _estimates(courses, settings)
    return DriftReport(estimates, attention, len(courses), settings.seed, settings.seconds)


def _run(
    world: World,
    index: int,
    reader: Reads,
    settings: DriftSettings,
    advance: Callable[[], None],
    cancel: Callable[[], bool] | None,
) -> Course:
    """One world under one prompt; pictures are dropped block by block."""
    scene, seed = plan_scene(index, settings.seed)
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
        index,
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
