"""What a scene truly looks like, as far as the autoencoder can show it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from worldattention.core.evaluation.pictures import Frames
from worldattention.core.evaluation.recall_plan import SceneWords
from worldattention.core.geometry import FPS
from worldattention.core.models.vae import FRAMES, DecoderState, PocketAutoencoder, unstack_frames
from worldattention.core.pocket.render import Drawing, build, draw
from worldattention.core.pocket.scenes import Scene, sample_hidden

PART_FRAMES = 48


class TrueScenes:
    """Renders a prompted scene with hidden attributes drawn at random, and sends it through the autoencoder."""

    def __init__(self, autoencoder: PocketAutoencoder, device: torch.device | str) -> None:
        self._device = torch.device(device)
        self._autoencoder = autoencoder.to(self._device)

    def __call__(self, words: SceneWords, frames: int, seed: int) -> Frames:
        """[T, H, W, 3] uint8 of `frames` frames, rounded up to whole latents."""
        return np.concatenate(list(self.parts(words, frames, seed)))

    @torch.inference_mode()
    def parts(self, words: SceneWords, frames: int, seed: int) -> Iterator[Frames]:
        """The same, a few seconds at a time, so that minutes fit into memory; the decoder goes on between parts."""
        device = self._device
        generator = torch.Generator(device).manual_seed(seed)
        count = -(-frames // FRAMES) * FRAMES
        names = ("sex", "shirt", "action", "place", "time", "weather")
        scene = Scene(*(torch.tensor([[getattr(words, name)]], device=device) for name in names))
        hidden = sample_hidden(1, generator, device)
        which = torch.zeros(1, count, dtype=torch.long, device=device)
        start = 60 * torch.rand(1, 1, generator=generator, device=device)
        drawing = build(hidden, scene, which, start + torch.arange(count, device=device) / FPS)
        state: DecoderState = ()
        for first in range(0, count, PART_FRAMES):
            part = slice(first, min(first + PART_FRAMES, count))
            clip = draw(Drawing(drawing.canvases, drawing.primitives[:, part]), which[:, part])
            latents = self._autoencoder.encode(clip.float())[0].contiguous(memory_format=torch.channels_last)
            stacks, state = self._autoencoder.decoder(latents, len(latents), state)
            out = unstack_frames(stacks, 1)[0]
            yield (out * 255).clamp(0, 255).round().to(torch.uint8).cpu().numpy()
