"""Tiers and codecs side by side: how long a page takes in and out of each, and how long ten thousand take to score.

Codecs take turns page by page in one process, since a machine's speed drifts by more than they differ. Files are
written out and dropped from the system's cache before they are read again, where the system lets us.
"""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from worldattention.core.config import CODEC_NAMES, CodecName
from worldattention.core.errors import Cancelled
from worldattention.core.hkv.codec import CODECS, RAW, Codec, StoredPage, encode_page, lay_out, page_bytes
from worldattention.core.hkv.disk import DiskOptions, DiskTier
from worldattention.core.hkv.moves import Loan
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.retrieval import Memory, retrieve
from worldattention.core.hkv.tiers import PoolTier, Tier

PAGE_FRAMES = 8
SCORED_PAGES = 10_000
SCORED_TRIES = 50
_PAGES_A_CHUNK = 5
_PROMPT_WIDTH = 384

Progress = Callable[[int, int, str], None]


def benchmark_tiers(
    pages: Sequence[PageData],
    shape: KVShape,
    device: torch.device,
    repeats: int = 5,
    show: Progress = lambda done, total, what: None,
    cancel: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Write and read every page `repeats` times in every tier and codec. Times are medians in milliseconds.

    Raises Cancelled.
    """
    rows: dict[str, dict[str, dict[str, list[float]]]] = {name: {} for name in CODEC_NAMES}
    names: tuple[CodecName, ...] = tuple(CODECS)
    with tempfile.TemporaryDirectory(prefix="worldattention-bench-") as folder:
        tiers = {name: _tiers(shape, CODECS[name], device, Path(folder) / name) for name in names}
        try:
            for turn in range(repeats):
                for page in pages:
                    for name in names:
                        for tier in tiers[name]:
                            times = rows[name].setdefault(tier.name, {"write": [], "read": []})
                            written, read = _once(tier, page, shape, device)
                            times["write"].append(written)
                            times["read"].append(read)
                    if cancel():
                        raise Cancelled
                show(turn + 1, repeats, "")
        finally:
            for group in tiers.values():
                for tier in group:
                    tier.close()
    raw = page_bytes(RAW, shape, PAGE_FRAMES)
    return {
        "device": str(device),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "dtype": str(shape.dtype).removeprefix("torch."),
        "page_bytes": raw,
        "codecs": {
            name: {
                "stored_bytes": page_bytes(CODECS[name], shape, PAGE_FRAMES),
                "relative_error": _errors(pages, shape, CODECS[name]),
                "tiers": {tier: _figures(times, raw) for tier, times in rows[name].items()},
            }
            for name in names
        },
        "scoring": benchmark_scoring(shape, device),
    }


def made_up_pages(shape: KVShape, device: torch.device, count: int = 2, seed: int = 0) -> list[PageData]:
    """Pages of normal numbers, for speed alone."""
    generator = torch.Generator().manual_seed(seed)
    return [
        PageData(
            PageInfo(page, PAGE_FRAMES * page, PAGE_FRAMES, 0, page),
            *(
                torch.randn(shape.tensor(PAGE_FRAMES), generator=generator).to(device, shape.dtype)
                for _ in range(2)
            ),
        )
        for page in range(count)
    ]


def benchmark_scoring(shape: KVShape, device: torch.device, pages: int = SCORED_PAGES) -> dict[str, float]:
    """Milliseconds of one retrieval over `pages` pages: `hkv` (two stages) and `random` (every page scored)."""
    generator = torch.Generator().manual_seed(0)
    size = (3, shape.heads, shape.head_dim)
    prompts = torch.randn(pages // _PAGES_A_CHUNK, _PROMPT_WIDTH, generator=generator)
    spans = torch.tensor([(8 * page, 8, page // _PAGES_A_CHUNK) for page in range(pages)])
    memory = Memory(
        torch.nn.functional.normalize(prompts, dim=1),
        torch.randn(pages, *size, generator=generator).to(device),
        spans,
        torch.ones(pages, dtype=torch.bool),
    )
    query = torch.randn(size, generator=generator).to(device)
    times: dict[str, list[float]] = {"hkv": [], "random": []}
    for _ in range(SCORED_TRIES):
        for policy in times:
            began = time.perf_counter()
            retrieve(policy, memory, query, memory.prompts[7])  # type: ignore[arg-type]
            times[policy].append(1000 * (time.perf_counter() - began))
    return {
        "pages": pages,
        "two_stages_ms": statistics.median(times["hkv"]),
        "all_pages_ms": statistics.median(times["random"]),
    }


def _tiers(shape: KVShape, codec: Codec, device: torch.device, folder: Path) -> list[Tier]:
    gpu = device if device.type == "cuda" else None
    quota = 2 * page_bytes(RAW, shape, PAGE_FRAMES)
    return [
        PoolTier("device", shape, PAGE_FRAMES, quota, device, gpu),
        PoolTier("dram", shape, PAGE_FRAMES, quota, "cpu", gpu, codec),
        DiskTier(shape, "bench", 2 * quota, folder, DiskOptions(codec, gpu=gpu)),
    ]


def _once(tier: Tier, page: PageData, shape: KVShape, device: torch.device) -> tuple[float, float]:
    """Milliseconds of one page's way into a tier from the device, and back to it."""
    info = page.info
    source = _raw(page, shape)
    assert tier.has_room(info)
    _wait(device)
    began = time.perf_counter()
    tier.write(info.id, source, Loan())
    tier.flush()
    written = time.perf_counter()
    if isinstance(tier, DiskTier):
        _drop_from_cache(tier, info.id)
    start = time.perf_counter()
    fetched = tier.fetch(info.id, None)
    assert fetched.page is not None
    data = fetched.page.decode(device)
    _there(data.keys, device)
    _there(data.values, device)
    _wait(device)
    done = time.perf_counter()
    fetched.loan.drop()
    tier.free(info.id)
    tier.flush()
    return 1000 * (written - began), 1000 * (done - start)


def _raw(page: PageData, shape: KVShape) -> StoredPage:
    size = page_bytes(RAW, shape, page.info.frames)
    source = lay_out(page.info, shape, RAW, torch.empty(size, dtype=torch.uint8, device=page.keys.device))
    encode_page(page, source)
    return source


def _there(tensor: Tensor, device: torch.device) -> None:
    """Touches every byte, as an installation into the window does."""
    torch.empty_like(tensor, device=device, memory_format=torch.contiguous_format).copy_(tensor)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _drop_from_cache(tier: DiskTier, handle: int) -> None:
    """So that the disk is read, not the system's memory."""
    path = tier.path_of(handle)
    if path is None or not hasattr(os, "posix_fadvise"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def _errors(pages: Sequence[PageData], shape: KVShape, codec: Codec) -> dict[str, float]:
    """|decoded - real| / |real| over all numbers of the pages."""
    sums = {"keys": [0.0, 0.0], "values": [0.0, 0.0]}
    for page in pages:
        size = page_bytes(codec, shape, page.info.frames)
        memory = torch.empty(size, dtype=torch.uint8, device=page.keys.device)
        stored = lay_out(page.info, shape, codec, memory)
        encode_page(page, stored)
        back = stored.decode(page.keys.device)
        for name, (error, total) in sums.items():
            real, got = getattr(page, name).double(), getattr(back, name).double()
            sums[name] = [error + float((got - real).square().sum()), total + float(real.square().sum())]
    return {name: (error / max(total, 1e-30)) ** 0.5 for name, (error, total) in sums.items()}


def _figures(times: dict[str, list[float]], page_bytes: int) -> dict[str, float]:
    """Medians, and the page's own bytes over them."""
    figures = {}
    for way, values in times.items():
        median = statistics.median(values)
        figures[f"{way}_ms"] = median
        figures[f"{way}_slowest_ms"] = max(values)
        figures[f"{way}_gb_s"] = page_bytes / median / 1e6
    return figures
