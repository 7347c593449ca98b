"""An engine whose window fits the device: a smaller one is tried once before giving up."""

from __future__ import annotations

from collections.abc import Callable

from worldattention.core.config import SINK_FRAMES, EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.hkv.codec import CODECS, try_codec
from worldattention.core.memory import kv_shape
from worldattention.core.models.world import WorldModel
from worldattention.core.out_of_memory import is_out_of_memory, with_less
from worldattention.core.small_window import SHRUNK, small_window
from worldattention.core.units import format_bytes

RING_EXTRA_FRAMES = 8
WARM_UP_PROMPTS = ("A scene.", "Another scene.")


def fitting_engine(model: WorldModel, config: EngineConfig) -> Engine:
    """An engine with the window asked for, or one of 16 latent frames and a notice.

    Raises:
        UserError: not even that fits; names the bytes.
    """
    engine = _try(model, config)
    if engine is not None:
        return engine
    small = small_window(config)
    engine = _try(model, small)
    needs = [format_bytes(window_bytes(model, each)) for each in (config, small)]
    if engine is None:
        raise UserError(
            f"The device {model.device} has no room for the attention window: it needs {needs[0]}, and {needs[1]} "
            "with half of it; close other programs, choose --device cpu or a smaller picture."
        )
    engine.small = True
    engine.notice = (
        f"The device has no room for the whole attention window ({needs[0]}), so this world remembers with a smaller "
        f"one ({needs[1]}, one recalled page); close other programs, then start the program again for the whole one."
    )
    return engine


def warm_up(engine: Engine, show: Callable[[float], None] = lambda share: None) -> None:
    """Compiles and captures what a GPU does in a world's first blocks, in one that the engine then forgets.

    The window is filled, a block more is made, and one that recalls: no later block does anything for the first time.
    `show` takes the share that is done.
    """
    notice, sizes = engine.notice, engine.geometry
    blocks = -(-engine.config.cache.budget_frames // sizes.block_latents) + 1
    for block in range(blocks + 1):
        prompt = WARM_UP_PROMPTS[block == blocks]
        with_less(lambda prompt=prompt: engine.step(prompt), engine.make_room, engine.shrink)  # type: ignore[misc]
        show((block + 1) / (blocks + 1))
    cache = engine.config.cache
    try_codec(CODECS[cache.codec], kv_shape(engine.model), cache.page_frames, engine.model.device)
    engine.reset()
    engine.epoch, engine.notice = 0, notice or (SHRUNK if engine.small else "")


def window_bytes(model: WorldModel, config: EngineConfig) -> int:
    """Bytes of the window and of the ring of recent frames."""
    cache = config.cache
    slots = cache.budget_frames + model.geometry.block_latents
    ring = cache.budget_frames + RING_EXTRA_FRAMES + SINK_FRAMES
    return (slots + ring) * kv_shape(model).frame_bytes()


def _try(model: WorldModel, config: EngineConfig) -> Engine | None:
    """None when the device's memory does not hold it."""
    try:
        return Engine(model, config)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None  # what was allocated is free again once the exception is gone
