"""How near what a model makes comes to true blocks, as distributions: to choose between weights in a run."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from worldattention.core.pocket.reader import Reader
from worldattention.core.pocket.training import preview
from worldattention.core.pocket.training.autoencoder import mean_energies
from worldattention.core.pocket.training.denoiser import SequenceTransformer
from worldattention.core.pocket.training.transformer import Source
from worldattention.core.pocket.training.windows import MEMORY_LAYOUT

STRIDE = 4
"""Of the frames that are compared."""


@torch.no_grad()
def fidelity(
    model: SequenceTransformer,
    source: Source,
    reader: Reader,
    to_frames: Callable[[Tensor], Tensor],
    batches: int,
    seed: int = 7,
) -> dict[str, float]:
    """New scenes from text alone against true ones of the same prompts: ratios of gradient and of motion energy, and
    the Frechet distance of the reader's features (Heusel et al. 2017), of first blocks and of all.

    The same scenes' noise for every model: `seed` begins a generator of its own.
    """
    generator = torch.Generator(source.generator.device).manual_seed(seed)
    own = Source(source.pool, source.prompt_tokens, generator, source.batch)
    shown = [preview.from_text(model, own, MEMORY_LAYOUT) for _ in range(batches)]
    features: dict[str, list[Tensor]] = {"made": [], "true": []}
    energies: dict[str, Tensor] = {"made": torch.zeros(2), "true": torch.zeros(2)}
    for one in shown:
        for name, latents in (("made", one.made), ("true", one.true)):
            frames = to_frames(latents)
            features[name].append(reader_features(reader, frames[:, 1::STRIDE]))
            energies[name] = energies[name] + mean_energies(frames).cpu()
    made, true = (torch.cat(features[name]) for name in ("made", "true"))
    gradient, motion = (energies["made"] / energies["true"]).tolist()
    first = slice(0, 12 // STRIDE)
    return {
        "gradient": round(gradient, 4),
        "motion": round(motion, 4),
        "distance": round(frechet_distance(made.flatten(0, 1), true.flatten(0, 1)), 4),
        "first_distance": round(
            frechet_distance(made[:, first].flatten(0, 1), true[:, first].flatten(0, 1)), 4
        ),
    }


def reader_features(reader: Reader, frames: Tensor) -> Tensor:
    """The reader's last hidden units [B, T, 512] of frames [B, T, H, W, 3] in 0..1."""
    pictures = frames.flatten(0, 1).permute(0, 3, 1, 2)
    hidden = [
        F.silu(reader.hidden(reader.squeeze(reader.features(part * 2 - 1)).flatten(1)))
        for part in pictures.split(64)
    ]
    return torch.cat(hidden).unflatten(0, frames.shape[:2])


def frechet_distance(one: Tensor, other: Tensor) -> float:
    """|m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^1/2) of the Gaussians fitted to features [N, D]."""
    one, other = one.double().cpu(), other.double().cpu()
    first, second = torch.cov(one.T), torch.cov(other.T)
    values, vectors = torch.linalg.eigh(first)
    root = vectors * values.clamp(min=0).sqrt() @ vectors.T
    mixed = torch.linalg.eigvalsh(root @ second @ root).clamp(min=0).sqrt().sum()
    means = (one.mean(0) - other.mean(0)).square().sum()
    return float(means + first.trace() + second.trace() - 2 * mixed)
