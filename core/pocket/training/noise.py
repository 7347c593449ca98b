"""Noise levels of training: one a block of three frames, told to the model as its timestep."""

from __future__ import annotations

import torch
from torch import Tensor

from worldattention.core.pocket.training.windows import BLOCK, Layout

SHIFT = 3.0
STEPS = (1.0, 0.9375, 5 / 6, 0.625, 0.0)
"""Sigmas of the four steps of inference (DESIGN 5) and where they end."""
CONTEXT_NOISE = 0.25


def shifted(u: Tensor, shift: float) -> Tensor:
    """s u / (1 + (s - 1) u): moves uniform levels towards noise."""
    return shift * u / (1 + (shift - 1) * u)


def target_levels(batch: int, blocks: int, generator: torch.Generator) -> Tensor:
    """Levels [batch, blocks] of noisy blocks: logit-normal, shifted; some uniform, some at a step of inference.

    Of the last, most start from pure noise: that is where a scene is decided.
    """
    device = generator.device

    def uniform() -> Tensor:
        return torch.rand(batch, blocks, generator=generator, device=device)

    normal = torch.randn(batch, blocks, generator=generator, device=device)
    u = torch.where(uniform() < 0.15, uniform(), torch.sigmoid(1.2 * normal))
    steps = torch.tensor([1.0, 1.0, *STEPS[1:4]], device=device)
    picked = steps[torch.randint(len(steps), (batch, blocks), generator=generator, device=device)]
    return torch.where(uniform() < 0.3, picked, shifted(u, SHIFT))


def context_levels(batch: int, layout: Layout, generator: torch.Generator) -> Tensor:
    """Levels [batch, groups] of the frames that are context: up to 0.25 for memory and for clean frames, often 0."""
    device = generator.device
    draw = CONTEXT_NOISE * torch.rand(batch, 2, generator=generator, device=device)
    kept = torch.rand(batch, 2, generator=generator, device=device) > 0.35
    groups = torch.tensor([layout.memory, layout.clean], device=device) // BLOCK
    return (draw * kept).repeat_interleave(groups, 1)


def mix(clean: Tensor, noise: Tensor, levels: Tensor) -> Tensor:
    """(1 - s) clean + s noise; clean [B, F, C, h, w], levels [B, F / 3]."""
    s = per_frame(levels)
    return clean * (1 - s) + noise * s


def per_frame(levels: Tensor) -> Tensor:
    """Levels of blocks [B, G] as [B, 3 G, 1, 1, 1]."""
    return levels.repeat_interleave(BLOCK, 1)[:, :, None, None, None]
