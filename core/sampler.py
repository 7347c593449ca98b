"""The few-step sampler: shifted flow-matching schedule, Euler steps, reproducible noise (DESIGN 5)."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from worldattention.core.config import SamplerConfig


def shifted_timesteps(config: SamplerConfig) -> tuple[float, ...]:
    """Timesteps after the shift, 0..1000: s = t / 1000, s' = shift s / (1 + (shift - 1) s).

    [1000, 750, 500, 250] with shift 5 -> [1000, 937.5, 833.33, 625].
    """
    fractions = (timestep / 1000.0 for timestep in config.timesteps)
    return tuple(1000.0 * config.shift * s / (1.0 + (config.shift - 1.0) * s) for s in fractions)


def block_noise(seed: int, block: int, shape: tuple[int, ...]) -> Tensor:
    """Gaussian noise [shape] fp32 on the CPU, a function of seed and block index alone.

    From a CPU generator, so that every device starts from the same numbers.
    """
    digest = hashlib.sha256(f"block noise {seed} {block}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
    return torch.randn(shape, generator=generator)


def denoise(
    noise: Tensor,
    timesteps: tuple[float, ...],
    velocity: Callable[[Tensor, int], Tensor],
) -> Tensor:
    """Euler integration of the velocity (noise - clean) from timesteps[0] to 0.

    noise [B, F, C, h, w] fp32; `velocity(latents, step)` is called once a step, in order, and may raise to
    cancel. Returns clean latents of the same shape.
    """
    latents = noise
    for step, (now, then) in enumerate(itertools.pairwise((*timesteps, 0.0))):
        latents = latents + (then - now) / 1000.0 * velocity(latents, step).float()
    return latents
