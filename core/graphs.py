"""Passes that are captured once and replayed: one CUDA graph a kind of pass over the full window.

Inputs are copied into the memory that the graph reads, and what it leaves is copied out. Keys and values of the
window are read and written where they lie; pooled and coarse rows, which each block makes anew, are copied once a
block. The logic is tested on a CPU with a recorder that repeats the pass, the graphs by `pytest -m gpu`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from worldattention.core.cuda_graph import Recorder
from worldattention.core.models.transformer import CausalWanTransformer3DModel, TextKeysValues, TimeEmbedding
from worldattention.core.window_attention import KeptOfPass, WindowAttention


class PassResult(NamedTuple):
    """Memory that a captured pass writes."""

    velocity: Tensor
    kept: KeptOfPass


class CapturedPasses:
    """The passes over one window; another window's take their place."""

    def __init__(self, transformer: CausalWanTransformer3DModel, recorder: Recorder) -> None:
        self._transformer, self._recorder = transformer, recorder
        self._place: tuple[int, int] | None = None
        self._passes: dict[Any, _Captured] = {}

    def forget(self, address: int) -> None:
        """Frees the passes over a window whose keys lie at `address`."""
        if self._place is not None and self._place[0] == address:
            self._place, self._passes = None, {}

    def predict(
        self, latents: Tensor, time: TimeEmbedding, text: TextKeysValues, attention: WindowAttention
    ) -> Tensor:
        """As `CausalWanTransformer3DModel.predict`."""
        if attention.place != self._place:
            self._place, self._passes = attention.place, {}
        kind = (attention.captures, attention.config, latents.shape, text[0][0].shape)
        if kind not in self._passes:
            self._passes[kind] = _Captured(self._transformer, self._recorder, latents, time, text, attention)
        return self._passes[kind](latents, time, text, attention)


class _Captured:
    """One kind of pass."""

    def __init__(
        self,
        transformer: CausalWanTransformer3DModel,
        recorder: Recorder,
        latents: Tensor,
        time: TimeEmbedding,
        text: TextKeysValues,
        attention: WindowAttention,
    ) -> None:
        self._transformer = transformer
        self._latents = latents.clone()
        self._time = TimeEmbedding(time.blocks.clone(), time.head.clone())
        self._text = [(k.clone(), v.clone()) for k, v in text]
        self._attention, self._captures = attention.twin(), attention.captures
        self._bound: WindowAttention | None = attention
        self._spoken: TextKeysValues = text
        self._result, self._replay = recorder(self._run)

    def _run(self) -> PassResult:
        self._attention.begin(*self._captures)
        velocity = self._transformer.predict(self._latents, self._time, self._text, self._attention)
        return PassResult(velocity, self._attention.kept())

    def __call__(
        self, latents: Tensor, time: TimeEmbedding, text: TextKeysValues, attention: WindowAttention
    ) -> Tensor:
        self._latents.copy_(latents)
        self._time.blocks.copy_(time.blocks)
        self._time.head.copy_(time.head)
        if text is not self._spoken:
            for mine, theirs in zip(self._text, text, strict=True):
                mine[0].copy_(theirs[0])
                mine[1].copy_(theirs[1])
            self._spoken = text
        if attention is not self._bound:
            self._attention.adopt(attention)
            self._bound = attention
        self._replay()
        attention.accept(self._result.kept)
        return self._result.velocity.clone()
