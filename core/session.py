"""A timeline played by an engine, and the branches of its past: which prompt a block gets, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from worldattention.core.engine import Engine
from worldattention.core.errors import Cancelled
from worldattention.core.history import BlockRecord, History, block_record
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
        self._records: list[BlockRecord] = []  # of the current branch, from block 0 on
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
        records = tuple(self._records[branch.from_block :])
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
        result = self.engine.step(self.prompt, cancel)
        record = result.telemetry
        self._records.append(
            block_record(
                record.prompt,
                self.engine.config,
                tuple(span.page for span in record.window if span.page is not None),
                () if record.recall is None else record.recall.missed,
                record.recall is not None,
            )
        )
        return result

    def reset(self) -> None:
        """Back to the first block of the same timeline; all branches are forgotten."""
        self._forget_waiting()
        self.engine.reset()
        self._history, self._records = History(), []

    def rewind(self, block: int, name: str, cancel: Callable[[], bool] | None = None) -> None:
        """Goes on from the start of `block` as the new branch `name`; the present one waits.

        Raises UserError when that block is not made or the name is taken, Cancelled; nothing is changed then.
        """
        after = self.history.fork(name, block)
        engine = self._remade(self._records[:block], cancel)
        self._waiting[self._history.current] = self.engine
        self._history, self.engine = after, engine
        del self._records[block:]

    def switch(self, name: str, cancel: Callable[[], bool] | None = None) -> None:
        """Goes on at the end of another branch. Raises UserError when there is none of that name."""
        history = self.history
        branch = history.get(name)
        if name == history.current:
            return
        self._waiting[history.current], self.engine = self.engine, self._waiting.pop(name)
        self._history = replace(history, current=name)
        self.timeline = branch.timeline
        self._records = list(history.records(name))

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

    def _remade(self, records: list[BlockRecord], cancel: Callable[[], bool] | None) -> Engine:
        """An engine that has made these blocks."""
        engine = Engine(self.engine.model, self.engine.config)
        try:
            for record in records:
                engine.configure(record.config(engine.config))
                engine.step(record.prompt, cancel)
        except Cancelled:
            engine.close()
            raise
        return engine
