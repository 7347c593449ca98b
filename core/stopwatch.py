"""Where the time of a block goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

STAGES = ("text", "retrieve", "install", "denoise", "context", "decode", "bank")


@dataclass(slots=True)
class _Span:
    """A stage that was entered once; `outer` is the one around it."""

    stage: str
    outer: str | None
    seconds: float = 0.0
    events: tuple[torch.cuda.Event, torch.cuda.Event] | None = None

    def spent(self) -> float:
        """Seconds: on a GPU those of its own queue, as soon as that has come so far."""
        if self.events is not None and self.events[1].query():
            return float(self.events[0].elapsed_time(self.events[1])) / 1000.0
        return self.seconds


class Stopwatch:
    """Time by stage; a stage inside another is taken out of the outer one.

    A GPU works behind the program, which waits for it only at the end of a block: there a stage lasts from the
    event before its work to the event behind it, and nothing waits for the measurement.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self._on_gpu = device is not None and device.type == "cuda"
        self._start = time.perf_counter()
        self._spans: list[_Span] = []
        self._open: list[str] = []

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        span = _Span(stage, self._open[-1] if self._open else None)
        begin, before = time.perf_counter(), self._event()
        self._open.append(stage)
        try:
            yield
        finally:
            self._open.pop()
            span.seconds = time.perf_counter() - begin
            after = self._event()
            span.events = None if before is None or after is None else (before, after)
            self._spans.append(span)

    def milliseconds(self) -> dict[str, float]:
        """Milliseconds by stage, and `total` of wall time since the stopwatch was made."""
        seconds = dict.fromkeys(STAGES, 0.0)
        for span in self._spans:
            spent = span.spent()
            seconds[span.stage] += spent
            if span.outer is not None:
                seconds[span.outer] -= spent
        stages = {name: round(1000.0 * spent, 3) for name, spent in seconds.items()}
        return {**stages, "total": round(1000.0 * (time.perf_counter() - self._start), 3)}

    def _event(self) -> torch.cuda.Event | None:
        if not self._on_gpu:
            return None
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event
