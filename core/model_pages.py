"""How large the pages of a model are, before it is loaded: quotas have to hold some of them."""

from __future__ import annotations

import torch

from worldattention.core.errors import UserError
from worldattention.core.hkv.page import KVShape
from worldattention.core.loading import pick_dtype
from worldattention.core.model_folder import geometry_of, model_folder
from worldattention.core.models.weight_files import read_json


def page_bytes_of(model: str, device: torch.device, page_frames: int) -> int:
    """Bytes of a whole page; 0 where the model's files do not say it, which loading the model will report."""
    try:
        folder = model_folder(model)
        settings = read_json(folder / "transformer" / "config.json")
        sizes = geometry_of(folder)
        layers, heads, channels = (
            int(settings[name]) for name in ("num_layers", "num_attention_heads", "attention_head_dim")
        )
    except (UserError, KeyError, TypeError, ValueError):
        return 0
    shape = KVShape(layers, sizes.frame_tokens, heads, channels, pick_dtype(device))
    return max(0, page_frames * shape.frame_bytes())
