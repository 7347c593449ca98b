"""What a page codec does to a recalled scene: the same world in every codec, each page read from DRAM."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worldattention.core.config import CODEC_NAMES, EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.evaluation.attention_samples import PROMPTS
from worldattention.core.hkv.page import PageData
from worldattention.core.models.world import WorldModel

RETURN_BLOCKS = 4
Scene = tuple[str, int]


def scenes(blocks: int) -> tuple[Scene, ...]:
    """A scene, another one, and the return to the first."""
    (first, _), (second, _), (back, _) = PROMPTS
    return (first, blocks), (second, blocks), (back, RETURN_BLOCKS)


def codec_effects(
    model: WorldModel,
    config: EngineConfig,
    played: Sequence[Scene],
    progress: Callable[[int, int], None] = lambda done, total: None,
    cancel: Callable[[], bool] = lambda: False,
) -> tuple[list[PageData], dict[str, dict[str, Any]]]:
    """Two of the pages that were recalled, as the model made them; and for each codec whether the last scene
    recalled the same pages as with `bf16`, and its frames' PSNR in dB (None: equal bit for bit).

    Raises:
        UserError: nothing was recalled.
        Cancelled: `cancel` said so.
    """
    total = len(CODEC_NAMES) * sum(blocks for _, blocks in played)
    done = 0

    def step_done() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    effects: dict[str, dict[str, Any]] = {}
    pages: list[PageData] = []
    reference: npt.NDArray[np.uint8] | None = None
    wanted: tuple[int, ...] = ()
    for name in CODEC_NAMES:
        cache = replace(config.cache, codec=name, device_quota_bytes=0)  # type: ignore[arg-type]
        with closing(Engine(model, replace(config, cache=cache))) as engine:
            frames, chosen = _play(engine, played, step_done, cancel)
            if reference is None:
                reference, wanted = frames, chosen
                pages = _copies(engine, chosen[:2])
        if not chosen:
            raise UserError("No page was recalled: measure with --retrieval hkv and more --scene-blocks.")
        effects[name] = {"same_pages": chosen == wanted, "psnr_db": psnr_db(reference, frames)}
    return pages, effects


def _play(
    engine: Engine, played: Sequence[Scene], step_done: Callable[[], None], cancel: Callable[[], bool]
) -> tuple[npt.NDArray[np.uint8], tuple[int, ...]]:
    """Frames of the last scene, and the pages that its first block recalled."""
    frames: list[npt.NDArray[np.uint8]] = []
    chosen: tuple[int, ...] = ()
    for scene, (prompt, blocks) in enumerate(played):
        for block in range(blocks):
            result = engine.step(prompt, cancel)
            step_done()
            if scene == len(played) - 1:
                frames.append(result.frames)
                if block == 0 and result.telemetry.recall is not None:
                    chosen = result.telemetry.recall.chosen
    return np.concatenate(frames), chosen


def _copies(engine: Engine, ids: Sequence[int]) -> list[PageData]:
    """Pages of the engine's bank, numbered from 0."""
    with engine.bank.recall(ids) as recall:
        return [
            PageData(replace(page.info, id=number), page.keys.clone(), page.values.clone())
            for number, page in enumerate(recall.pages.values())
        ]


def psnr_db(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> float | None:
    """Peak signal-to-noise ratio of uint8 pictures; None where they are equal."""
    error = float(np.mean((one.astype(np.float64) - other.astype(np.float64)) ** 2))
    return None if error == 0 else 10 * math.log10(255**2 / error)
