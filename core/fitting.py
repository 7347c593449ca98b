"""An engine whose window fits the device: a smaller one is tried once before giving up."""

from __future__ import annotations

from dataclasses import replace

from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.memory import kv_shape
from worldattention.core.models.world import WorldModel
from worldattention.core.out_of_memory import is_out_of_memory
from worldattention.core.units import format_bytes

SMALL_BUDGET_FRAMES = 16
"""Sink, one recalled page and five recent frames."""
RING_EXTRA_FRAMES = 8


def fitting_engine(model: WorldModel, config: EngineConfig) -> Engine:
    """An engine with the window asked for, or one of 16 latent frames and a notice.

    Raises:
        UserError: not even that fits; names the bytes.
    """
    engine = _try(model, config)
    if engine is not None:
        return engine
    cache = config.cache
    small = replace(
        config,
        cache=replace(cache, budget_frames=min(SMALL_BUDGET_FRAMES, cache.budget_frames), recalled_pages=1),
    )
    engine = _try(model, small)
    needs = [format_bytes(window_bytes(model, each)) for each in (config, small)]
    if engine is None:
        raise UserError(
            f"The device {model.device} has no room for the attention window: it needs {needs[0]}, and {needs[1]} "
            "with half of it; close other programs, choose --device cpu or a smaller picture."
        )
    engine.notice = (
        f"The device has no room for the whole attention window ({needs[0]}), so this world remembers with a smaller "
        f"one ({needs[1]}, one recalled page); close other programs and restart the world for the whole one."
    )
    return engine


def warm_up(model: WorldModel, config: EngineConfig) -> None:
    """Compiles what a GPU compiles on its first block, in a small world that is thrown away.

    So the first block of the real one does not seem to hang. Not yet run on a GPU.
    """
    cache = replace(
        config.cache,
        budget_frames=min(SMALL_BUDGET_FRAMES, config.cache.budget_frames),
        recalled_pages=1,
        device_quota_bytes=0,
        dram_quota_bytes=0,
        disk_quota_bytes=0,
    )
    engine = Engine(model, replace(config, cache=cache, graphs=False))
    try:
        engine.step("Warm-up.")
    finally:
        engine.close()


def window_bytes(model: WorldModel, config: EngineConfig) -> int:
    """Bytes of the window and of the ring of recent frames."""
    cache = config.cache
    slots = cache.budget_frames + model.geometry.block_latents
    ring = cache.budget_frames + RING_EXTRA_FRAMES + cache.sink_frames
    return (slots + ring) * kv_shape(model).frame_bytes()


def _try(model: WorldModel, config: EngineConfig) -> Engine | None:
    """None when the device's memory does not hold it."""
    try:
        return Engine(model, config)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None  # what was allocated is free again once the exception is gone
