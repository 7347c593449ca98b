"""A smaller attention window, for a device whose memory does not hold the whole one (CASES 5)."""

from __future__ import annotations

from dataclasses import replace

from worldattention.core.config import EngineConfig

SMALL_BUDGET_FRAMES = 16
"""Sink, one recalled page and five recent frames."""

SHRUNK = (
    "The device's memory ran out, so from here on this world remembers with a smaller attention window (one recalled "
    "page): close other programs, then start the program again for the whole one."
)
NARROWER = (
    "This moment was made with the whole attention window, for which the device has no memory now, so the world goes "
    "on approximately as before: close other programs, then start the program again."
)


def small_window(config: EngineConfig) -> EngineConfig:
    """The same with at most 16 latent frames and one recalled page in the window."""
    cache = config.cache
    budget, pages = min(SMALL_BUDGET_FRAMES, cache.budget_frames), min(1, cache.recalled_pages)
    return replace(config, cache=replace(cache, budget_frames=budget, recalled_pages=pages))
