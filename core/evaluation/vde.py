"""Video Drift Error (BlockVid / LV-Bench; used by InterVBench): how far a metric leaves where it began."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

CHUNKS = 10


def video_drift_error(metrics: Sequence[float]) -> float:
    """VDE = sum over i = 2..N of (N - i + 1) |m_i - m_1| / m_1, for the metric m_i of chunk i; lower is better.

    Raises:
        ValueError: fewer than two chunks, a value that is not finite, or m_1 not above 0.
    """
    values = np.asarray(metrics, np.float64)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or values[0] <= 0:
        raise ValueError("drift needs two or more finite values, the first above 0")
    weights = np.arange(len(values) - 1, 0, -1)  # N - i + 1 for i = 2..N
    return float(weights @ np.abs(values[1:] - values[0]) / values[0])


def video_metrics(
    frames: npt.NDArray[np.uint8], metric: Callable[[npt.NDArray[np.uint8]], float], chunks: int = CHUNKS
) -> list[float]:
    """The metric of each of `chunks` equal parts of frames [T, H, W, 3]; a rest at the end is left out.

    Raises:
        ValueError: there are fewer frames than chunks.
    """
    length = len(frames) // chunks
    if length < 1:
        raise ValueError(f"{len(frames)} frames do not make {chunks} chunks")
    return [metric(frames[start : start + length]) for start in range(0, chunks * length, length)]
