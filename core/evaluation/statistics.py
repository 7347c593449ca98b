"""Shares with intervals: the bootstrap over episodes, since attributes of one episode are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Hits:
    """One episode: `right` of `asked` attributes agreed."""

    right: int
    asked: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share (or a difference of shares) with its 95 % interval, over `n` episodes."""

    accuracy: float
    low: float
    high: float
    n: int

    def to_json(self) -> dict[str, Any]:
        """The form of `eval --json`."""
        return asdict(self)


def estimate_share(episodes: Sequence[Hits], seed: int = 0) -> Estimate:
    """Right over asked in all episodes, with the percentile bootstrap over whole episodes.

    Where every episode has the same share the bootstrap is a point, which claims too much; the interval is then
    Wilson's, with the episodes as the trials, so that it stays honest for few episodes.

    Raises:
        ValueError: nothing was asked.
    """
    counts = _counts(episodes)
    total = counts.sum(axis=0)
    drawn = _resample(counts, seed)
    shares = drawn[:, 0] / drawn[:, 1]
    low, high = np.quantile(shares, [0.025, 0.975])
    share = float(total[0] / total[1])
    if low == high:
        low, high = wilson_interval(share, len(episodes))
    return Estimate(share, float(low), float(high), len(episodes))


def estimate_difference(first: Sequence[Hits], second: Sequence[Hits], seed: int = 0) -> Estimate:
    """Share of `first` minus share of `second`, paired by episode: both are resampled together.

    Raises:
        ValueError: the lists differ in length, or nothing was asked.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} episodes cannot be paired")
    counts = np.concatenate([_counts(first), _counts(second)], axis=1)
    total = counts.sum(axis=0)
    drawn = _resample(counts, seed)
    differences = drawn[:, 0] / drawn[:, 1] - drawn[:, 2] / drawn[:, 3]
    low, high = np.quantile(differences, [0.025, 0.975])
    difference = total[0] / total[1] - total[2] / total[3]
    return Estimate(float(difference), float(low), float(high), len(first))


def estimate_ratio(above: Sequence[float], below: Sequence[float], seed: int = 0) -> Estimate:
    """Sum of `above` over sum of `below`, paired by episode: both are resampled together.

    Raises:
        ValueError: the lists differ in length or are empty, or a value of `below` is not above 0.
    """
    if len(above) != len(below) or not above or min(below) <= 0:
        raise ValueError("a ratio needs as many values above as below, and those below above 0")
    values = np.array([above, below], np.float64).T
    drawn = _resample(values, seed)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    total = values.sum(axis=0)
    return Estimate(float(total[0] / total[1]), float(low), float(high), len(above))


def estimate_mean(values: Sequence[float], seed: int = 0) -> Estimate:
    """Mean over episodes. Raises ValueError when there are none."""
    return estimate_ratio(values, [1.0] * len(values), seed)


def wilson_interval(share: float, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's score interval of a share seen in `n` trials; z is the normal quantile (95 %)."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _counts(episodes: Sequence[Hits]) -> npt.NDArray[np.float64]:
    asked = [episode.asked for episode in episodes]
    if not asked or min(asked) < 1:
        raise ValueError("every episode must ask for at least one attribute, and there must be one")
    return np.array([[episode.right, episode.asked] for episode in episodes], np.float64)


def _resample(counts: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Sums [RESAMPLES, columns] over episodes drawn with replacement."""
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), RESAMPLES)
    return np.asarray(weights @ counts, np.float64)
