"""Does the prompt box know what it knows? Similarity of prompts of the pocket world and of others.

The threshold is chosen on every second prompt, the rates are those of the others.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from worldattention.core.evaluation.understanding_prompts import FREE_PARAPHRASES, OTHER_WORLDS
from worldattention.core.models.text import TextEncoder
from worldattention.core.pocket.grammar import prompt_table
from worldattention.core.pocket.prompts import SIMILARITY_KNOWN, understand


@dataclass(frozen=True, slots=True)
class UnderstandingReport:
    """Shares of prompts on the right side: `grammar` and `free` above the threshold, `other` below it.

    `best_threshold` lies in the middle of those that tell most prompts of the first half apart; `area` is the
    area under the ROC curve over all prompts; the rates with `threshold`, the one in use, are of the second half.
    """

    threshold: float
    best_threshold: float
    area: float
    grammar: float
    free: float
    other: float
    prompts: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """The form of `eval --json`."""
        return asdict(self)

    def to_markdown(self) -> str:
        """A table for people."""
        rows = (
            ("grammar", self.grammar, "known"),
            ("free paraphrases", self.free, "known"),
            ("other worlds", self.other, "not known"),
        )
        lines = [
            f"Prompts told apart by similarity {self.threshold:.2f} (the best of the first half: "
            f"{self.best_threshold:.2f}); area under the ROC curve {self.area:.3f}",
            "",
            "| prompts | share that is | of the second half of |",
            "|---|---|---|",
        ]
        counts = self.prompts.values()
        lines += [
            f"| {name} | {share:.3f} {which} | {count} |"
            for (name, share, which), count in zip(rows, counts, strict=True)
        ]
        return "\n".join(lines)


def measure_understanding(encoder: TextEncoder, count: int = 200, seed: int = 0) -> UnderstandingReport:
    """Similarities of `count` prompts of the grammar, of freer paraphrases, and of prompts of other worlds."""
    chosen = random.Random(seed).sample(prompt_table(), count)
    grammar, free, other = (
        _similarities(encoder, texts) for texts in (chosen, FREE_PARAPHRASES, OTHER_WORLDS)
    )
    inside = np.concatenate([grammar, free])
    later = [values[1::2] for values in (grammar, free, other)]
    return UnderstandingReport(
        threshold=SIMILARITY_KNOWN,
        best_threshold=best_threshold(np.concatenate([grammar[::2], free[::2]]), other[::2]),
        area=roc_area(inside, other),
        grammar=float((later[0] >= SIMILARITY_KNOWN).mean()),
        free=float((later[1] >= SIMILARITY_KNOWN).mean()),
        other=float((later[2] < SIMILARITY_KNOWN).mean()),
        prompts={"grammar": len(grammar), "free": len(free), "other": len(other)},
    )


def roc_area(inside: Sequence[float] | np.ndarray, outside: Sequence[float] | np.ndarray) -> float:
    """The chance that a value from `inside` is above one from `outside`, ties counted half."""
    a, b = np.asarray(inside, np.float64)[:, None], np.asarray(outside, np.float64)[None]
    return float((a > b).mean() + 0.5 * (a == b).mean())


def best_threshold(inside: Sequence[float] | np.ndarray, outside: Sequence[float] | np.ndarray) -> float:
    """Where the shares of `inside` at or above and of `outside` below it are largest together (Youden's J).

    In the middle of the gap between two values, of equal gaps the lowest.
    """
    a, b = np.asarray(inside, np.float64), np.asarray(outside, np.float64)
    values = np.unique(np.concatenate([a, b]))
    middles = (values[1:] + values[:-1]) / 2
    gains = [(a >= middle).mean() + (b < middle).mean() for middle in middles]
    return float(middles[int(np.argmax(gains))])


def _similarities(encoder: TextEncoder, texts: Sequence[str]) -> np.ndarray:
    return np.array([understand(text, encoder).similarity or 0.0 for text in texts])
