"""A timeline played by an engine: which prompt a block gets, and what a typed prompt does to the timeline."""

from __future__ import annotations

from collections.abc import Callable

from worldattention.core.engine import Engine
from worldattention.core.telemetry import BlockResult
from worldattention.core.timeline import Timeline, check_prompt

DEFAULT_PROMPT = "A man in a red shirt waves hello in a village street on a bright day."
"""What an empty timeline shows, so that there is always something to see."""


class Session:
    """Owns the timeline of a running world. Not thread-safe: one thread steps and edits."""

    def __init__(self, engine: Engine, timeline: Timeline) -> None:
        self.engine = engine
        self.timeline = timeline

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

    def say(self, prompt: str) -> int:
        """Puts a prompt on the timeline from the next block on; returns that block's index.

        Raises UserError when the prompt cannot be used.
        """
        check_prompt(prompt)
        self.timeline = self.timeline.set_prompt_from(self.seconds, prompt)
        return self.block

    def step(self, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """Makes the next block. Raises Cancelled or UserError; the block can then be made again."""
        return self.engine.step(self.prompt, cancel)

    def reset(self) -> None:
        """Back to the first block of the same timeline."""
        self.engine.reset()
