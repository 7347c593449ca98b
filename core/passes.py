"""One pass of the model over a block behind its window: to denoise it, or to write its clean keys and values."""

from __future__ import annotations

import torch
from torch import Tensor

from worldattention.core.cuda_graph import Recorder
from worldattention.core.graphs import CapturedPasses
from worldattention.core.models.transformer import CausalWanTransformer3DModel, TimeEmbedding
from worldattention.core.models.world import WorldModel
from worldattention.core.spoken import Spoken
from worldattention.core.window_attention import WindowAttention

KeysValues = tuple[Tensor, Tensor]


class Passes:
    """The model as an engine calls it. Has no state but embeddings of the few timesteps; forks share it.

    With a `recorder` (a CUDA graph's), passes over a full window are captured once and replayed.
    """

    def __init__(self, model: WorldModel, recorder: Recorder | None = None) -> None:
        self._model = model
        self._captured = None if recorder is None else CapturedPasses(model.transformer, recorder)
        self._times: dict[float, TimeEmbedding] = {}

    def make_room(self) -> None:
        """Gives back what only saves time: captured graphs (passes run one by one from now on), unused memory."""
        self._captured = None
        if self._model.device.type == "cuda":
            torch.cuda.empty_cache()

    def forget(self, keys: Tensor) -> None:
        """Frees what was captured over a window of these keys, whose memory is given back."""
        if self._captured is not None:
            self._captured.forget(keys.data_ptr())

    def predict(self, latents: Tensor, timestep: float, spoken: Spoken, attention: WindowAttention) -> Tensor:
        """The velocity at `timestep` (0..1000) of latents [1, F, C, h, w]."""
        transformer = self._model.transformer
        time = self._time(timestep)
        if self._captured is not None and attention.steady:
            return self._captured.predict(latents, time, spoken.keys_values, attention)
        return transformer.predict(latents, time, spoken.keys_values, attention)

    def query(
        self,
        latents: Tensor,
        timestep: float,
        spoken: Spoken,
        attention: WindowAttention,
        layers: tuple[int, ...],
    ) -> Tensor:
        """Mean un-rotated queries [S, H, D] fp32 of these layers; of a pass that ends there, if it may."""
        attention.start_query(layers)
        if self._must_be_whole(attention):
            self.predict(latents, timestep, spoken, attention)
        else:
            q, _, _ = self._projections(latents, timestep, spoken, attention, max(layers))
            attention.keep_query(q)
        return attention.take_query()

    def clean(self, attention: WindowAttention, latents: Tensor, spoken: Spoken) -> KeysValues:
        """Clean, un-rotated keys and values [layers, L, H, D] of a block; of a pass that ends there, if it may."""
        attention.start_clean()
        if self._must_be_whole(attention):
            self.predict(latents, 0.0, spoken, attention)
        else:
            _, k, v = self._projections(latents, 0.0, spoken, attention, self._model.layers - 1)
            attention.keep_clean(k, v)
        return attention.take_clean()

    def _must_be_whole(self, attention: WindowAttention) -> bool:
        """Where a pass is captured, or observed, or worlds in lockstep share it."""
        captured = self._captured is not None and attention.steady
        shared = not isinstance(self._model.transformer, CausalWanTransformer3DModel)
        return captured or attention.observed or shared

    def _projections(
        self, latents: Tensor, timestep: float, spoken: Spoken, attention: WindowAttention, layer: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        time, text = self._time(timestep), spoken.keys_values
        return self._model.transformer.projections(latents, time, text, attention, layer)

    def _time(self, timestep: float) -> TimeEmbedding:
        if timestep not in self._times:
            times = torch.tensor([[timestep]], device=self._model.device)
            self._times[timestep] = self._model.transformer.time_embedding(times)
        return self._times[timestep]
