"""The stage of the reader of ground truth: on renders, and on renders through the autoencoder."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from worldattention.core.geometry import FPS
from worldattention.core.models.vae import PocketAutoencoder
from worldattention.core.pocket.reader import Reader, reader_accuracy, train_reader
from worldattention.core.pocket.render import build, draw
from worldattention.core.pocket.scenes import sample_hidden, sample_scenes
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.truth import HIDDEN_ATTRIBUTES, labels

RATE = 2e-3


def round_trip(autoencoder: PocketAutoencoder) -> Callable[[Tensor], Tensor]:
    """Clips [B, 4F, H, W, 3] through the autoencoder, in the arithmetic of inference."""

    @torch.no_grad()
    def there_and_back(clips: Tensor) -> Tensor:
        with torch.autocast(clips.device.type, torch.bfloat16, enabled=clips.is_cuda):
            return autoencoder.decode(autoencoder.encode(clips.float())).float().clamp(0, 1)

    return there_and_back


def train(
    reader: Reader, autoencoder: PocketAutoencoder, batch: int, generator: torch.Generator, clock: StageClock
) -> dict[str, float]:
    """Until the clock says so; returns accuracies on fresh clips that went through the autoencoder."""
    through = round_trip(autoencoder)
    adam = torch.optim.AdamW(reader.parameters(), RATE, weight_decay=0.01)
    reader.train()
    while (progress := clock.progress()) < 1:
        for settings in adam.param_groups:
            settings["lr"] = RATE * min(1.0, clock.step / 50) * max(0.01, min(1.0, 1.6 * (1 - progress)))
        loss = train_reader(reader, adam, batch, generator, through)
        if clock.step % 50 == 0 or progress == 0:
            clock.report(loss)
    return accuracy(reader.eval(), through, batch, generator)


@torch.no_grad()
def accuracy(
    reader: Reader, through: Callable[[Tensor], Tensor], batch: int, generator: torch.Generator
) -> dict[str, float]:
    """Shares read right on three frames of fresh clips through the autoencoder, and the hidden ones' mean."""
    device = generator.device
    hidden, scene = sample_hidden(batch, generator, device), sample_scenes(batch, 1, generator, device)
    which = torch.zeros(batch, 12, dtype=torch.long, device=device)
    start = 60 * torch.rand(batch, 1, generator=generator, device=device)
    clips = through(draw(build(hidden, scene, which, start + torch.arange(12, device=device) / FPS), which))
    shares = reader_accuracy(reader, clips[:, 3::4].permute(0, 1, 4, 2, 3), labels(hidden, scene, 0))
    names = [attribute.name for attribute in HIDDEN_ATTRIBUTES if attribute.name in shares]
    mean = sum(shares[name] for name in names) / max(len(names), 1)
    return {name: round(share, 4) for name, share in (shares | {"hidden_mean": mean}).items()}
