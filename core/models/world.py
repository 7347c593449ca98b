"""A loaded world model: everything an engine runs, and nothing of its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from worldattention.core.config import EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.geometry import Geometry
from worldattention.core.hsa import HSAParameters
from worldattention.core.models.text import TextEncoder
from worldattention.core.models.transformer import CausalWanTransformer3DModel
from worldattention.core.models.vae import StreamingDecoder
from worldattention.core.sampler import Beginning


@dataclass(frozen=True, slots=True)
class WorldModel:
    """Networks on one device. `new_decoder` makes a decoder with a state of its own; `hsa` has one entry a layer.

    `fingerprint` names weights and geometry: pages of another fingerprint are never used.
    `beginning`: the noise that its blocks begin with.
    """

    name: str
    fingerprint: str
    geometry: Geometry
    transformer: CausalWanTransformer3DModel
    hsa: tuple[HSAParameters | None, ...]
    text_encoder: TextEncoder
    new_decoder: Callable[[], StreamingDecoder]
    device: torch.device
    dtype: torch.dtype
    beginning: Beginning = field(default_factory=Beginning)

    @property
    def layers(self) -> int:
        """Transformer blocks."""
        return len(self.transformer.blocks)

    @property
    def heads(self) -> int:
        """Attention heads of a layer."""
        return int(self.transformer.config.num_attention_heads)

    @property
    def head_dim(self) -> int:
        """Channels of a head."""
        return int(self.transformer.config.attention_head_dim)


def check_modes(model: WorldModel, config: EngineConfig) -> None:
    """Raises UserError for `hsa` or `linear` on a model without HSA parameters."""
    if config.attention.mode in ("hsa", "linear") and any(layer is None for layer in model.hsa):
        raise UserError(
            f"The model '{model.name}' has no HSA parameters, so attention '{config.attention.mode}' cannot run: "
            "choose --attention dense or sparse."
        )
