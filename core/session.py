"""A timeline played by an engine, and the branches of its past: which prompt a block gets, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.foresight import upcoming_prompt
from worldattention.core.history import BlockRecord, Branch, History
from worldattention.core.out_of_memory import NO_ROOM, Result, is_out_of_memory, with_less
from worldattention.core.project import Project
from worldattention.core.saved_world import save_world
from worldattention.core.telemetry import BlockResult, BlockTelemetry
from worldattention.core.telemetry_lines import records_of
from worldattention.core.timeline import Timeline, check_prompt
from worldattention.core.waiting import WaitingEngines

DEFAULT_PROMPT = "A man in a red shirt waves hello in a village street on a bright day."
"""What an empty timeline shows, so that there is always something to see."""


@dataclass(frozen=True, slots=True)
class _Deleted:
    """A branch that may come back: its place in the history, and its engine, asleep."""

    branch: Branch
    index: int
    engine: Engine | None


class Session:
    """Owns the timeline and the history of a running world. Not thread-safe: one thread steps and edits.

    `engine` makes the current branch; the engines of the others wait until they are switched to.
    """

    def __init__(self, engine: Engine, timeline: Timeline) -> None:
        self.engine = engine
        self.timeline = timeline
        self._history = History()
        self._replay: list[BlockRecord] = []  # what comes next as long as nobody wants it otherwise
        self._remaking = False  # whether that is the current branch's own, made in another sitting
        self._waiting = WaitingEngines()
        self._deleted: dict[str, _Deleted] = {}
        self.saved_lines: list[str] = []  # telemetry of a restored world

    @property
    def block(self) -> int:
        """The next block to be made."""
        return self.engine.block

    @property
    def seconds(self) -> float:
        """Start of the next block."""
        return self.engine.geometry.block_seconds(self.engine.block)

    @property
    def prompt(self) -> str:
        """The prompt of the next block."""
        return self.timeline.prompt_at(self.seconds) or DEFAULT_PROMPT

    @property
    def history(self) -> History:
        """All branches as they are now."""
        branch = self._history.get(self._history.current)
        records = [*self.engine.records, *(self._replay if self._remaking else ())]
        own = tuple(records[branch.from_block :])
        return self._history.put(replace(branch, timeline=self.timeline, records=own))

    @property
    def branch(self) -> str:
        """Name of the current branch."""
        return self._history.current

    @property
    def last_record(self) -> BlockRecord:
        """What the newest block was made from."""
        return self.engine.records[-1]

    def begin(self, history: History) -> None:
        """Takes over branches that were made in another sitting, before the first block or behind a restored past.

        The current one is made again as it plays, from what was recorded; the others when they are switched to.
        """
        self._history, self.timeline = history, history.get(history.current).timeline
        self._replay, self._remaking = list(history.records(history.current)[self.block :]), True

    def say(self, prompt: str) -> int:
        """Puts a prompt on the timeline from the next block on; returns that block's index.

        Raises UserError when the prompt cannot be used.
        """
        check_prompt(prompt)
        self.timeline = self.timeline.set_prompt_from(self.seconds, prompt)
        return self.block

    def step(self, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """Makes the next block. Raises Cancelled or UserError; the block can then be made again."""
        replay = self._next_replay()
        if replay is not None:
            self.engine.configure(replay.config(self.engine.config))
        prompt = self.prompt
        result = with_less(
            lambda: self.engine.step(prompt, cancel, replay), self._make_room, lambda: self.engine.shrink()
        )
        del self._replay[:1]
        upcoming = upcoming_prompt(self.timeline, self.engine.geometry, self.engine.block, prompt)
        if upcoming is not None:
            self.engine.prefetch(self.engine.preview(upcoming))
        return result

    def configure(self, config: EngineConfig) -> int:
        """Settings from the next block on; returns that block's index. Raises UserError."""
        block = self.engine.configure(config)
        self._want_otherwise()
        return block

    def reset(self) -> None:
        """Back to the first block of the same timeline; all branches are forgotten."""
        self._close_others()
        self.engine.reset()
        self._history = History()
        self._replay, self._remaking = [], False

    def rewind(self, block: int, name: str) -> None:
        """Goes on from the start of `block` as the new branch `name`; the present one waits.

        Until a prompt or a setting is changed, the blocks are those that the present branch has, bit for bit.

        Raises UserError when that block is not made or the name is taken; nothing is changed then.
        """
        history = self.history
        after = history.fork(name, block)
        engine = self._beside(lambda: self.engine.fork_at(block))
        self._waiting.put(history.current, self.engine)
        self._replay = [*self.engine.records[block:], *self._replay]
        self._history, self.engine, self._remaking = after, engine, False

    def switch(self, name: str) -> None:
        """Goes on at the end of another branch. Raises UserError when there is none of that name.

        One that was made in another sitting goes on where it leaves what is made, and is made again from there.
        """
        history = self.history
        branch = history.get(name)
        if name == history.current:
            return
        records = list(history.records(name))
        engine = self._beside(lambda: self._waiting.take(name))
        if engine is None:
            pairs = zip(self.engine.records, records, strict=False)
            shared = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            engine = self._beside(lambda: self.engine.fork_at(shared))
        self._waiting.put(history.current, self.engine)
        self.engine, self.timeline = engine, branch.timeline
        self._history = replace(history, current=name)
        self._replay, self._remaking = records[engine.block :], True

    def rename(self, name: str, new: str) -> None:
        """Another name for a branch. Raises UserError when it is bad or taken."""
        self._history = self.history.rename(name, new)
        self._waiting.rename(name, new.strip())

    def delete(self, name: str) -> None:
        """Takes a branch out of the history; its pages stay for `restore` until the session ends or is reset.

        Raises UserError when it is in use or others leave it.
        """
        history = self.history
        self._history = history.remove(name)
        branch, engine = history.get(name), self._waiting.take(name, awake=False)
        if engine is not None:
            engine.sleep()
        self._deleted[name] = _Deleted(branch, history.branches.index(branch), engine)

    def restore(self, name: str) -> None:
        """Brings a deleted branch back as it was. Raises UserError when there is none, or its name is taken."""
        gone = self._deleted.get(name)
        if gone is None:
            self._history.get(name)
            return
        self._history = self.history.bring_back(gone.branch, gone.index)
        del self._deleted[name]
        if gone.engine is not None:
            self._waiting.put(name, gone.engine)

    def past(self) -> Iterator[tuple[npt.NDArray[np.uint8], BlockTelemetry | None, BlockRecord]]:
        """Frames [T, H, W, 3], telemetry and record of every block of a world that was restored. Raises UserError."""
        decoder = self.engine.model.new_decoder()
        told = records_of(self.saved_lines)
        for block, record in enumerate(self.engine.records):
            try:
                telemetry = next(told, None)
                yield decoder.decode_block(self.engine.latents(block)).numpy(), telemetry, record
            except (OSError, ValueError) as error:
                raise UserError("The saved world's past cannot be shown: copy its folder again.") from error

    def save(self, folder: Path, project: Project, pages: bool, telemetry: Iterable[str]) -> None:
        """Saves the current branch's world as a folder, with all branches' records. Raises UserError."""
        save_world(folder, self.engine, project, self.history, pages=pages, telemetry=telemetry)

    def close(self) -> None:
        """Closes the engines of all branches."""
        self._close_others()
        self.engine.close()

    def _close_others(self) -> None:
        self._waiting.close()
        for gone in self._deleted.values():
            if gone.engine is not None:
                gone.engine.close()
        self._deleted.clear()

    def _make_room(self) -> None:
        """Gives back memory that only saves time."""
        self._waiting.sleep()
        self.engine.make_room()

    def _beside(self, make: Callable[[], Result]) -> Result:
        """What `make` returns: another engine beside the present one, which stays as it is. Raises UserError."""
        try:
            return with_less(make, self._make_room)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                raise UserError(NO_ROOM) from error
            raise

    def _next_replay(self) -> BlockRecord | None:
        """The record of the next block, if it is still wanted as it was."""
        if self._replay and self._replay[0].prompt != self.prompt:
            self._want_otherwise()
        return self._replay[0] if self._replay else None

    def _want_otherwise(self) -> None:
        """What follows is another past. A branch of another sitting stays as it was, and a new one leaves it."""
        if self._replay and self._remaking and len(self._history.branches) > 1:
            history = self.history
            self._history = history.fork(history.free_name(), self.block)
        self._replay, self._remaking = [], False
