"""What the autoencoder loses: fresh rendered clips, there and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from worldattention.core.errors import Cancelled
from worldattention.core.models.vae import PocketAutoencoder
from worldattention.core.pocket.training.autoencoder import ClipSource, Quality, measure_quality

LATENTS = 5
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class ReconstructionReport:
    """PSNR over all pixels and over those that move, in dB; standard deviation of latents; clips seen."""

    quality: Quality
    clips: int

    def to_json(self) -> dict[str, Any]:
        """The figures, and of how many clips."""
        return {**asdict(self.quality), "clips": self.clips}

    def to_markdown(self) -> str:
        """A table for people."""
        return "\n".join(
            [
                f"Autoencoder on {self.clips} held-out clips of {4 * LATENTS} frames",
                "",
                "| figure | value |",
                "|---|---|",
                f"| PSNR of all pixels, dB | {self.quality.psnr:.2f} |",
                f"| PSNR of moving pixels, dB | {self.quality.moving_psnr:.2f} |",
                f"| standard deviation of latents | {self.quality.latent_std:.3f} |",
            ]
        )


class _WatchedClips(ClipSource):
    """Clips that say how many were asked for."""

    def __init__(self, generator: torch.Generator, asked: Callable[[], None]) -> None:
        super().__init__(LATENTS, AT_ONCE, 1, generator)
        self._asked = asked

    def clips(self) -> Tensor:
        """See `ClipSource`."""
        self._asked()
        return super().clips()


def measure_reconstruction(
    autoencoder: PocketAutoencoder,
    clips: int,
    device: torch.device,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> ReconstructionReport:
    """At least `clips` fresh clips, in batches. Raises Cancelled when `cancel` said so."""
    batches, done = -(-clips // AT_ONCE), 0

    def asked() -> None:
        nonlocal done
        if cancel is not None and cancel():
            raise Cancelled
        done += 1
        if progress is not None:
            progress(done, batches)

    source = _WatchedClips(torch.Generator(device).manual_seed(seed), asked)
    quality = measure_quality(autoencoder.to(device), source, batches)
    return ReconstructionReport(quality, batches * AT_ONCE)
