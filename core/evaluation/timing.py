"""Times of rivals that run in turns in one process, and the record of where that was.

Only ratios of rivals that ran in turns count: a machine's speed drifts by more than they differ.
"""

from __future__ import annotations

import datetime
import gc
import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

WARM_UP_RUNS = 3


def interleaved_ms(
    rivals: dict[str, Callable[[], object]], repeats: int, device: torch.device, warm_up: int = WARM_UP_RUNS
) -> dict[str, float]:
    """Median milliseconds of each rival, which run in turns.

    On a GPU each rival is captured in a graph, so that launches cost nothing, and timed by events.
    """
    timers = {name: _timer(rival, device, warm_up) for name, rival in rivals.items()}
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, timer in timers.items():
            times[name].append(timer())
    return {name: statistics.median(values) for name, values in times.items()}


def _timer(rival: Callable[[], object], device: torch.device, warm_up: int) -> Callable[[], float]:
    """A function that runs the rival once and gives milliseconds."""
    for _ in range(warm_up):
        rival()
    if device.type == "cuda":
        return _graph_timer(rival, device)

    def timed() -> float:
        start = time.perf_counter()
        rival()
        return (time.perf_counter() - start) * 1e3

    return timed


def _graph_timer(rival: Callable[[], object], device: torch.device) -> Callable[[], float]:
    """Times replays of a graph of the rival, by events."""
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        rival()
    torch.cuda.current_stream(device).wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rival()
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timed() -> float:
        before.record()
        graph.replay()
        after.record()
        after.synchronize()
        return before.elapsed_time(after)

    return timed


@contextmanager
def as_in_the_window() -> Iterator[None]:
    """Python's collector leaves out what is there already: walking over the libraries takes a quarter of a second."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def surroundings(device: torch.device) -> dict[str, Any]:
    """Where and when: device, versions, threads, date (UTC)."""
    return {
        "device": device_name(device),
        "torch": torch.__version__,
        "triton": version("triton"),
        "flash_attn_4": version("flash-attn-4"),
        "cudnn": torch.backends.cudnn.version() if device.type == "cuda" else None,
        "threads": torch.get_num_threads(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
    }


def version(package: str) -> str | None:
    """Its installed version; None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def device_name(device: torch.device) -> str:
    """The name of the GPU or of the processor, as its maker gives it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    lines = Path("/proc/cpuinfo")
    if os.path.exists(lines):
        for line in lines.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
