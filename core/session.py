"""A timeline played by an engine, and the branches of its past: which prompt a block gets, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.history import BlockRecord, History
from worldattention.core.telemetry import BlockResult
from worldattention.core.timeline import Timeline, check_prompt

DEFAULT_PROMPT = "A man in a red shirt waves hello in a village street on a bright day."
"""What an empty timeline shows, so that there is always something to see."""


class Session:
    """Owns the timeline and the history of a running world. Not thread-safe: one thread steps and edits.

    `engine` makes the current branch; the engines of the others wait until they are switched to.
    """

    def __init__(self, engine: Engine, timeline: Timeline) -> None:
        self.engine = engine
        self.timeline = timeline
        self._history = History()
        self._replay: list[BlockRecord] = []  # what comes next as long as nobody wants it otherwise
        self._waiting: dict[str, Engine] = {}

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
        records = tuple(self.engine.records[branch.from_block :])
        return self._history.put(replace(branch, timeline=self.timeline, records=records))

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
        result = self.engine.step(self.prompt, cancel, replay)
        del self._replay[:1]
        return result

    def configure(self, config: EngineConfig) -> int:
        """Settings from the next block on; returns that block's index. Raises UserError."""
        self._replay.clear()
        return self.engine.configure(config)

    def reset(self) -> None:
        """Back to the first block of the same timeline; all branches are forgotten."""
        self._forget_waiting()
        self.engine.reset()
        self._history = History()
        self._replay.clear()

    def rewind(self, block: int, name: str) -> None:
        """Goes on from the start of `block` as the new branch `name`; the present one waits.

        Until a prompt or a setting is changed, the blocks are those that the present branch has, bit for bit.

        Raises UserError when that block is not made or the name is taken; nothing is changed then.
        """
        after = self.history.fork(name, block)
        engine = self.engine.fork_at(block)
        self._replay = list(self.engine.records[block:]) + self._replay
        self._waiting[self._history.current] = self.engine
        self._history, self.engine = after, engine

    def switch(self, name: str) -> None:
        """Goes on at the end of another branch. Raises UserError when there is none of that name."""
        history = self.history
        branch = history.get(name)
        if name == history.current:
            return
        self._waiting[history.current], self.engine = self.engine, self._waiting.pop(name)
        self._history = replace(history, current=name)
        self.timeline = branch.timeline
        self._replay.clear()

    def rename(self, name: str, new: str) -> None:
        """Another name for a branch. Raises UserError when it is bad or taken."""
        self._history = self.history.rename(name, new)
        if name in self._waiting:
            self._waiting[new.strip()] = self._waiting.pop(name)

    def delete(self, name: str) -> None:
        """Forgets a branch with its pages. Raises UserError when it is in use or others leave it."""
        self._history = self.history.remove(name)
        self._waiting.pop(name).close()

    def close(self) -> None:
        """Closes the engines of all branches."""
        self._forget_waiting()
        self.engine.close()

    def _forget_waiting(self) -> None:
        for engine in self._waiting.values():
            engine.close()
        self._waiting.clear()

    def _next_replay(self) -> BlockRecord | None:
        """The record of the next block, if it is still wanted as it was; else all that follow are void."""
        if self._replay and self._replay[0].prompt != self.prompt:
            self._replay.clear()
        return self._replay[0] if self._replay else None
