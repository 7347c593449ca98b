"""The few-step sampler: shifted flow-matching schedule, Euler steps, reproducible noise (DESIGN 5)."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.config import SamplerConfig

RESTART_STEPS = 2


def shifted_timesteps(config: SamplerConfig) -> tuple[float, ...]:
    """Timesteps after the shift, 0..1000: s = t / 1000, s' = shift s / (1 + (shift - 1) s).

    [1000, 750, 500, 250] with shift 5 -> [1000, 937.5, 833.33, 625].
    """
    fractions = (timestep / 1000.0 for timestep in config.timesteps)
    return tuple(1000.0 * config.shift * s / (1.0 + (config.shift - 1.0) * s) for s in fractions)


def block_noise(seed: int, block: int, shape: tuple[int, ...], restart: int = 0) -> Tensor:
    """Gaussian noise [shape] fp32 on the CPU, a function of seed, block index and number of the restart alone.

    From a CPU generator, so that every device starts from the same numbers.
    """
    again = f" {restart}" if restart else ""
    digest = hashlib.sha256(f"block noise {seed} {block}{again}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
    return torch.randn(shape, generator=generator)


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a model's blocks begin with.

    `deviation`: standard deviation of their noise; below 1, worlds are nearer to what is likely. `one_a_scene`: all
    blocks under one prompt begin with the noise of the first of them, so that what neither prompt nor past decides is
    decided alike. `restarts`: how often a world's first block goes through its last steps again (`denoise`).
    """

    deviation: float = 1.0
    one_a_scene: bool = False
    restarts: int = 0

    def noises(
        self, seed: int, block: int, scene: int, shape: tuple[int, ...], device: torch.device
    ) -> list[Tensor]:
        """Noise [1, *shape] fp32 of a block, whose prompt has been spoken since block `scene`, and of its restarts."""
        first = scene if self.one_a_scene else block
        restarts = 0 if block else self.restarts
        numbers = range(restarts, -1, -1)  # the last, which decides, is what later blocks of the scene get
        return [
            self.deviation * block_noise(seed, first, (1, *shape), number).to(device) for number in numbers
        ]


def denoise(
    noise: Tensor,
    timesteps: tuple[float, ...],
    velocity: Callable[[Tensor, int], Tensor],
    restarts: Iterable[Tensor] = (),
) -> Tensor:
    """Euler integration of the velocity (noise - clean) from timesteps[0] to 0.

    noise [B, F, C, h, w] fp32; `velocity(latents, step)` is called once a step, in order, and may raise to
    cancel. With each noise of `restarts` the clean latents are then noised again, to where the last `RESTART_STEPS`
    begin, and go through those (Restart sampling, Xu et al., 2023): few steps from nothing end in a mean of what might
    have been, and this decides. Returns clean latents of the same shape.
    """
    latents = _integrate(noise, timesteps, velocity, 0)
    first = max(len(timesteps) - RESTART_STEPS, 0)
    for fresh in restarts:
        level = timesteps[first] / 1000.0
        latents = _integrate((1 - level) * latents + level * fresh, timesteps, velocity, first)
    return latents


def _integrate(
    latents: Tensor, timesteps: tuple[float, ...], velocity: Callable[[Tensor, int], Tensor], first: int
) -> Tensor:
    """The steps from number `first` on."""
    for step, (now, then) in enumerate(itertools.pairwise((*timesteps, 0.0))):
        if step >= first:
            latents = latents + (then - now) / 1000.0 * velocity(latents, step).float()
    return latents
