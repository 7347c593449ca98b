"""A recorded session: a video, and beside it the telemetry of its blocks as JSON lines (DESIGN 7)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from worldattention.core.errors import UserError
from worldattention.core.files import failures_told, reason, replacing
from worldattention.core.geometry import FPS
from worldattention.core.recorder import Recording, find_ffmpeg
from worldattention.core.telemetry import BlockTelemetry, PageRecord
from worldattention.core.telemetry_lines import line_of, lines_of, records_of
from worldattention.core.timeline import Event, Timeline, make_timeline

LOG_SUFFIX = ".jsonl"
_WHAT = "the telemetry"


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A video and its blocks, numbered from 0 and from the video's first frame on. Sizes in pixels."""

    video: Path
    height: int
    width: int
    records: tuple[BlockTelemetry, ...]

    @property
    def frames(self) -> int:
        """Pixel frames that the records tell of."""
        return sum(record.frames for record in self.records)

    @property
    def timeline(self) -> Timeline:
        """The prompts as they were used: one event for each."""
        events: list[Event] = []
        for record in self.records:
            start, end = record.first_frame / FPS, (record.first_frame + record.frames) / FPS
            if events and events[-1].prompt == record.prompt:
                events[-1] = replace(events[-1], end=end)
            else:
                events.append(Event(len(events) + 1, start, end, record.prompt))
        return make_timeline(events)

    def read(self) -> Generator[npt.NDArray[np.uint8], None, None]:
        """The video's frames [height, width, 3], in order."""
        return _decode(self.video)


def log_path(video: Path) -> Path:
    """Where the telemetry of a video lies."""
    return video.with_suffix(LOG_SUFFIX)


def write_log(path: Path, records: Iterable[BlockTelemetry]) -> int:
    """Writes records as JSON lines, whole or not at all; returns how many. Raises UserError."""
    count = 0
    with replacing(path, _WHAT) as temporary, failures_told(path, _WHAT), temporary.open("wb") as file:
        for line in lines_of(records):
            file.write(f"{line}\n".encode("utf-8", "surrogatepass"))
            count += 1
    return count


def open_recorded(path: Path, tell: Callable[[float], None] | None = None) -> RecordedSession:
    """The session of a video, or of the telemetry beside one. `tell` takes the share that is read, and may raise.

    Raises:
        UserError: one of the two is missing, foreign or broken. A half-written last line is left out.
    """
    video, log = _pair(path)
    told = tell or (lambda _share: None)
    records = _renumbered(_read_log(log, told))
    if not records:
        raise UserError(f"The telemetry '{log}' holds no block: open another recording.")
    with closing(_decode(video)) as frames:
        first = next(frames, None)
    if first is None:
        raise UserError(f"The video '{video}' cannot be played: open another recording.")
    told(0.9)
    whole = RecordedSession(video, first.shape[0], first.shape[1], records)
    return replace(whole, records=_cut(records, _count_frames(video)))


class SessionRecording:
    """A recording with the telemetry of its blocks. Both survive a kill, up to the last second."""

    def __init__(self, path: Path, height: int, width: int, *, title: str = "", comment: str = "") -> None:
        self._video = Recording(path, height, width, title=title, comment=comment)
        self.path = path
        self.partial = self._video.partial
        self._partial_log = log_path(self.partial)
        self._pages: tuple[PageRecord, ...] | None = None  # of the last line
        try:
            with failures_told(self._partial_log, _WHAT):
                self._log = self._partial_log.open("wb", buffering=0)
        except BaseException:
            self._video.abort()
            raise

    @property
    def frames(self) -> int:
        """Pixel frames taken so far."""
        return self._video.frames

    def write(self, frames: npt.NDArray[np.uint8], record: BlockTelemetry) -> None:
        """Appends a block: frames [T, height, width, 3] and its record. Raises UserError."""
        self._video.write(frames)
        line = memoryview(f"{line_of(record, self._pages)}\n".encode("utf-8", "surrogatepass"))
        with failures_told(self._partial_log, _WHAT):
            while line:
                line = line[self._log.write(line) or 0 :]
        self._pages = record.pages

    def close(self) -> None:
        """Finishes both at their places. Raises UserError; what was recorded then stays as it was."""
        self._log.close()
        if not self.frames:
            self._partial_log.unlink(missing_ok=True)
        self._video.close()
        target = log_path(self.path)
        with failures_told(target, _WHAT):
            self._partial_log.replace(target)

    def abort(self) -> None:
        """Throws both away."""
        self._log.close()
        self._video.abort()
        self._partial_log.unlink(missing_ok=True)


def _pair(path: Path) -> tuple[Path, Path]:
    if path.suffix.lower() == LOG_SUFFIX:
        video, log = path.with_suffix(".mp4"), path
    else:
        video, log = path, log_path(path)
    if not os.path.isfile(video):
        raise UserError(
            f"There is no video '{video}': a recorded session is a video with its telemetry beside it."
        )
    if not os.path.isfile(log):
        raise UserError(
            f"There is no telemetry '{log.name}' beside the video: put it there, or open another one."
        )
    return video, log


def _read_log(path: Path, tell: Callable[[float], None]) -> list[BlockTelemetry]:
    records: list[BlockTelemetry] = []
    newest = b""
    try:
        size = max(1, path.stat().st_size)
        with path.open("rb") as file:

            def lines() -> Iterator[str]:
                nonlocal newest
                done = 0
                for newest in file:
                    tell(0.8 * done / size)
                    done += len(newest)
                    yield newest.decode("utf-8", "surrogatepass")

            records.extend(records_of(lines()))
    except OSError as error:
        raise UserError(f"The telemetry '{path}' cannot be read: {reason(error)}.") from error
    except ValueError as error:
        if newest.endswith(b"\n"):  # else the program was killed within it
            raise UserError(
                f"The telemetry '{path}' is broken at line {len(records) + 1}: open another recording."
            ) from error
    return records


def _renumbered(records: list[BlockTelemetry]) -> tuple[BlockTelemetry, ...]:
    """Blocks from 0 and frames from 0: a recording may begin late, and a world restart within it."""
    result: list[BlockTelemetry] = []
    known: dict[PageRecord, PageRecord] = {}  # most pages are the same in block after block: kept once
    frames = 0
    for block, record in enumerate(records):
        shift = 3 * (record.block - block)  # latent frames
        moved = (replace(page, first_frame=page.first_frame - shift) for page in record.pages)
        pages = tuple(known.setdefault(page, page) for page in moved)
        result.append(replace(record, block=block, first_frame=frames, pages=pages))
        frames += record.frames
    return tuple(result)


def _cut(records: tuple[BlockTelemetry, ...], frames: int) -> tuple[BlockTelemetry, ...]:
    """Records of the first `frames` frames: a killed recording may lack the last ones that were told of."""
    kept = [record for record in records if record.first_frame < frames]
    if kept and kept[-1].first_frame + kept[-1].frames > frames:
        kept[-1] = replace(kept[-1], frames=frames - kept[-1].first_frame)
    return tuple(kept)


def _count_frames(video: Path) -> int:
    """Frames of a video, from its packets: nothing is decoded."""
    command = [
        *(find_ffmpeg(), "-hide_banner", "-nostdin", "-loglevel", "quiet", "-i", f"file:{video.absolute()}"),
        *("-map", "0:v:0", "-c", "copy", "-progress", "pipe:1", "-nostats", "-f", "null", "-"),
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, start_new_session=True
    )
    counts = [
        line[6:] for line in done.stdout.decode("ascii", "replace").splitlines() if line.startswith("frame=")
    ]
    return int(counts[-1]) if counts and counts[-1].strip().isdecimal() else 0


def _decode(video: Path) -> Generator[npt.NDArray[np.uint8], None, None]:
    """Frames as ffmpeg's stream of PPM pictures, each of which says its size."""
    command = [
        *(find_ffmpeg(), "-hide_banner", "-nostdin", "-loglevel", "quiet", "-i", f"file:{video.absolute()}"),
        *("-map", "0:v:0", "-f", "image2pipe", "-c:v", "ppm", "-pix_fmt", "rgb24", "pipe:1"),
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    try:
        while process.stdout.readline() == b"P6\n":
            width, height = map(int, process.stdout.readline().split())
            process.stdout.readline()  # 255
            data = process.stdout.read(3 * width * height)
            if len(data) == 3 * width * height:
                yield np.frombuffer(data, np.uint8).reshape(height, width, 3)
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
