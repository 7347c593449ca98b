"""What a scene truly looks like, as far as the autoencoder can show it."""

from __future__ import annotations

import torch

from worldattention.core.evaluation.pictures import Frames
from worldattention.core.evaluation.recall_plan import SceneWords
from worldattention.core.geometry import FPS
from worldattention.core.models.vae import FRAMES, PocketAutoencoder
from worldattention.core.pocket.render import build, draw
from worldattention.core.pocket.scenes import Scene, sample_hidden


class TrueScenes:
    """Renders a prompted scene with hidden attributes drawn at random, and sends it through the autoencoder."""

    def __init__(self, autoencoder: PocketAutoencoder, device: torch.device | str) -> None:
        self._device = torch.device(device)
        self._autoencoder = autoencoder.to(self._device)

    @torch.inference_mode()
    def __call__(self, words: SceneWords, frames: int, seed: int) -> Frames:
        """[T, H, W, 3] uint8 of `frames` frames, rounded up to whole latents."""
        device = self._device
        generator = torch.Generator(device).manual_seed(seed)
        count = -(-frames // FRAMES) * FRAMES
        names = ("sex", "shirt", "action", "place", "time", "weather")
        scene = Scene(*(torch.tensor([[getattr(words, name)]], device=device) for name in names))
        hidden = sample_hidden(1, generator, device)
        which = torch.zeros(1, count, dtype=torch.long, device=device)
        start = 60 * torch.rand(1, 1, generator=generator, device=device)
        clip = draw(build(hidden, scene, which, start + torch.arange(count, device=device) / FPS), which)
        out = self._autoencoder.decode(self._autoencoder.encode(clip.float()))[0]
        return (out * 255).clamp(0, 255).round().to(torch.uint8).cpu().numpy()
