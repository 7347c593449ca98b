"""Wan's autoencoder as a streaming decoder: a block of latents at once, the causal cache kept between blocks.

A world's first latent gives one frame, every later one four. diffusers' `decode` takes latents one by one and clears
its cache at both ends; here a block goes through in one pass (the first block in two), which gives the same numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.models.checkpoint import check_class, load_into, read_json, read_weights
from worldattention.core.models.vae import DecoderState

_NOTHING, _FIRST = 0, 1
"""Marks in a state: empty tensors of so many dimensions stand for no entry, and for diffusers' "Rep"."""


class WanAutoencoder(Protocol):
    """What is used of diffusers' `AutoencoderKLWan`."""

    config: Any
    decoder: Any
    post_quant_conv: Any
    _cached_conv_counts: dict[str, int]


class WanStreamingDecoder:
    """One world's decoder over shared weights. Equal to `AutoencoderKLWan.decode` of all latents at once."""

    reach_latents = 40  # a latent still changes the output 38 latents later

    def __init__(self, vae: WanAutoencoder, device: torch.device, dtype: torch.dtype) -> None:
        self._vae, self._device, self._dtype = vae, device, dtype
        statistics = torch.tensor([vae.config.latents_mean, vae.config.latents_std], device=device)
        self._mean, self._deviation = statistics.float()[:, :, None, None, None]
        self._started = False
        self._cache: list[Any] = []
        self.reset()

    @torch.inference_mode()
    def decode_block(self, latents: Tensor) -> Tensor:
        """Normalised latents [F, C, h, w] -> frames [N, 8h, 8w, 3] uint8 on the CPU; N = 4F, or 4F - 3 at first."""
        normalised = latents.to(self._device, torch.float32).transpose(0, 1)
        z = (normalised * self._deviation + self._mean)[None].to(self._dtype)
        z = self._vae.post_quant_conv(z)
        parts = [z] if self._started else [z[:, :, :1], z[:, :, 1:]]
        pictures = torch.cat([self._decode(part) for part in parts if part.shape[2]], dim=2)[0]
        frames = (pictures.float().clamp(-1, 1) * 127.5 + 127.5).round().to(torch.uint8)
        return frames.permute(1, 2, 3, 0).contiguous().cpu()

    def _decode(self, z: Tensor) -> Tensor:
        first, self._started = not self._started, True
        out: Tensor = self._vae.decoder(z, feat_cache=self._cache, feat_idx=[0], first_chunk=first)
        return out

    def reset(self) -> None:
        """The next block is a world's first."""
        self._started = False
        self._cache = [None] * self._vae._cached_conv_counts["decoder"]

    def state(self) -> DecoderState:
        """The causal cache; empty at the start of a world."""
        if not self._started:
            return ()
        marks = {None: _NOTHING, "Rep": _FIRST}
        return tuple(
            kept.clone() if isinstance(kept, Tensor) else torch.empty((0,) * (1 + marks[kept]))
            for kept in self._cache
        )

    def set_state(self, state: DecoderState) -> None:
        """Go on from a `state()` taken earlier."""
        self.reset()
        if state:
            self._started = True
            self._cache = [self._restored(kept) for kept in state]

    def _restored(self, kept: Tensor) -> Any:
        if kept.numel():
            return kept.to(self._device, self._dtype).clone()
        return "Rep" if kept.ndim == 1 + _FIRST else None


def load_wan_autoencoder(folder: Path, device: torch.device, dtype: torch.dtype) -> WanAutoencoder:
    """The autoencoder of a diffusers folder. Raises UserError when it is broken or another one."""
    # Imported here, since only a model folder needs it.
    from diffusers import AutoencoderKLWan

    settings = read_json(folder / "config.json")
    check_class(folder, settings, "AutoencoderKLWan")
    try:
        with torch.device("meta"):
            vae = AutoencoderKLWan.from_config(settings)
    except (TypeError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:120]
        raise UserError(
            f"{folder / 'config.json'} describes no Wan autoencoder ({why}): use its own."
        ) from None
    if vae.config.is_residual or vae.config.patch_size is not None:
        raise UserError(f"The autoencoder in {folder} is Wan2.2's: this program runs that of Wan2.1.")
    load_into(vae, {name: tensor.to(dtype) for name, tensor in read_weights(folder).items()}, "autoencoder")
    vae.to(device).eval().requires_grad_(False)
    if device.type == "cuda":
        vae.decoder.to(memory_format=torch.channels_last_3d)
    return vae
