"""Moves of pages in the background: prepared and completed by the engine's thread, done by a lane's.

Prepare: the books of the tiers change at once, a loan keeps the source from being used again, a job goes to a
lane. Complete: the engine's thread takes finished jobs from the lane and ends their loans. So no lock is
needed beyond the lane's own.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch

from worldattention.core.threads import stay_serial

log = logging.getLogger(__name__)

_IDS = count(1)
RESTS = 3  # how much longer than it is coded a page that makes way lets the model alone


class Loan:
    """Memory that must stay as it is; given back when the last holder drops it. For one thread."""

    def __init__(self, give_back: Callable[[], None] | None = None) -> None:
        self._holders = 1
        self._give_back = give_back

    def hold(self) -> "Loan":
        """One more holder."""
        self._holders += 1
        return self

    def drop(self) -> None:
        """One holder less."""
        self._holders -= 1
        if self._holders == 0 and self._give_back is not None:
            self._give_back()


@dataclass(slots=True, eq=False)
class Job:
    """Work of a lane on one page. `result` or `error`, and `milliseconds`, are there once `done` is set.

    `work` must not hold what holds the job: memory would then wait for Python's collector.
    """

    handle: int
    work: Callable[[], Any]
    size_bytes: int = 0
    id: int = field(default_factory=lambda: next(_IDS))
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: Exception | None = None
    milliseconds: float = 0.0

    def run(self) -> None:
        """Does the work; what goes wrong is told to the engine's thread, which decides."""
        began = time.perf_counter()
        try:
            self.result = self.work()
        except Exception as error:
            log.debug("work on page %d failed", self.handle, exc_info=True)
            self.error = error.with_traceback(None)  # whose frames hold this job, and the page's memory
        self.milliseconds = 1000 * (time.perf_counter() - began)

    def finish(self) -> None:
        """Does the work here, without a lane."""
        self.run()
        self.done.set()


class Lane:
    """One daemon thread that does jobs in order; it starts with the first of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: deque[Job] = deque()
        self._running: Job | None = None
        self._finished: deque[Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def queued_bytes(self) -> int:
        """Bytes of the jobs that wait or run."""
        with self._changed:
            running = 0 if self._running is None else self._running.size_bytes
            return running + sum(job.size_bytes for job in self._waiting)

    def submit(self, job: Job, urgent: bool = False) -> Job:
        """Queue a job; an urgent one goes before all that wait."""
        with self._changed:
            if urgent:
                self._waiting.appendleft(job)
            else:
                self._waiting.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return job

    def hurry(self, job: Job) -> None:
        """Put a waiting job before all others."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                self._waiting.appendleft(job)

    def cancel(self, job: Job) -> bool:
        """Whether the job had not begun, and now never will."""
        with self._changed:
            if job not in self._waiting:
                return False
            self._waiting.remove(job)
            self._changed.notify_all()
            return True

    def take_finished(self) -> list[Job]:
        """Jobs that ended since the last call."""
        with self._changed:
            finished = list(self._finished)
            self._finished.clear()
        return finished

    def wait_for_one(self) -> None:
        """Wait until a job has ended that nobody took yet, or nothing is left to do."""
        with self._changed:
            self._changed.wait_for(lambda: self._finished or self._idle())

    def flush(self) -> None:
        """Wait until nothing waits or runs."""
        with self._changed:
            self._changed.wait_for(self._idle)

    def close(self, timeout_s: float = 10.0) -> None:
        """Forget what waits, and wait for what runs; a device that hangs is left to itself after the time."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout_s)
            if thread.is_alive():
                log.warning("%s still waits for its device and is left behind", self._name)

    def _idle(self) -> bool:
        return self._closed or (not self._waiting and self._running is None)

    def _run(self) -> None:
        stay_serial()
        with torch.inference_mode():  # as the engine, whose tensors it writes
            while self._do_next():
                pass

    def _do_next(self) -> bool:
        """Apart, so that a lane without work holds no memory of its last job."""
        job = self._next()
        if job is None:
            return False
        job.run()
        with self._changed:
            self._running = None
            self._finished.append(job)
            job.done.set()
            self._changed.notify_all()
        return True

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            self._running = self._waiting.popleft()
            return self._running


class SideStream:
    """Runs copies of a lane beside the model's own work on a GPU; does nothing special on a CPU."""

    def __init__(self) -> None:
        self._stream: torch.cuda.Stream | None = None
        self._rested = 0.0

    def run(self, copy: Callable[[], None], ready: torch.cuda.Event | None, device: torch.device) -> None:
        """Do `copy` once `ready` has passed; returns when the bytes have arrived. `device`: the GPU, if any."""
        if ready is not None:
            ready.synchronize()
        if device.type != "cuda":
            copy()
            return
        if self._stream is None:
            self._stream = torch.cuda.Stream(device)
        self._rested = time.perf_counter()
        with torch.cuda.stream(self._stream):
            copy()
        self._stream.synchronize()

    def rest(self) -> None:
        """In the middle of `run`: pauses for `RESTS` times as long as the part since the last pause took.

        Coding takes the memory's bandwidth from the model, and nobody waits for a page that makes way.
        """
        if self._stream is not None:
            self._stream.synchronize()
            time.sleep(RESTS * (time.perf_counter() - self._rested))
            self._rested = time.perf_counter()
