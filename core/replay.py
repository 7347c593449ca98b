"""A recorded session played as if it were being made: the window shows it with no engine (DESIGN 6, 7)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import POCKET_GEOMETRY, Geometry
from worldattention.core.history import ROOT, BlockRecord, Branch, History
from worldattention.core.project import Project
from worldattention.core.recorded import RecordedSession
from worldattention.core.telemetry import BlockResult, BlockTelemetry
from worldattention.core.timeline import Timeline

Frame = npt.NDArray[np.uint8]

FIXED = "This is a recording, and what happened stays: open or begin a world to change something."


class ReplayEngine:
    """Stands where an engine would; reads the video as it goes."""

    def __init__(self, recorded: RecordedSession) -> None:
        self.recorded = recorded
        self.block = 0
        self.device_name, self.backend, self.awake = "recording", "no engine", 1.0
        self._frames: Generator[Frame, None, None] | None = None
        self._next: Frame | None = None

    @property
    def geometry(self) -> Geometry:
        """Sizes of the video; blocks as they were recorded."""
        first = self.recorded.records[0].frames
        sizes = self.recorded.height, self.recorded.width
        return replace(POCKET_GEOMETRY, height=sizes[0], width=sizes[1], first_block_frames=first)

    @property
    def ended(self) -> bool:
        """Whether every block was read that the video still has: a killed recording may lack the last ones."""
        cut_off = self._frames is not None and self._next is None
        return cut_off or self.block >= len(self.recorded.records)

    def configure(self, _config: EngineConfig) -> int:
        """Raises UserError: a recording has no settings."""
        raise UserError(FIXED)

    def step(self, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """The next block as it was recorded. Raises Cancelled, UserError."""
        if cancel is not None and cancel():
            raise Cancelled
        if self.ended:
            raise UserError("The recording has ended: go back to an earlier moment.")
        if self._frames is None:
            self._frames = self.recorded.read()
            self._next = next(self._frames, None)
        record = self.recorded.records[self.block]
        frames: list[Frame] = []
        while self._next is not None and len(frames) < record.frames:
            frames.append(self._next)
            self._next = next(self._frames, None)
        if not frames:
            raise UserError("The video cannot be played any more: open another recording.")
        self.block += 1
        return BlockResult(np.stack(frames), replace(record, frames=len(frames)))

    def reset(self) -> None:
        """Back to the first block."""
        self.close()
        self.block = 0

    def close(self) -> None:
        """Ends the reading."""
        frames, self._frames = self._frames, None
        if frames is not None:
            frames.close()


class ReplaySession:
    """Stands where a session would; its timeline is what was said then."""

    def __init__(self, engine: ReplayEngine) -> None:
        self.engine = engine
        self.timeline: Timeline = engine.recorded.timeline

    @property
    def ended(self) -> bool:
        """Whether every block was read."""
        return self.engine.ended

    def say(self, _prompt: str) -> int:
        """Raises UserError: a recording takes no prompts."""
        raise UserError(FIXED)

    def configure(self, config: EngineConfig) -> int:
        """Raises UserError: a recording has no settings."""
        return self.engine.configure(config)

    def step(self, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """The next block as it was recorded. Raises Cancelled, UserError."""
        return self.engine.step(cancel)

    def reset(self) -> None:
        """Back to the first block."""
        self.engine.reset()

    @property
    def history(self) -> History:
        """One branch: what was recorded."""
        return History((Branch(timeline=self.timeline),))

    @property
    def branch(self) -> str:
        """Its name."""
        return ROOT

    @property
    def last_record(self) -> BlockRecord:
        """What the newest block was made from, as far as it was recorded."""
        record = self.engine.recorded.records[self.engine.block - 1]
        return BlockRecord(record.prompt, record.seed, record.preset, record.attention, record.retrieval)

    def begin(self, _history: History) -> None:
        """A recording has one past only."""

    def rewind(self, _block: int, _name: str, _cancel: Callable[[], bool] | None = None) -> None:
        """Raises UserError, as `switch`, `rename` and `delete` do."""
        raise UserError(FIXED)

    def switch(self, _name: str, _cancel: Callable[[], bool] | None = None) -> None:
        """Raises UserError."""
        raise UserError(FIXED)

    def past(self) -> Iterator[tuple[npt.NDArray[np.uint8], BlockTelemetry | None, BlockRecord]]:
        """Nothing: it is read as it is played."""
        return iter(())

    def save(self, _folder: Path, _project: Project, _pages: bool, _telemetry: Iterable[str]) -> None:
        """Raises UserError."""
        raise UserError(FIXED)

    def rename(self, _name: str, _new: str) -> None:
        """Raises UserError."""
        raise UserError(FIXED)

    def delete(self, _name: str) -> None:
        """Raises UserError."""
        raise UserError(FIXED)

    def restore(self, _name: str) -> None:
        """Raises UserError."""
        raise UserError(FIXED)

    def close(self) -> None:
        """Ends the reading."""
        self.engine.close()
