"""Times of a tier's moves: the percentiles are those of the latest ones, whatever came before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from worldattention.core.hkv.times import Times


@given(st.lists(st.floats(0, 1e6) | st.sampled_from([0.0, 1.0]), max_size=40), st.integers(1, 12))
def test_percentiles_of_the_latest_times(times, kept):
    latest = Times(kept)
    assert latest.percentiles() is None
    for count, time in enumerate(times, 1):
        latest.append(time)
        window = np.array(times[:count][-kept:])
        expected = [round(float(np.quantile(window, share, method="lower")), 3) for share in (0.5, 0.99)]
        assert list(latest.percentiles()) == expected
