"""Does a world stay as it was? Sharpness, motion and what can be read, over minutes under one prompt.

Motion is averaged over whole repetitions of what the actor does. The same scene is rendered and sent through the
autoencoder: what its figures still say is no drift.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from worldattention.core.errors import Cancelled, go_on
from worldattention.core.evaluation.following import Reads
from worldattention.core.evaluation.following_report import FOLLOWED
from worldattention.core.evaluation.pictures import Energies, Frames, Values
from worldattention.core.evaluation.recall import Progress
from worldattention.core.evaluation.recall_plan import SceneWords, plan_scene
from worldattention.core.evaluation.records import EVERYTHING, NO_RECORDS, Record, Recorder, Share, agreed
from worldattention.core.evaluation.statistics import Estimate, estimate_mean, estimate_ratio
from worldattention.core.evaluation.vde import CHUNKS, video_drift_error
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.geometry import FPS
from worldattention.core.pocket.actor import PERIOD_SECONDS, WALK_SECONDS
from worldattention.core.pocket.vocabulary import ACTIONS

ENERGIES = ("gradient", "motion", "true_gradient", "true_motion")
LEAST = 1e-6
"""Energies below this are none: a still picture has no motion to divide by."""

TrueParts = Callable[[SceneWords, int, int], Iterator[Frames]]
"""(scene, frames, seed) -> pictures of the true scene, part after part."""


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
    """World `index`: energies of every frame, and the share of prompted attributes read right at both ends; energies of
    the true scene."""

    index: int
    gradient: Values
    motion: Values
    true_gradient: Values
    true_motion: Values
    read_first: float
    read_last: float

    def to_record(self) -> dict[str, Any]:
        """What is kept."""
        energies = {name: np.round(getattr(self, name), 4).tolist() for name in ENERGIES}
        return {"index": self.index, "read_first": self.read_first, "read_last": self.read_last, **energies}

    @classmethod
    def of_record(cls, record: Record) -> Course:
        """The inverse of `to_record`, but for rounding."""
        gradient, motion, true_gradient, true_motion = (
            np.array(record[name], np.float64) for name in ENERGIES
        )
        reads = record["read_first"], record["read_last"]
        return cls(int(record["index"]), gradient, motion, true_gradient, true_motion, *reads)


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Estimates over worlds, by figure, of the worlds and of the true scenes."""

    estimates: dict[str, Estimate]
    true: dict[str, Estimate]
    attention: str
    episodes: int
    seed: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """An estimate a figure, those of the true scenes under `true`; under `about` what was done."""
        about = {
            "attention": self.attention,
            "episodes": self.episodes,
            "seed": self.seed,
            "seconds": self.seconds,
        }
        made, true = (
            {name: estimate.to_json() for name, estimate in estimates.items()}
            for estimates in (self.estimates, self.true)
        )
        return {**made, "true": true, "about": about}

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"Drift over {self.seconds:g} s, attention {self.attention}, {self.episodes} worlds",
            "",
            "| figure | value | 95 % interval | true, through the autoencoder | 95 % interval |",
            "|---|---|---|---|---|",
        ]
        for name, e in self.estimates.items():
            t = self.true.get(name)
            true = " | " if t is None else f"{t.accuracy:.3f} | {t.low:.3f} to {t.high:.3f}"
            lines.append(f"| {name} | {e.accuracy:.3f} | {e.low:.3f} to {e.high:.3f} | {true} |")
        return "\n".join(lines)


def evaluate_drift(
    worlds: Worlds,
    reader: Reads,
    truth: TrueParts,
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
        course = _run(world, index, reader, truth, settings, advance, cancel)
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
    cycles = [cycle_frames(plan_scene(one.index, settings.seed)[0]) for one in courses]
    made = _estimates([one.gradient for one in courses], [one.motion for one in courses], cycles, settings)
    true = _estimates(
        [one.true_gradient for one in courses], [one.true_motion for one in courses], cycles, settings
    )
    first = [max(one.read_first, LEAST) for one in courses]
    read = estimate_ratio([one.read_last for one in courses], first, settings.seed)
    made = {**made, "read-back, last over first": read}
    return DriftReport(made, true, attention, len(courses), settings.seed, settings.seconds)


def _run(
    world: World,
    index: int,
    reader: Reads,
    truth: TrueParts,
    settings: DriftSettings,
    advance: Callable[[], None],
    cancel: Callable[[], bool] | None,
) -> Course:
    """One world under one prompt; pictures are dropped block by block."""
    scene, seed = plan_scene(index, settings.seed)
    prompt = scene.phrase(random.Random(seed))
    world.reset(seed)
    ends = max(1, min(round(settings.end_seconds * FPS / 12), settings.blocks // 2))
    made, true = Energies(), Energies()
    first_reads: list[float] = []
    last_reads: list[float] = []
    for block in range(settings.blocks):
        advance()
        frames = world.step(prompt, cancel).frames
        made.add(frames)
        if block < ends:
            first_reads.append(_share(reader, frames, scene, settings.frame_stride))
        if block >= settings.blocks - ends:
            last_reads.append(_share(reader, frames, scene, settings.frame_stride))
    for part in truth(scene, settings.blocks * 12, seed % (1 << 31)):
        go_on(cancel)
        true.add(part)
    reads = float(np.mean(first_reads)), float(np.mean(last_reads))
    return Course(index, *made.values(), *true.values(), *reads)


def _share(reader: Reads, frames: Frames, scene: SceneWords, stride: int) -> float:
    """Share of the prompted attributes that frames show right."""
    readings = reader.read(frames[::stride], FOLLOWED)
    right = [reading[name] == getattr(scene, name) for reading in readings for name in FOLLOWED]
    return sum(right) / len(right)


def _estimates(
    gradients: Sequence[Values], motions: Sequence[Values], cycles: Sequence[int], settings: DriftSettings
) -> dict[str, Estimate]:
    seed, end = settings.seed, round(settings.end_seconds * FPS)

    def last_over_first(values: Sequence[Values]) -> Estimate:
        ends = [min(end, len(one) // 2) for one in values]
        above = [float(one[-n:].mean()) for one, n in zip(values, ends, strict=True)]
        below = [max(float(one[:n].mean()), LEAST) for one, n in zip(values, ends, strict=True)]
        return estimate_ratio(above, below, seed)

    return {
        "sharpness, last over first": last_over_first(gradients),
        "motion, last over first": last_over_first(motions),
        "VDE of sharpness": estimate_mean([drift_of(one) for one in gradients], seed),
        "VDE of motion": estimate_mean(list(map(drift_of, motions, cycles)), seed),
    }


def cycle_frames(scene: SceneWords) -> int:
    """After so many frames a scene moves as before: a part of a video that ends within a repetition would take it in
    in part, and true scenes would drift. Who walks goes to and fro, which moves alike."""
    walks = ACTIONS[scene.action] == "dog"
    return round((WALK_SECONDS / 2 if walks else PERIOD_SECONDS) * FPS)


def drift_of(values: Values, cycle: int = 1) -> float:
    """Video drift error of a metric of every frame [T], in ten equal parts; a rest at the end is left out.

    A part's metric is its mean over as many whole cycles of `cycle` frames as fit into it; of all if none does.
    """
    length = (len(values) + 1) // CHUNKS  # pairs of frames are one fewer than frames
    kept = length // cycle * cycle or length
    parts = [values[start : start + kept].mean() for start in range(0, CHUNKS * length, length)]
    return video_drift_error([max(float(part), LEAST) for part in parts])
