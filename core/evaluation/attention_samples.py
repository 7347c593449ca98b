"""What a model really attends with: queries and windows taken from a world that has just recalled pages."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.evaluation.bench_attention import AttentionSample
from worldattention.core.hsa import AttentionWindow, HSAParameters

PROMPTS = (
    ("A man in a red shirt throws and catches a red ball in a village street on a bright day.", 14),
    ("A woman in a yellow shirt flies a kite on the beach at sunset.", 14),
    ("A man with a red top plays with a red ball in a small village in daylight.", 1),
)
"""A scene, another one elsewhere, and the first block of the return, with blocks for each."""


def samples_of(
    engine: Engine,
    prompts: tuple[tuple[str, int], ...],
    progress: Callable[[int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> list[AttentionSample]:
    """One sample a layer, of the last pass of the last block. The engine is reset first.

    Raises:
        UserError: the last block recalled no page, so that there is nothing to measure.
        Cancelled: `cancel` said so.
    """
    samples: dict[int, AttentionSample] = {}

    def observe(layer: int, q: Tensor, window: AttentionWindow, parameters: HSAParameters | None) -> None:
        samples[layer] = AttentionSample(q, window, parameters)

    total, done = sum(blocks for _, blocks in prompts), 0
    engine.reset()
    for prompt, blocks in prompts:
        for _ in range(blocks):
            done += 1
            engine.attention_observer = observe if done == total else None
            result = engine.step(prompt, cancel)
            if progress is not None:
                progress(done, total)
    engine.attention_observer = None
    if not any(span.kind == "page" for span in result.telemetry.window):
        raise UserError("No page was recalled: measure with --retrieval hkv.")
    return [samples[layer] for layer in sorted(samples)]
