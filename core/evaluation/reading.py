"""How well the reader of attributes reads: held-out renders through the autoencoder, by attribute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.statistics import wilson_interval
from worldattention.core.geometry import FPS
from worldattention.core.models.vae import PocketAutoencoder
from worldattention.core.pocket.reader import Reader
from worldattention.core.pocket.render import build, draw
from worldattention.core.pocket.scenes import sample_hidden, sample_scenes
from worldattention.core.pocket.truth import ATTRIBUTES, labels

FRAMES = 12
AT_ONCE, GPU_AT_ONCE = 8, 64


@dataclass(frozen=True, slots=True)
class ReadingReport:
    """Readings that were right, of those that the scene shows, by attribute: name -> (right, asked)."""

    counts: dict[str, tuple[int, int]]
    scenes: int

    @property
    def share(self) -> float:
        """Share of all readings that was right."""
        right, asked = map(sum, zip(*self.counts.values(), strict=True))
        return right / max(asked, 1)

    def to_json(self) -> dict[str, Any]:
        """Accuracy and Wilson's 95 % interval by attribute, and of all."""
        rows = {}
        for name, (right, asked) in self.counts.items():
            low, high = wilson_interval(right / asked, asked)
            rows[name] = {"accuracy": right / asked, "low": low, "high": high, "n": asked}
        return {"all": self.share, "scenes": self.scenes, "attributes": rows}

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"Reader of attributes on {self.scenes} held-out scenes through the autoencoder: {self.share:.3f} of all",
            "",
            "| attribute | accuracy | 95 % interval | n |",
            "|---|---|---|---|",
        ]
        for name, row in self.to_json()["attributes"].items():
            lines.append(
                f"| {name} | {row['accuracy']:.3f} | {row['low']:.3f} to {row['high']:.3f} | {row['n']} |"
            )
        return "\n".join(lines)


@torch.inference_mode()
def measure_reader(
    reader: Reader,
    autoencoder: PocketAutoencoder,
    scenes: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> ReadingReport:
    """Reads three frames of each of `scenes` fresh clips together. Raises Cancelled when `cancel` said so."""
    device = next(reader.parameters()).device
    generator = torch.Generator(device).manual_seed(seed)
    right = torch.zeros(len(ATTRIBUTES), dtype=torch.long)
    asked = torch.zeros_like(right)
    at_once = GPU_AT_ONCE if device.type == "cuda" else AT_ONCE
    for start in range(0, scenes, at_once):
        if cancel is not None and cancel():
            raise Cancelled
        count = min(at_once, scenes - start)
        hidden, scene = sample_hidden(count, generator, device), sample_scenes(count, 1, generator, device)
        which = torch.zeros(count, FRAMES, dtype=torch.long, device=device)
        begin = 60 * torch.rand(count, 1, generator=generator, device=device)
        clips = draw(build(hidden, scene, which, begin + torch.arange(FRAMES, device=device) / FPS), which)
        made = autoencoder.decode(autoencoder.encode(clips.float())).clamp(0, 1)
        truth = labels(hidden, scene, 0)
        read = reader.read(made[:, 3::4].permute(0, 1, 4, 2, 3))
        right += ((read == truth) & (truth >= 0)).sum(0).cpu()
        asked += (truth >= 0).sum(0).cpu()
        if progress is not None:
            progress(start + count, scenes)
    counts = {
        attribute.name: (int(right[k]), int(asked[k])) for k, attribute in enumerate(ATTRIBUTES) if asked[k]
    }
    return ReadingReport(counts, scenes)
