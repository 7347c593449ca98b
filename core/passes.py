"""One pass of the model over a block behind its window: to denoise it, or to write its clean keys and values."""

from __future__ import annotations

import torch
from torch import Tensor

from worldattention.core.models.transformer import TimeEmbedding
from worldattention.core.models.world import WorldModel
from worldattention.core.spoken import Spoken
from worldattention.core.window_attention import WindowAttention


class Passes:
    """The model as an engine calls it. Has no state but embeddings of the few timesteps; forks share it."""

    def __init__(self, model: WorldModel) -> None:
        self._model = model
        self._times: dict[float, TimeEmbedding] = {}

    def predict(self, latents: Tensor, timestep: float, spoken: Spoken, attention: WindowAttention) -> Tensor:
        """The velocity at `timestep` (0..1000) of latents [1, F, C, h, w]."""
        transformer = self._model.transformer
        if timestep not in self._times:
            times = torch.tensor([[timestep]], device=self._model.device)
            self._times[timestep] = transformer.time_embedding(times)
        return transformer.predict(latents, self._times[timestep], spoken.keys_values, attention)

    def clean(self, attention: WindowAttention, latents: Tensor, spoken: Spoken) -> tuple[Tensor, Tensor]:
        """Clean, un-rotated keys and values [layers, L, H, D] of a finished block."""
        attention.start_clean()
        self.predict(latents, 0.0, spoken, attention)
        return attention.take_clean()
