"""What pages on their way cost a block: its denoising beside moves without a pause, and without any."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from worldattention.core.config import CodecName
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.evaluation.bench_engine import SCENES
from worldattention.core.hkv.codec import CODECS, RAW, StoredPage, lay_out, page_bytes
from worldattention.core.hkv.disk import DiskOptions, DiskTier
from worldattention.core.hkv.moves import Job, Lane, Loan, SideStream
from worldattention.core.hkv.page import PageInfo
from worldattention.core.hkv.page_lock import PageLock
from worldattention.core.hkv.session import default_folder
from worldattention.core.memory import kv_shape

From = Literal["dram", "disk"]
COPIES = 12
"""Pages on their way to DRAM beside one block: more than it takes to make it."""


@torch.inference_mode()
def moves_slowdown(engine: Engine, codec: CodecName, source: From, turns: int = 8) -> dict[str, float] | None:
    """Median milliseconds of a block's denoising beside moves of a tier without a pause, and without any.

    To DRAM, pages are coded and copied one after the other. With the disk one is coded, copied and written while
    another is read: each takes longer than the block.

    None on a CPU, where a copy takes a core's time.

    Raises:
        UserError: the disk cannot be written.
    """
    device = engine.model.device
    if device.type != "cuda":
        return None
    times: dict[str, list[float]] = {"still": [], "moving": []}
    with moves(engine, codec, source) as (start, finish):
        for _ in range(turns):
            for kind, column in times.items():
                torch.cuda.synchronize(device)
                if kind == "moving":
                    start()
                column.append(engine.step(SCENES[0]).telemetry.stage_ms["denoise"])
                if kind == "moving":
                    finish()
    still, moving = (statistics.median(column) for column in times.values())
    return {"still_ms": still, "moving_ms": moving, "slowdown": round(moving / still - 1, 4)}


@contextmanager
def moves(
    engine: Engine, codec: CodecName, source: From
) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Yields what starts a round of moves, and what waits for its end."""
    shape, frames, device = kv_shape(engine.model), engine.config.cache.page_frames, engine.model.device
    memory = torch.zeros(page_bytes(RAW, shape, frames), dtype=torch.uint8, device=device)
    page = lay_out(PageInfo(0, 0, frames, 0, 0), shape, RAW, memory)
    with _with_disk(engine, codec, page) if source == "disk" else _to_dram(codec, page) as both:
        yield both


@contextmanager
def _to_dram(codec: CodecName, page: StoredPage) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    lock = PageLock(page_bytes(CODECS[codec], page.shape, page.info.frames))
    target = lay_out(page.info, page.shape, CODECS[codec], lock.memory)
    lane, side = Lane("page-mover-bench"), SideStream()

    def start() -> None:
        for _ in range(COPIES):
            lane.submit(
                Job(0, lambda: side.run(lambda: page.copy_into(target, side.rest), None, page.parts.device))
            )

    try:
        yield start, lane.flush
    finally:
        lane.close()
        lock.free()


@contextmanager
def _with_disk(
    engine: Engine, codec: CodecName, page: StoredPage
) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    size = page_bytes(CODECS[codec], page.shape, page.info.frames)
    gpu = page.parts.device if page.parts.is_cuda else None
    options = DiskOptions(CODECS[codec], page.info.frames, prefetch_bytes=2 * size, gpu=gpu)
    folder = engine.config.cache.folder or default_folder()
    tier = DiskTier(page.shape, "bench", 4 * size, folder, options)
    there, on_its_way = 0, 1

    def start() -> None:
        tier.write(on_its_way, page, Loan())
        tier.prefetch([there])

    def finish() -> None:
        tier.flush()
        if not tier.active:
            raise UserError(" ".join(tier.take_notices()))
        tier.end_guess()
        tier.free(on_its_way)
        tier.flush()

    try:
        tier.write(there, page, Loan())
        tier.flush()
        yield start, finish
    finally:
        tier.close()
