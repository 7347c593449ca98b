"""The engines of branches that nobody watches: a few awake, so that coming back is quick, the others asleep."""

from __future__ import annotations

from worldattention.core.config import MIB
from worldattention.core.engine import Engine

AWAKE_BYTES = 256 * MIB
"""For rings and windows of waiting engines; pages are shared and count elsewhere."""


class WaitingEngines:
    """Engines by the name of their branch. Asleep, one keeps its pages and latents, and is restored from those."""

    def __init__(self, awake_bytes: int = AWAKE_BYTES) -> None:
        self._awake_bytes = awake_bytes
        self._engines: dict[str, Engine] = {}  # longest waiting first

    def put(self, name: str, engine: Engine) -> None:
        """Lets an engine wait; puts those to sleep that have waited longest, until the others fit."""
        self._engines[name] = engine
        left = self._awake_bytes
        for waiting in reversed(self._engines.values()):
            left -= waiting.memory.buffer_bytes
            if left < 0:
                waiting.sleep()

    def sleep(self) -> None:
        """Frees what only makes coming back quick."""
        for waiting in self._engines.values():
            waiting.sleep()

    def take(self, name: str, awake: bool = True) -> Engine | None:
        """The engine of a branch, woken up; None where there is none. Raises UserError."""
        engine = self._engines.get(name)
        if engine is None:
            return None
        if awake and engine.memory.buffer_bytes == 0:  # asleep
            woken = engine.fork_at(engine.block)
            engine.close()
            engine = woken
        del self._engines[name]
        return engine

    def rename(self, name: str, new: str) -> None:
        """The branch is called otherwise."""
        self._engines = {new if old == name else old: engine for old, engine in self._engines.items()}

    def close(self) -> None:
        """Closes them all."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
