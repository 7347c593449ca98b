"""What a model in training makes, as pictures: scenes from text alone, and a scene that returns.

Blocks are generated one after the other in the training layout; a finished block becomes clean context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import imageio.v3 as imageio
import torch
from torch import Tensor

from worldattention.core.models.vae import PocketAutoencoder
from worldattention.core.pocket.reader import Reader
from worldattention.core.pocket.training import noise
from worldattention.core.pocket.training.data import RETURN
from worldattention.core.pocket.training.denoiser import SequenceTransformer
from worldattention.core.pocket.training.transformer import Sequences, Source
from worldattention.core.pocket.training.windows import BLOCK, PAGES, Batch, Layout, read_batch
from worldattention.core.pocket.truth import HIDDEN_ATTRIBUTES, PERSON_ATTRIBUTES


@dataclass(frozen=True, slots=True)
class Preview:
    """latents [B, clean, C, h, w] as generated, and the true ones; blocks before `start` are given.

    memory [B, M, C, h, w]: the latents of sink and pages; truth [B, attributes]: labels of what returns.
    """

    made: Tensor
    true: Tensor
    memory: Tensor
    truth: Tensor
    start: int


@torch.no_grad()
def generate(
    model: SequenceTransformer, batch: Batch, source: Source, layout: Layout, start: int = 0
) -> Tensor:
    """Latents [B, clean, C, h, w] by the four steps of inference, from block `start` on."""
    count = len(batch.latents)
    sequences = Sequences(batch, source.prompt_tokens, model.config.attention_head_dim)
    latents = batch.latents.clone()
    groups = layout.frames // BLOCK
    for block in range(start, layout.clean // BLOCK):
        levels = torch.zeros(count, groups, device=latents.device)
        frames = slice(layout.noisy_from + BLOCK * block, layout.noisy_from + BLOCK * (block + 1))
        shape = latents[:, frames].shape
        z = torch.randn(shape, generator=source.generator, device=latents.device)
        for now, then in zip(noise.STEPS[:-1], noise.STEPS[1:], strict=True):
            levels[:, layout.noisy_from // BLOCK :] = now
            latents[:, frames] = z
            z = z + (then - now) * sequences.velocity(model, latents, levels)[:, frames]
        latents[:, layout.memory + BLOCK * block : layout.memory + BLOCK * (block + 1)] = z
    return latents[:, layout.memory : layout.noisy_from]


def from_text(model: SequenceTransformer, source: Source, layout: Layout, start: int = 0) -> Preview:
    """One shot a sample, from nothing, or from true blocks before `start`."""
    planner = source.planner(layout)
    history = torch.zeros(source.batch, dtype=torch.long, device=source.generator.device)
    batch = read_batch(source.pool, planner.continued(source.batch, history), source.generator, 0.0)
    return _preview(model, batch, source, layout, start)


def returning(model: SequenceTransformer, source: Source, layout: Layout, right: bool) -> Preview:
    """Another scene, then the first again over its own pages, or (`right` False) over pages of others."""
    planner, device = source.planner(layout), source.generator.device
    switch = torch.full((source.batch,), 2, device=device)
    chosen = torch.full((source.batch, PAGES), right, device=device)
    pages = torch.full((source.batch,), PAGES, device=device)
    batch = read_batch(
        source.pool, planner.recall(source.batch, switch, chosen, pages), source.generator, 0.0
    )
    return _preview(model, batch, source, layout, 2)


def _preview(model: SequenceTransformer, batch: Batch, source: Source, layout: Layout, start: int) -> Preview:
    made = generate(model, batch, source, layout, start)
    true = batch.latents[:, layout.memory : layout.noisy_from]
    memory = batch.latents[:, : layout.memory if start else 0]
    return Preview(made, true, memory, source.pool.truth[batch.episode, RETURN], start)


@torch.no_grad()
def hidden_accuracy(
    reader: Reader, preview: Preview, to_frames: Callable[[Tensor], Tensor]
) -> dict[str, float]:
    """Share of the hidden attributes of a returned scene that the last pictures show right: `hidden` of its layout
    and colours, `person` of its actor. `ceiling` reads the truth through the autoencoder.
    """
    place = [k for k, a in enumerate(HIDDEN_ATTRIBUTES) if a.name not in PERSON_ATTRIBUTES]
    person = [k for k, a in enumerate(HIDDEN_ATTRIBUTES) if a.name in PERSON_ATTRIBUTES]
    shares = {}
    for name, latents, asked in (
        ("hidden", preview.made, place),
        ("ceiling", preview.true, place),
        ("person", preview.made, person),
    ):
        frames = to_frames(latents)[:, -24::8].permute(0, 1, 4, 2, 3)
        right = (reader.read(frames) == preview.truth)[:, asked]
        shares[name] = round(float(right[preview.truth[:, asked] >= 0].float().mean()), 4)
    return shares


@torch.no_grad()
def decode(autoencoder: PocketAutoencoder, latents: Tensor) -> Tensor:
    """[B, F, C, h, w] -> frames [B, 4F, H, W, 3] in 0..1."""
    with torch.autocast(latents.device.type, torch.bfloat16, enabled=latents.is_cuda):
        parts = [autoencoder.decode(part.contiguous()).float() for part in latents.split(8)]
    return torch.cat(parts).clamp(0, 1)


def sharpness(frames: Tensor) -> float:
    """Mean absolute difference of neighbouring pixels, in 1/255."""
    return 255 * float((frames.diff(dim=2).abs().mean() + frames.diff(dim=3).abs().mean()) / 2)


def write_sheet(
    path: Path, preview: Preview, to_frames: Callable[[Tensor], Tensor], rows: int = 12
) -> dict[str, float]:
    """A JPEG, a sample a row: a frame of the last page where there are pages, four generated or given frames,
    two of the truth. Returns figures."""
    made, true = to_frames(preview.made[:rows]), to_frames(preview.true[:rows])
    picks = torch.linspace(4, made.shape[1] - 1, 4).long()
    columns = [made[:, int(pick)] for pick in picks] + [true[:, int(pick)] for pick in picks[[1, 3]]]
    if preview.memory.shape[1]:
        columns.insert(0, to_frames(preview.memory[:rows])[:, -4])
    grid = torch.cat([torch.cat(list(column), 0) for column in columns], 1)
    imageio.imwrite(path, (grid * 255).round().to(torch.uint8).cpu().numpy(), quality=85)
    first = 4 * BLOCK * preview.start
    error = (made[:, first:] - true[:, first:]).square().mean()
    return {
        "sharpness": round(sharpness(made[:, first:]), 3),
        "sharpness_true": round(sharpness(true[:, first:]), 3),
        "psnr_to_truth": round(-10 * float(error.clamp(min=1e-12).log10()), 2),
    }
