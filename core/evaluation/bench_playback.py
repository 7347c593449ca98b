"""Playback at a constant rate over prompt switches that recall pages from a long past, and what the moves cost.

The past is made up: pages of random numbers, put into the world by the way that a restored world takes. Everything
else is real: the passes, the tiers, the recalls, and the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from worldattention.core.config import CodecName, EngineConfig, live
from worldattention.core.engine import Engine
from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.bench_engine import SCENES, memory_bytes, what
from worldattention.core.evaluation.bench_moves import From, moves_slowdown
from worldattention.core.evaluation.timing import as_in_the_window
from worldattention.core.fitting import warm_up
from worldattention.core.foresight import LOOK_AHEAD_BLOCKS
from worldattention.core.geometry import FPS
from worldattention.core.history import block_record
from worldattention.core.hkv.codec import CODECS, RAW, page_bytes
from worldattention.core.memory import kv_shape
from worldattention.core.models.world import WorldModel
from worldattention.core.telemetry import BlockTelemetry

Progress = Callable[[int, int, str], None]
DEVICE_PAGES = 4


@dataclass(frozen=True, slots=True)
class Play:
    """What is played: `seconds` of made-up past, then `scenes` times `scene_blocks` blocks of one of two scenes."""

    seconds: float = 60.0
    scene_blocks: int = 6
    scenes: int = 3
    source: From = "dram"
    codec: CodecName = "fp8"
    pace: bool = True
    """Whether blocks wait for their turn, as in a window; tests need not."""


@dataclass(slots=True)
class Clock:
    """A player that shows FPS frames a second, of which a block at most is made ahead."""

    pace: bool
    _due: float | None = None
    waits_ms: list[float] = field(default_factory=list)
    late_frames: int = 0
    frames: int = 0

    def show(self, frames: int) -> None:
        """A block is made: counts frames that should have been seen before, then waits until the next may be begun."""
        now = time.perf_counter()
        due = now if self._due is None else self._due
        late = max(0.0, now - due)
        self.late_frames += min(frames, int(late * FPS + 1)) if late else 0
        self.frames += frames
        start = max(due, now)
        self._due = start + frames / FPS
        self.waits_ms.append(1000.0 * max(0.0, start - now))
        if self.pace and start > now:
            time.sleep(start - now)


def benchmark_playback(
    model: WorldModel,
    config: EngineConfig,
    play: Play = Play(),
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Play a world with a long past over prompt switches.

    Returns:
        A record for JSON: `late_frames` of `frames`, `blocks` (per block what it took and recalled, and the device's
        memory), `device_memory` (least and most between blocks, after the first recall), `filled_s`, `slowdown`.

    Raises:
        Cancelled: `cancel` said so.
    """
    show = progress or (lambda done, total, what: None)
    total = play.scene_blocks * play.scenes
    with closing(Engine(model, with_tiers(model, config, play))) as engine:
        warm_up(engine, lambda share: show(0, total, "warm-up"))
        begun = time.perf_counter()
        fill(engine, play.seconds, cancel)
        engine.bank.flush()  # as in a world that took that long to make
        filled = time.perf_counter() - begun
        stored = {tier.name: tier.used_bytes for tier in engine.bank.usage()}
        pages = len(engine.bank.pages)
        engine.configure(live(engine.config))
        clock, rows = Clock(play.pace), []
        with as_in_the_window():
            for index in range(total):
                show(index, total, "blocks")
                prompt = _prompt(play, index)
                _foresee(engine, play, index, prompt)
                tiers = [engine.bank.tier_of(page.id) for page in engine.bank.pages]
                rows.append(_row(engine, engine.step(prompt, cancel).telemetry, tiers))
                clock.show(rows[-1]["frames"])
        slowdown = moves_slowdown(engine, play.codec, play.source)
        return {
            **what(model, config),
            "source": play.source,
            "codec": play.codec,
            "past_seconds": play.seconds,
            "past_pages": pages,
            "past_bytes": stored,
            "filled_s": round(filled, 2),
            "frames": clock.frames,
            "late_frames": clock.late_frames,
            "least_wait_ms": round(min(clock.waits_ms[1:]), 1),
            "device_memory": _range(rows),
            "slowdown": slowdown,
            "memory_bytes": memory_bytes(engine),
            "blocks": rows,
        }


def with_tiers(model: WorldModel, config: EngineConfig, play: Play) -> EngineConfig:
    """Quotas that hold the past where it shall lie; a few pages stay on the device, as in every world."""
    shape, cache = kv_shape(model), config.cache
    sizes = model.geometry
    past = play.seconds * FPS / sizes.block_frames * sizes.block_latents / cache.page_frames
    room = (int(past) + 16) * page_bytes(CODECS[play.codec], shape, cache.page_frames)
    cache = replace(
        cache,
        device_quota_bytes=DEVICE_PAGES * page_bytes(RAW, shape, cache.page_frames),
        dram_quota_bytes=room if play.source == "dram" else 0,
        disk_quota_bytes=room if play.source == "disk" else 0,
        move_bytes=room // 4,
        prefetch_bytes=room // 2 if play.source == "disk" else 0,
        codec=play.codec,
    )
    return replace(config, cache=cache)


@torch.inference_mode()
def fill(engine: Engine, seconds: float, cancel: Callable[[], bool] | None = None) -> None:
    """Gives a world a past of two scenes of random keys and values, by the way that a restored one takes."""
    sizes, shape = engine.geometry, kv_shape(engine.model)
    blocks = max(2, round(seconds * FPS / sizes.block_frames))
    latents = torch.zeros(sizes.latent_shape)
    size = shape.tensor(sizes.block_latents)
    for block in range(blocks):
        if cancel is not None and cancel():
            raise Cancelled
        keys, values = (torch.randn(size, dtype=shape.dtype, device=engine.model.device) for _ in range(2))
        prompt = SCENES[0] if block < blocks // 2 else SCENES[1]
        engine.relive(block_record(prompt, engine.config), latents, (keys, values))
    engine.restore_decoder()


def _prompt(play: Play, index: int) -> str:
    """The second scene goes on first, then the first comes back, and so on."""
    return SCENES[1 - index // play.scene_blocks % 2]


def _foresee(engine: Engine, play: Play, index: int, prompt: str) -> None:
    """As a timeline does: the next prompt's pages are fetched while the present one still plays."""
    for ahead in range(index + 1, min(index + 1 + LOOK_AHEAD_BLOCKS, play.scene_blocks * play.scenes)):
        if (upcoming := _prompt(play, ahead)) != prompt:
            engine.prefetch(engine.preview(upcoming))
            return


def _row(engine: Engine, record: BlockTelemetry, tiers: list[str]) -> dict[str, Any]:
    """Of a block; `tiers` is where the pages lay before it."""
    device = engine.model.device
    chosen = record.recall.chosen if record.recall is not None else ()
    row: dict[str, Any] = {
        "frames": record.frames,
        "ms": record.stage_ms["total"],
        "install_ms": record.stage_ms["install"] + record.stage_ms["retrieve"],
        "recalled": {page: tiers[page] for page in chosen if page < len(tiers)},
        "missed": list(record.recall.missed) if record.recall is not None else [],
    }
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        row |= {"allocated": torch.cuda.memory_allocated(device), "free": free}
    return row


def _range(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Least and most bytes behind the first block that recalled."""
    first = next((index for index, row in enumerate(rows) if row["recalled"]), 0)
    later = [row["allocated"] for row in rows[first + 1 :] if "allocated" in row]
    return {"least": min(later), "most": max(later)} if later else {}
