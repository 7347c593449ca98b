"""Where the time of a block goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STAGES = ("text", "retrieve", "install", "denoise", "context", "decode", "bank")


class Stopwatch:
    """Wall time by stage; a stage inside another is taken out of the outer one."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._seconds = dict.fromkeys(
            ("text", "retrieve", "install", "denoise", "context", "decode", "bank"), 0.0
        )
        self._open: list[str] = []

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begin = time.perf_counter()
        self._open.append(stage)
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            self._open.pop()
            self._seconds[stage] += spent
            if self._open:
                self._seconds[self._open[-1]] -= spent

    def milliseconds(self) -> dict[str, float]:
        """Milliseconds by stage, and `total` since the stopwatch was made."""
        stages = {name: round(1000.0 * seconds, 3) for name, seconds in self._seconds.items()}
        return {**stages, "total": round(1000.0 * (time.perf_counter() - self._start), 3)}
