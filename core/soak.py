"""Endurance: a world that runs for long with small quotas must neither grow nor slow down (CASES 7 and 8)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import psutil

from worldattention.core.config import MIB, EngineConfig
from worldattention.core.errors import Cancelled
from worldattention.core.geometry import FPS
from worldattention.core.telemetry import BlockResult, TierUsage
from worldattention.core.telemetry_log import TelemetryLog

SWITCH_SECONDS = 10
PROMPTS = (
    "A man in a red shirt throws and catches a red ball in a village street on a bright day.",
    "A man in a red shirt twirls a ribbon on the beach at sunset.",
    "A woman in a yellow shirt flies a kite in the city in the morning.",
    "A man in a red shirt juggles fire torches in the mountains at night.",
    "A woman in a yellow shirt walks a dog in a mountain meadow with pine trees while it is snowing.",
)
SMALL_DEVICE_BYTES = SMALL_DRAM_BYTES = 64 * MIB
SMALL_DISK_BYTES = 256 * MIB
SMALL_MOVE_BYTES = 32 * MIB

MOST_GROWTH_BYTES = 1_000_000
LEAST_SPEED = 0.97
_WARM_UP_MINUTES = 2
_FEWEST_MINUTES = 4


class World(Protocol):
    """What is run: an `Engine`."""

    def step(self, prompt: str, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """The next block. Raises Cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class Sample:
    """The process after a block; `at_s` counts from the start, `frames` are all pixel frames made by then.

    `cpu_s`: processor seconds of all its threads.
    """

    at_s: float
    frames: int
    rss_bytes: int
    descriptors: int
    threads: int
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SoakReport:
    """What came out. `descriptors` and `threads`: fewest and most of those held through a whole minute after the
    first two, so that a page file that is open for a moment does not count.

    `minute_s`: what counts as a minute; shorter than 60 s in runs of less than four. `..._cpu_ms`: processor
    milliseconds a frame, which other programs on the machine change less than they do the speed.
    """

    seconds: float
    minute_s: float
    blocks: int
    frames: int
    switches: int
    rss_bytes: int
    growth_bytes_per_minute: float
    descriptors: tuple[int, int]
    threads: tuple[int, int]
    second_minute_fps: float
    last_minute_fps: float
    second_minute_cpu_ms: float
    last_minute_cpu_ms: float
    tiers: tuple[TierUsage, ...]
    missed: tuple[str, ...]

    @property
    def speed_kept(self) -> float:
        """Speed of the last minute over that of the second."""
        return self.last_minute_fps / max(self.second_minute_fps, 1e-9)


def small_memory(config: EngineConfig) -> EngineConfig:
    """`config` with a device tier that a world of the pocket model fills in seconds, and few pages on their way."""
    cache = config.cache
    return replace(
        config,
        cache=replace(
            cache,
            device_quota_bytes=min(cache.device_quota_bytes, SMALL_DEVICE_BYTES),
            move_bytes=min(cache.move_bytes, SMALL_MOVE_BYTES),
            prefetch_bytes=min(cache.prefetch_bytes, SMALL_MOVE_BYTES),
        ),
    )


def soak(
    world: World,
    seconds: float,
    progress: Callable[[int, int, float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> SoakReport:
    """Makes blocks for `seconds` of wall time under a new prompt every 10 s of video, with its telemetry kept.

    Args:
        world: at its first block.
        progress: takes the seconds gone, those of the whole run, and the frames a second so far.

    Raises:
        Cancelled: `cancel` said so.
        UserError: the world failed.
    """
    process, log = psutil.Process(), TelemetryLog()
    samples: list[Sample] = []
    started, frames, blocks = clock(), 0, 0
    tiers: tuple[TierUsage, ...] = ()
    try:
        while not samples or samples[-1].at_s < seconds:
            if cancel is not None and cancel():
                raise Cancelled
            result = world.step(PROMPTS[_segment(frames) % len(PROMPTS)], cancel)
            log.append(result.telemetry)
            frames, blocks, tiers = frames + len(result.frames), blocks + 1, result.telemetry.tiers
            at_s = clock() - started
            samples.append(_sample(process, at_s, frames))
            if progress is not None:
                progress(int(at_s), int(seconds), frames / max(at_s, 1e-9))
    finally:
        log.close()
    return _report(samples, blocks, tiers)


def _segment(frames: int) -> int:
    return frames // (FPS * SWITCH_SECONDS)


def _sample(process: psutil.Process, at_s: float, frames: int) -> Sample:
    descriptors = process.num_fds() if hasattr(process, "num_fds") else process.num_handles()
    spent = process.cpu_times()
    threads, cpu_s = process.num_threads(), spent.user + spent.system
    return Sample(at_s, frames, process.memory_info().rss, descriptors, threads, cpu_s)


def _report(samples: Sequence[Sample], blocks: int, tiers: tuple[TierUsage, ...]) -> SoakReport:
    end_s = samples[-1].at_s
    minute_s = min(60.0, end_s / _FEWEST_MINUTES)
    steady = [sample for sample in samples if sample.at_s >= _WARM_UP_MINUTES * minute_s]
    report = SoakReport(
        seconds=end_s,
        minute_s=minute_s,
        blocks=blocks,
        frames=samples[-1].frames,
        switches=_segment(samples[-1].frames - 1),
        rss_bytes=samples[-1].rss_bytes,
        growth_bytes_per_minute=growth(steady),
        descriptors=held(steady, minute_s, lambda sample: sample.descriptors),
        threads=held(steady, minute_s, lambda sample: sample.threads),
        second_minute_fps=speed(samples, minute_s, 2 * minute_s),
        last_minute_fps=speed(samples, end_s - minute_s, end_s),
        second_minute_cpu_ms=cpu_ms(samples, minute_s, 2 * minute_s),
        last_minute_cpu_ms=cpu_ms(samples, end_s - minute_s, end_s),
        tiers=tiers,
        missed=(),
    )
    return replace(report, missed=tuple(missed_goals(report)))


def held(samples: Sequence[Sample], minute_s: float, count: Callable[[Sample], int]) -> tuple[int, int]:
    """The fewest of each minute: the smallest and the largest of these numbers. A rest goes to the last minute."""
    first_s = samples[0].at_s
    last = max(0, int((samples[-1].at_s - first_s) / minute_s) - 1)
    fewest: dict[int, int] = {}
    for sample in samples:
        minute = min(int((sample.at_s - first_s) / minute_s), last)
        fewest[minute] = min(fewest.get(minute, count(sample)), count(sample))
    return min(fewest.values()), max(fewest.values())


def growth(samples: Sequence[Sample]) -> float:
    """Bytes of RSS a minute: the slope of the least-squares line through the samples."""
    if len(samples) < 2:
        return 0.0
    minutes = np.array([sample.at_s / 60 for sample in samples])
    rss = np.array([sample.rss_bytes for sample in samples], dtype=np.float64)
    minutes -= minutes.mean()
    return float(minutes @ (rss - rss.mean()) / max(float(minutes @ minutes), 1e-12))


def speed(samples: Sequence[Sample], first_s: float, last_s: float) -> float:
    """Pixel frames a second between two moments, part blocks by their share."""
    at_s, frames = [0.0, *(s.at_s for s in samples)], [0, *(s.frames for s in samples)]
    first, last = np.interp([first_s, last_s], at_s, frames)
    return float(last - first) / max(last_s - first_s, 1e-9)


def cpu_ms(samples: Sequence[Sample], first_s: float, last_s: float) -> float:
    """Processor milliseconds a pixel frame between two moments."""
    at_s = [sample.at_s for sample in samples]
    first, last = np.interp([first_s, last_s], at_s, [sample.cpu_s for sample in samples])
    return 1000 * float(last - first) / max(speed(samples, first_s, last_s) * (last_s - first_s), 1e-9)


def missed_goals(report: SoakReport) -> list[str]:
    """What was not kept, each in a few words."""
    missed = []
    if report.growth_bytes_per_minute >= MOST_GROWTH_BYTES:
        missed.append(
            f"memory grew by {report.growth_bytes_per_minute / 1e6:.2f} MB a minute (below 1 was asked)"
        )
    for name, (fewest, most) in (("descriptors", report.descriptors), ("threads", report.threads)):
        if fewest != most:
            missed.append(f"open {name} went between {fewest} and {most} (one number was asked)")
    if report.speed_kept < LEAST_SPEED:
        missed.append(
            f"the last minute had {report.speed_kept:.3f} of the second one's speed ({LEAST_SPEED} was asked)"
        )
    return missed
