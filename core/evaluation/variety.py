"""How varied made worlds are: a model that draws one fixed house would pass for one that remembers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from worldattention.core.pocket.truth import ATTRIBUTES

_CLASSES = {attribute.name: attribute.classes for attribute in ATTRIBUTES}


def variety(readings: Sequence[Mapping[str, int]], classes: Mapping[str, int] = _CLASSES) -> float:
    """Entropy of read attributes over the entropy that as many draws of the renderer show on average.

    The renderer draws every value alike. The mean over attributes, weighted by how often each was read; an
    attribute that was read once says nothing. 1.0 where nothing can be said.
    """
    total, weight = 0.0, 0
    for name in dict.fromkeys(name for reading in readings for name in reading):
        values = [reading[name] for reading in readings if name in reading]
        if len(values) > 1:
            share = entropy(values) / expected_entropy(len(values), classes.get(name, len(values)))
            total, weight = total + len(values) * share, weight + len(values)
    return total / weight if weight else 1.0


def entropy(values: Sequence[int]) -> float:
    """Of the values' relative frequencies, in nats."""
    counts = Counter(values).values()
    return -sum(count / len(values) * math.log(count / len(values)) for count in counts)


def expected_entropy(draws: int, classes: int) -> float:
    """Mean entropy of the frequencies of `draws` uniform draws from `classes`: few draws look less varied."""
    p = 1 / classes
    mean = sum(
        math.comb(draws, c) * p**c * (1 - p) ** (draws - c) * c * math.log(c) for c in range(2, draws + 1)
    )
    return math.log(draws) - classes * mean / draws
