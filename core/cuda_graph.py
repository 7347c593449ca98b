"""CUDA graphs: work that is captured once and replayed, behind a check of the device."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, TypeVar

import torch

T = TypeVar("T")
WARM_UP_RUNS = 3
"""Compilation and workspaces must be done before a capture."""


class Recorder(Protocol):
    """Runs work; gives its result, and a function that runs it again into the same memory."""

    def __call__(self, run: Callable[[], T]) -> tuple[T, Callable[[], object]]: ...


@cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """Where everything is captured: each stream that multiplies matrices keeps 32 MiB for it, for good."""
    return torch.cuda.Stream(device)


def graph_recorder(device: torch.device) -> Recorder | None:
    """A recorder of CUDA graphs that share a memory pool; None on other devices."""
    if device.type != "cuda":
        return None
    pool: Any = None

    def record(run: Callable[[], T]) -> tuple[T, Callable[[], object]]:
        nonlocal pool
        side = _side_stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_RUNS):
                run()
        torch.cuda.current_stream(device).wait_stream(side)
        pool = pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Threads of the memory tiers go on with copies and page-locking meanwhile.
        with torch.cuda.graph(graph, pool=pool, stream=side, capture_error_mode="thread_local"):
            result = run()
        return result, graph.replay

    return record
