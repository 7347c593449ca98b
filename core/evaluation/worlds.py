"""Worlds to measure in: one after the other, or several at once whose model passes meet in one call.

Several worlds at once: each runs its job in a thread of its own, one thread at a time. A thread that comes to the
model waits there; when all wait, their latents, times and prompts go through the network as one batch, and their
attention, each over its own window, as the heads of one. Engine, memory and retrieval are those of a single world.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import torch
from torch import Tensor

from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.evaluation.beside import AttentionBeside
from worldattention.core.geometry import Geometry
from worldattention.core.models.transformer import (
    Attend,
    CausalWanTransformer3DModel,
    TextKeysValues,
    TimeEmbedding,
)
from worldattention.core.telemetry import BlockResult

Result = TypeVar("Result")


class World(Protocol):
    """The part of an engine that a measurement needs."""

    config: EngineConfig

    @property
    def geometry(self) -> Geometry:
        """Sizes."""
        ...

    def step(self, prompt: str, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """The next block."""
        ...

    def reset(self, seed: int | None = None) -> None:
        """Back to the first block."""
        ...

    def configure(self, config: EngineConfig) -> int:
        """Settings from the next block on."""
        ...

    def fork(self, config: EngineConfig | None = None) -> World:
        """A second world with the same past."""
        ...

    def close(self) -> None:
        """Releases what it holds."""
        ...


class Worlds(Protocol):
    """Worlds of one configuration that do jobs."""

    @property
    def config(self) -> EngineConfig:
        """The configuration of a world before a job changes it."""
        ...

    def map(self, jobs: Sequence[Callable[[World], Result]]) -> list[Result]:
        """Every job in a world; the results in the order of the jobs. Raises what the first failed job raised."""
        ...


@dataclass(frozen=True, slots=True)
class OneWorld:
    """Every job in the same world, one after the other. A job has to reset the world itself."""

    world: World

    @property
    def config(self) -> EngineConfig:
        """The world's configuration."""
        return self.world.config

    def map(self, jobs: Sequence[Callable[[World], Result]]) -> list[Result]:
        """See `Worlds`."""
        return [job(self.world) for job in jobs]


@dataclass(slots=True)
class _Pass:
    """One world's call of the model, and its answer."""

    latents: Tensor
    time: TimeEmbedding
    text: TextKeysValues
    attend: Attend
    out: Tensor | None = None
    failure: BaseException | None = None


class _Meeting:
    """Where threads that need the model meet. Whoever comes last computes for all.

    Its lock is held by the one thread that runs; a thread lets it go only while it waits for the model.
    """

    def __init__(self, model: CausalWanTransformer3DModel, rows: int) -> None:
        self._model, self._rows = model, rows
        self._attention = AttentionBeside()
        self._turn = threading.Condition()
        self._running = 0
        self._waiting: list[_Pass] = []
        self.passes: list[int] = []  # sizes of the batches so far

    def enter(self, count: int) -> None:
        """`count` threads are about to take part."""
        self._running += count

    @contextmanager
    def part(self) -> Iterator[None]:
        """A thread's whole work."""
        with self._turn:
            try:
                yield
            finally:
                self._running -= 1
                self._meet()

    def predict(self, one: _Pass) -> Tensor:
        """Waits for the others, and returns this world's part of the batch."""
        self._waiting.append(one)
        self._running -= 1
        self._meet()
        while one.out is None and one.failure is None:
            self._turn.wait()
        if one.failure is not None:
            raise one.failure
        assert one.out is not None
        return one.out

    def _meet(self) -> None:
        """Runs the batch when nobody is on the way any more."""
        if self._running or not self._waiting:
            return
        # In the same order in every pass of a block, whoever came first, so that joined windows serve again.
        passes, self._waiting = sorted(self._waiting, key=lambda one: id(one.attend)), []
        self._running = len(passes)
        self.passes.append(len(passes))
        try:
            with torch.inference_mode():
                attend = self._attention([one.attend for one in passes])
                rows = max(len(passes), self._rows)
                parts = _predict_all(self._model, passes, rows, attend).split(1)
                attend.finish()
            for one, part in zip(passes, parts, strict=False):
                one.out = part
        except Exception as failure:
            for one in passes:
                one.failure = failure
        self._turn.notify_all()


def _predict_all(
    model: CausalWanTransformer3DModel, passes: list[_Pass], rows: int, attend: Attend
) -> Tensor:
    """Velocities [rows, F, C, h, w]; rows behind those of the passes are filled up and mean nothing."""
    filled = [*passes, *((rows - len(passes)) * passes[-1:])]
    first = passes[0]
    if all(one.time is first.time for one in passes):
        time = first.time
    else:
        time = TimeEmbedding(
            torch.cat([one.time.blocks for one in filled], 1), torch.cat([one.time.head for one in filled])
        )
    text = [
        (torch.cat([k for k, _ in layer]), torch.cat([v for _, v in layer]))
        for layer in zip(*(one.text for one in filled), strict=True)
    ]
    return model.predict(torch.cat([one.latents for one in filled]), time, text, attend)


class _MeetingTransformer:
    """The model as the worlds of a meeting see it."""

    def __init__(self, model: CausalWanTransformer3DModel, meeting: _Meeting) -> None:
        self._model, self._meeting = model, meeting

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def predict(self, latents: Tensor, time: TimeEmbedding, text: TextKeysValues, attend: Attend) -> Tensor:
        """As `CausalWanTransformer3DModel.predict`, together with the other worlds."""
        return self._meeting.predict(_Pass(latents, time, text, attend))


class Lockstep:
    """`count` worlds over one model that step together. Close it when done."""

    def __init__(self, engine: Engine, count: int, fill: bool | None = None) -> None:
        """`engine` is left as it is; its model and configuration are used, but for captured graphs.

        `fill` keeps every batch at `count` rows, since each size is compiled anew on a GPU; None: there only.
        """
        self.config = replace(engine.config, graphs=False)
        fill = engine.model.device.type == "cuda" if fill is None else fill
        self._meeting = _Meeting(engine.model.transformer, count if fill else 0)
        transformer = _MeetingTransformer(engine.model.transformer, self._meeting)
        model = replace(engine.model, transformer=cast(CausalWanTransformer3DModel, transformer))
        first = Engine(model, self.config)
        # Forks share the embeddings of the timesteps, so that equal ones are seen to be equal.
        self._worlds = [first, *(first.fork() for _ in range(count - 1))]

    @property
    def batches(self) -> tuple[int, ...]:
        """How many worlds took part in each model call so far."""
        return tuple(self._meeting.passes)

    def map(self, jobs: Sequence[Callable[[World], Result]]) -> list[Result]:
        """See `Worlds`. A world takes the next job when it has finished one."""
        results: dict[int, Result] = {}
        failures: dict[int, BaseException] = {}
        waiting = iter(enumerate(jobs))
        threads = [
            threading.Thread(target=self._work, args=(world, waiting, results, failures), name=f"world {n}")
            for n, world in enumerate(self._worlds[: len(jobs)])
        ]
        self._meeting.enter(len(threads))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[min(failures)]
        return [results[index] for index in range(len(jobs))]

    def close(self) -> None:
        """Releases the worlds."""
        for world in self._worlds:
            world.close()

    def _work(
        self,
        world: Engine,
        waiting: Iterator[tuple[int, Callable[[World], Result]]],
        results: dict[int, Result],
        failures: dict[int, BaseException],
    ) -> None:
        with self._meeting.part():
            for index, job in waiting:  # one thread runs at a time
                if failures:
                    return
                try:
                    results[index] = job(world)
                except BaseException as failure:
                    failures[index] = failure
                    return
