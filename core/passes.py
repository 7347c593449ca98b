"""One pass of the model over a block behind its window: to denoise it, or to write its clean keys and values."""

from __future__ import annotations

import torch
from torch import Tensor

from worldattention.core.cuda_graph import Recorder
from worldattention.core.graphs import CapturedPasses
from worldattention.core.models.transformer import TimeEmbedding
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
        if timestep not in self._times:
            times = torch.tensor([[timestep]], device=self._model.device)
            self._times[timestep] = transformer.time_embedding(times)
        time = self._times[timestep]
        if self._captured is not None and attention.steady:
            return self._captured.predict(latents, time, spoken.keys_values, attention)
        return transformer.predict(latents, time, spoken.keys_values, attention)

    def clean(self, attention: WindowAttention, latents: Tensor, spoken: Spoken) -> KeysValues:
        """Clean, un-rotated keys and values [layers, L, H, D] of a finished block."""
        attention.start_clean()
        self.predict(latents, 0.0, spoken, attention)
        return attention.take_clean()
