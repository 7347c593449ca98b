"""Shares, intervals and drift, against independent computations and simulated truth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.evaluation.statistics import (
    Hits,
    estimate_difference,
    estimate_share,
    wilson_interval,
)
from worldattention.core.evaluation.vde import video_drift_error, video_metrics

hits = st.integers(1, 9).flatmap(lambda asked: st.builds(Hits, st.integers(0, asked), st.just(asked)))


@settings(max_examples=15, deadline=None)
@given(st.lists(hits, min_size=1, max_size=12), st.integers(0, 99))
def test_share_is_the_ratio_of_sums_and_lies_in_its_interval(episodes, seed):
    estimate = estimate_share(episodes, seed)
    assert estimate.accuracy == pytest.approx(sum(e.right for e in episodes) / sum(e.asked for e in episodes))
    assert 0 <= estimate.low <= estimate.accuracy + 1e-9
    assert estimate.accuracy - 1e-9 <= estimate.high <= 1
    assert estimate.n == len(episodes)
    assert estimate_share(episodes, seed) == estimate


def test_interval_matches_a_plain_bootstrap():
    rng = np.random.default_rng(5)
    episodes = [Hits(int(right), 7) for right in rng.integers(1, 8, 20)]
    means = []
    for _ in range(20_000):
        drawn = [episodes[index] for index in rng.integers(0, 20, 20)]
        means.append(sum(e.right for e in drawn) / sum(e.asked for e in drawn))
    low, high = np.quantile(means, [0.025, 0.975])
    estimate = estimate_share(episodes)
    assert estimate.low == pytest.approx(low, abs=0.012)
    assert estimate.high == pytest.approx(high, abs=0.012)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    """Attributes of an episode hang together (beta-binomial): treating them as independent would fail here."""
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(100):
        chances = rng.beta(1.4, 0.6, 32)  # mean 0.7, wide
        episodes = [Hits(int(rng.binomial(7, chance)), 7) for chance in chances]
        estimate = estimate_share(episodes, trial)
        covered += estimate.low <= 0.7 <= estimate.high
    assert 0.86 <= covered / 100 <= 0.99


def test_unanimous_episodes_do_not_claim_certainty():
    estimate = estimate_share([Hits(7, 7)] * 4)
    assert estimate.accuracy == 1
    assert estimate.high == pytest.approx(1)
    assert 0.4 < estimate.low < 0.6
    assert estimate_share([Hits(1, 2)]).low < 0.5 < estimate_share([Hits(1, 2)]).high


def test_wilson_against_its_definition():
    """Its ends solve |share - p| = z sqrt(p (1 - p) / n)."""
    z = 1.959963984540054
    for share, n in [(0.3, 10), (0.0, 5), (1.0, 17), (0.5, 200)]:
        for end in wilson_interval(share, n):
            assert abs(share - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-9)


def test_paired_difference_uses_the_pairing():
    rng = np.random.default_rng(3)
    base = rng.integers(0, 6, 24)
    first = [Hits(int(right) + 1, 7) for right in base]
    second = [Hits(int(right), 7) for right in base]
    estimate = estimate_difference(first, second)
    assert estimate.accuracy == pytest.approx(1 / 7)
    assert estimate.low == pytest.approx(1 / 7)  # each episode differs by the same: no doubt is left
    assert estimate.high == pytest.approx(1 / 7)
    shuffled = [second[index] for index in rng.permutation(24)]
    loose = estimate_difference(first, shuffled)
    assert loose.low < 1 / 7 < loose.high


@pytest.mark.parametrize("episodes", [[], [Hits(0, 0)], [Hits(1, 2), Hits(0, 0)]])
def test_nothing_asked_is_an_error(episodes):
    with pytest.raises(ValueError, match="at least one"):
        estimate_share(episodes)
    with pytest.raises(ValueError, match="paired"):
        estimate_difference([Hits(1, 1)], [])


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=15))
def test_drift_is_the_weighted_sum(metrics):
    n = len(metrics)
    expected = 0.0
    for i in range(2, n + 1):
        expected += (n - i + 1) * abs(metrics[i - 1] - metrics[0]) / metrics[0]
    assert video_drift_error(metrics) == pytest.approx(expected)


def test_drift_of_a_steady_video_is_nothing_and_early_drift_weighs_more():
    assert video_drift_error([2.0] * 10) == 0
    early = video_drift_error([1, 2, 1, 1, 1, 1, 1, 1, 1, 1])
    late = video_drift_error([1, 1, 1, 1, 1, 1, 1, 1, 1, 2])
    assert (early, late) == (9, 1)


@pytest.mark.parametrize("metrics", [[], [1.0], [0.0, 1.0], [-1.0, 1.0], [1.0, math.nan], [math.inf, 1.0]])
def test_drift_of_nonsense_is_an_error(metrics):
    with pytest.raises(ValueError, match="drift needs"):
        video_drift_error(metrics)


def test_chunks_are_equal_and_in_order():
    frames = np.arange(47, dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 3), np.uint8)
    means = video_metrics(frames, lambda chunk: float(chunk.mean()))
    assert means == [1.5 + 4 * index for index in range(10)]
    with pytest.raises(ValueError, match="chunks"):
        video_metrics(frames[:9], lambda chunk: 0.0)
