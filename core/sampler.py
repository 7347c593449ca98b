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

    `deviation`: standard deviation of their noise; below 1, worlds are nearer to what is likely. `period`: latent
    frames after which the noise of a world's first scene repeats, as what is done in it does, so that what neither
    prompt nor past decides is decided alike; all blocks of a later scene begin with one noise. 0: every block has its
    own. `restarts`: how often the very first block goes through its last steps again (`denoise`). `unseen`: blocks that
    are made before a world is shown. `led`: how many of the world's own are those that follow them (`Prelude`).
    """

    deviation: float = 1.0
    period: int = 0
    restarts: int = 0
    unseen: int = 0
    led: int = 0

    def noises(
        self, seed: int, block: int, scene: int, shape: tuple[int, ...], device: torch.device
    ) -> list[Tensor]:
        """Noise [1, F, ...] fp32 of a block of `shape` [F, ...], and of its restarts.

        Its prompt has been spoken since block `scene`; blocks that nobody sees have numbers below 0.
        """
        number, frames = block + self.unseen, shape[0]
        draws = range(1 if number else 1 + self.restarts)
        if not self.period:
            drawn = [block_noise(seed, block, (1, *shape), draw) for draw in draws]
        elif scene:
            drawn = [block_noise(seed, scene, (1, *shape))]
        else:
            shown = [(number * frames + frame) % self.period for frame in range(frames)]
            size = (1, self.period, *shape[1:])
            drawn = [block_noise(seed, scene, size, draw)[:, shown] for draw in draws]
        return [self.deviation * noise.to(device) for noise in drawn]


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
