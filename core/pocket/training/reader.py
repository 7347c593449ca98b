"""The stage of the reader of ground truth: on renders, most of them through the autoencoder.

Rendering and decoding a clip costs many times what a step on a picture does, so clips are kept for a while and each
gives many pictures: its frames differ, and the noise on them is new every time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from worldattention.core.geometry import FPS
from worldattention.core.models.vae import PocketAutoencoder
from worldattention.core.pocket.reader import Reader, reader_loss
from worldattention.core.pocket.render import HEIGHT, WIDTH, build, draw
from worldattention.core.pocket.scenes import sample_hidden, sample_scenes
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.truth import ATTRIBUTES, labels

RATE = 2e-3
FRAMES = 12
AT_ONCE = 32
"""Clips that go through the autoencoder together."""
KEPT_BATCHES = 16
STEPS_A_BATCH = 8
PICTURES_A_CLIP = 3
"""Pictures of one step, for each clip of a batch."""
NOISE = 0.03
RoundTrip = Callable[[Tensor], Tensor]
"""Clips [B, 12, H, W, 3] in 0..1 -> clips of the same shape, as the autoencoder shows them."""


def round_trip(autoencoder: PocketAutoencoder) -> RoundTrip:
    """Clips through the autoencoder, in the arithmetic of inference."""

    @torch.no_grad()
    def there_and_back(clips: Tensor) -> Tensor:
        with torch.autocast(clips.device.type, torch.bfloat16, enabled=clips.is_cuda):
            parts = [autoencoder.decode(autoencoder.encode(part.float())) for part in clips.split(AT_ONCE)]
        return torch.cat(parts).float().clamp(0, 1)

    return there_and_back


class PicturePool:
    """The newest clips, as bytes, and what they show; one in eight stays as rendered."""

    def __init__(self, through: RoundTrip, batch: int, generator: torch.Generator) -> None:
        """`batch` clips are made at once, and `KEPT_BATCHES` times as many are kept; `generator` is the device's."""
        self._through, self._batch, self._generator = through, batch, generator
        device = generator.device
        self._clips = torch.empty(
            batch * KEPT_BATCHES, FRAMES, HEIGHT, WIDTH, 3, dtype=torch.uint8, device=device
        )
        self._truth = torch.empty(len(self._clips), len(ATTRIBUTES), dtype=torch.long, device=device)
        self._next = self._filled = 0

    @torch.no_grad()
    def renew(self) -> None:
        """One batch of clips more, in place of the oldest where all places are taken."""
        generator, device = self._generator, self._generator.device
        hidden = sample_hidden(self._batch, generator, device)
        scene = sample_scenes(self._batch, 1, generator, device)
        which = torch.zeros(self._batch, FRAMES, dtype=torch.long, device=device)
        start = 60 * torch.rand(self._batch, 1, generator=generator, device=device)
        drawn = draw(build(hidden, scene, which, start + torch.arange(FRAMES, device=device) / FPS), which)
        plain = self._batch // 8
        clips = torch.cat([drawn[:plain].float(), self._through(drawn[plain:])])
        rows = slice(self._next, self._next + self._batch)
        self._clips[rows] = (clips * 255).round().to(torch.uint8)
        self._truth[rows] = labels(hidden, scene, 0)
        self._next = rows.stop % len(self._clips)
        self._filled = max(self._filled, rows.stop)

    def pictures(self, count: int) -> tuple[Tensor, Tensor]:
        """Any frames of any clips with noise of their own, [count, 3, H, W], and their truth, [count, attributes]."""
        generator, device = self._generator, self._generator.device
        rows = torch.randint(self._filled, (count,), generator=generator, device=device)
        frames = torch.randint(FRAMES, (count,), generator=generator, device=device)
        pictures = self._clips[rows, frames].permute(0, 3, 1, 2).float() / 255
        noise = torch.randn(pictures.shape, generator=generator, device=device)
        return pictures + NOISE * noise, self._truth[rows]


def train(
    reader: Reader,
    autoencoder: PocketAutoencoder,
    batch: int,
    generator: torch.Generator,
    clock: StageClock,
    keep: Callable[[float], None] | None = None,
) -> None:
    """Until the clock says so; `keep` is called after every batch with the progress, to write what there is."""
    pool = PicturePool(round_trip(autoencoder), batch, generator)
    adam = torch.optim.AdamW(reader.parameters(), RATE, weight_decay=0.01)
    reader.train()
    loss = torch.zeros(())
    while (progress := clock.progress()) < 1:
        step = clock.step - 1
        if step % STEPS_A_BATCH == 0:
            pool.renew()
        if step % 50 == 0 and step:
            clock.report(float(loss))
        for settings in adam.param_groups:
            settings["lr"] = RATE * min(1.0, (step + 1) / 50) * max(0.01, min(1.0, 1.6 * (1 - progress)))
        loss = train_step(reader, adam, *pool.pictures(PICTURES_A_CLIP * batch))
        if keep is not None and step % STEPS_A_BATCH == 0:
            keep(progress)
    clock.report(float(loss))
    reader.eval()


def train_step(reader: Reader, optimizer: torch.optim.Optimizer, pictures: Tensor, truth: Tensor) -> Tensor:
    """One step on pictures [N, 3, H, W] in 0..1 with their truth [N, attributes]; returns the loss."""
    with torch.autocast(pictures.device.type, torch.bfloat16, enabled=pictures.is_cuda):
        logits = reader(pictures)
    loss = reader_loss(logits.float(), truth)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.detach()
