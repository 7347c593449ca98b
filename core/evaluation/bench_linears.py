"""Worlds with fp8 linear layers against worlds without: how far the pictures part, and the time of a block."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.evaluation.timing import surroundings
from worldattention.core.models.fp8 import with_fp8_linears
from worldattention.core.models.world import WorldModel

PROMPT = "A man in a red shirt throws and catches a red ball in a village street on a bright day."


def benchmark_linears(
    model: WorldModel,
    config: EngineConfig,
    blocks: int,
    progress: Callable[[int, int, str], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Step two worlds of one seed in turns, one of them with fp8 linear layers.

    Returns:
        `psnr_db` a block between their pictures (None where they are equal), and `ms` and `fp8_ms`, medians of a block.

    Raises:
        Cancelled: `cancel` said so.
    """
    plain, coarse = Engine(model, config), Engine(with_fp8_linears(model), config)
    distances: list[float | None] = []
    times: tuple[list[float], list[float]] = ([], [])
    try:
        for block in range(blocks):
            if progress is not None:
                progress(block, blocks, "")
            results = [engine.step(PROMPT, cancel) for engine in (plain, coarse)]
            distances.append(psnr(results[0].frames, results[1].frames))
            for column, result in zip(times, results, strict=True):
                column.append(result.telemetry.stage_ms["total"])
    finally:
        plain.close()
        coarse.close()
    return {
        **surroundings(model.device),
        "model": model.name,
        "dtype": str(model.dtype).removeprefix("torch."),
        "blocks": blocks,
        "psnr_db": distances,
        "ms": statistics.median(times[0]),
        "fp8_ms": statistics.median(times[1]),
    }


def psnr(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> float | None:
    """Peak signal to noise ratio in decibels; None for equal pictures."""
    error = float(np.square(one.astype(np.float64) - other.astype(np.float64)).mean())
    return None if error == 0 else 10 * math.log10(255.0**2 / error)
