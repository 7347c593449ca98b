"""Headless rendering of a project: exactly round(16 x seconds) frames, whole files or none (DESIGN 8)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from worldattention.core.errors import Cancelled, UserError
from worldattention.core.files import check_target, failures_told, replacing
from worldattention.core.geometry import FPS, POCKET_GEOMETRY, Geometry, frames_for_seconds
from worldattention.core.project import Project, project_to_json
from worldattention.core.recorder import Encoder, check_video_target, video_writer
from worldattention.core.telemetry import BlockResult, BlockTelemetry, PageRecord
from worldattention.core.telemetry_lines import line_of
from worldattention.core.timeline import MAX_SECONDS, Timeline

_TELEMETRY = "the telemetry"
STEADY_BLOCKS = 8
"""So many tell how fast a machine is; fewer are the warm-up."""
Progress = Callable[[int, int, float], None]
"""Takes the frames that are done, the frames of the whole video, and the frames a second so far."""


class Source(Protocol):
    """What makes the blocks: a `Session`."""

    def step(self, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """The next block. Raises Cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class RenderJob:
    """What to render and where to. `output` and `telemetry` may be None: then no file is written.

    `from_block`: the source stands there already, and the video begins there; `made`: blocks that were made before.
    """

    project: Project
    output: Path | None
    seconds: float | None = None
    telemetry: Path | None = None
    from_block: int = 0
    made: int = 0

    def frames(self, sizes: Geometry) -> int:
        """Pixel frames of the video. Raises UserError when there is none."""
        whole = frames_for_seconds(self.project.duration)
        frames = whole if self.seconds is None else frames_for_seconds(self.seconds)
        if self.from_block:
            left = whole - sizes.frames_before_block(self.from_block)
            if left < 1:
                self._check_behind_end(max(sizes.blocks_for_frames(whole) - 1, self.made, 0))
            if self.seconds is None:
                frames = left
        if frames < 1:
            raise UserError(f"The video would have no frame: make it at least {1 / FPS:.4f} s long.")
        return frames

    def _check_behind_end(self, last: int) -> None:
        """Raises UserError for a beginning behind the project's end, unless it goes on from what was made."""
        ends = f"The project ends before block {self.from_block}"
        if self.from_block > last:
            raise UserError(f"{ends}: begin at block {last} or an earlier one.")
        if self.seconds is None:
            raise UserError(f"{ends}: say how long with --seconds.")

    def check(self) -> None:
        """Raises UserError when the job cannot be done; call it before loading a model."""
        check_renderable(self.project.timeline)
        if self.seconds is not None and not 0 < self.seconds <= MAX_SECONDS:
            raise UserError(
                f"A video of {self.seconds:g} s cannot be made: give a length above 0 s and of at most "
                f"{MAX_SECONDS:g} s."
            )
        if POCKET_GEOMETRY.block_seconds(self.from_block) > MAX_SECONDS:
            raise UserError(
                f"Block {self.from_block} lies behind the end of the longest world ({MAX_SECONDS / 3600:.0f} hours): "
                "begin at an earlier one."
            )
        if not self.from_block:
            self.frames(POCKET_GEOMETRY)
        if self.output is not None:
            check_video_target(self.output)
        if self.telemetry is not None:
            if self.output is not None and self.telemetry.resolve() == self.output.resolve():
                raise UserError("Video and telemetry cannot be the same file: name two.")
            check_target(self.telemetry, _TELEMETRY)


@dataclass(frozen=True, slots=True)
class RenderSummary:
    """What came out. `fps` counts from the first denoising step to the last frame written, `steady_fps` from the
    second block on; it is None after fewer than `STEADY_BLOCKS` blocks.

    `density` is the mean share of key blocks that were read; `tier_bytes` are the bytes in use at the end.
    """

    frames: int
    blocks: int
    seconds: float
    fps: float
    steady_fps: float | None
    first_block_ms: float
    density: float
    tier_bytes: dict[str, int]
    recalls: int
    notices: tuple[str, ...]


def check_renderable(timeline: Timeline) -> None:
    """Raises UserError when there is nothing to render or an event says nothing."""
    if not timeline.events:
        raise UserError("The project has no events: add a prompt first.")
    for event in timeline.events:
        if not event.prompt.strip():
            raise UserError(f"The prompt of event {event.id} is empty: say what happens there.")


def render(
    job: RenderJob,
    source: Source,
    geometry: Geometry,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> RenderSummary:
    """Renders the job from a fresh session.

    Args:
        source: makes the blocks of the job's timeline, from its start (or from `from_block`).
        cancel: asked between denoising steps.

    Raises:
        UserError: something cannot be written; nothing half-written is left.
        Cancelled: `cancel` said so; nothing is left.
    """
    job.check()
    total = job.frames(geometry)
    tally = _Tally(total)
    with _video(job, geometry) as encoder, _log(job.telemetry) as log:
        while tally.frames < total:
            if cancel is not None and cancel():
                raise Cancelled
            started = time.perf_counter()
            result = source.step(cancel)
            tally.add(result.telemetry, started)
            frames = result.frames[: total - tally.frames]
            if encoder is not None:
                encoder.write(frames)
            if log is not None:
                log.write(result.telemetry)
            tally.frames += len(frames)
            if progress is not None:
                progress(tally.frames, total, tally.fps)
        if encoder is not None:
            encoder.close()
        return tally.summary()


class _Tally:
    """Counts while a render goes on."""

    def __init__(self, total_frames: int) -> None:
        self.frames = 0
        self._total_frames = total_frames
        self._started = 0.0
        self._first_block_ms = 0.0
        self._density: list[float] = []
        self._recalls = 0
        self._notices: dict[str, None] = {}
        self._last: BlockTelemetry | None = None
        self._blocks = 0
        self._second = (0, 0.0)  # the frames before the second block, and when it began

    def add(self, record: BlockTelemetry, started: float) -> None:
        if self._last is None:
            self._first_block_ms = 1000.0 * (time.perf_counter() - started)
            self._started = started + record.stage_ms.get("text", 0.0) / 1000.0
        if self._blocks == 1:
            self._second = self.frames, started
        self._blocks += 1
        self._last = record
        if record.density.size:
            self._density.append(float(np.mean(record.density)))
        self._recalls += record.recall is not None and bool(record.recall.chosen)
        self._notices.update(dict.fromkeys(record.notices))

    @property
    def fps(self) -> float:
        return self.frames / max(time.perf_counter() - self._started, 1e-9)

    @property
    def steady_fps(self) -> float | None:
        if self._blocks < STEADY_BLOCKS:
            return None
        frames, began = self._second
        return (self.frames - frames) / max(time.perf_counter() - began, 1e-9)

    def summary(self) -> RenderSummary:
        fps = self.fps
        assert self._last is not None
        return RenderSummary(
            frames=self.frames,
            blocks=self._last.block + 1,
            seconds=self.frames / FPS,
            fps=fps,
            steady_fps=self.steady_fps,
            first_block_ms=self._first_block_ms,
            density=float(np.mean(self._density)) if self._density else 1.0,
            tier_bytes={tier.name: tier.used_bytes for tier in self._last.tiers},
            recalls=self._recalls,
            notices=tuple(self._notices),
        )


@contextmanager
def _video(job: RenderJob, geometry: Geometry) -> Iterator[Encoder | None]:
    if job.output is None:
        yield None
        return
    comment = project_to_json(job.project)
    with video_writer(
        job.output, geometry.height, geometry.width, title=job.project.name, comment=comment
    ) as encoder:
        yield encoder


class _Log:
    """The telemetry's file: one line a block, there as soon as its block is done (see `telemetry_lines`)."""

    def __init__(self, file: IO[str], path: Path) -> None:
        self._file, self._path = file, path
        self._pages: tuple[PageRecord, ...] | None = None

    def write(self, record: BlockTelemetry) -> None:
        with failures_told(self._path, _TELEMETRY):
            self._file.write(line_of(record, self._pages) + "\n")
            self._file.flush()
        self._pages = record.pages


@contextmanager
def _log(path: Path | None) -> Iterator[_Log | None]:
    if path is None:
        yield None
        return
    with replacing(path, _TELEMETRY) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield _Log(file, path)
