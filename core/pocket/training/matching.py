"""Distribution matching (DMD, Yin et al. 2024): what four steps make must be as likely as what many steps make.

A distillation that compares end points gives the mean of what a scene could become where the student cannot tell:
a ball of every colour. Here nothing is compared point by point. A critic learns the velocity of what the student
makes; where it differs from the velocity of true blocks, the student's blocks are moved to what is truer.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from worldattention.core.pocket.training import noise
from worldattention.core.pocket.training.denoiser import SequenceTransformer
from worldattention.core.pocket.training.rollouts import STEPS, one_step, walk
from worldattention.core.pocket.training.transformer import Example, Objective, Teacher, block_loss

MATCHED_STEPS = 2
"""The last steps, which decide what an earlier mean becomes; gradients go back so far, and the others are held."""
LEAST_LEVEL = 0.05
MATCHING_WEIGHT = 0.25
HOLD_EVERY = 2


class Critic(Protocol):
    """A model that goes down losses, as `Trainee` does."""

    model: SequenceTransformer

    def step(self, loss: Tensor, rate: float) -> None: ...


@dataclass(slots=True)
class DistributionMatching:
    """The objective of the stage `matching`. Each call first teaches the critic on the batch.

    `teacher` knows true blocks at every level of noise; `hold`, every second time, keeps the student's first steps
    where they were, since only the last ones are matched; `critic_rate` multiplies the critic's learning rates.
    """

    teacher: Teacher
    critic: Critic
    hold: Objective
    generator: torch.Generator
    critic_rate: float = 0.2
    calls: int = 0

    def __call__(self, student: SequenceTransformer, example: Example) -> Tensor:
        """The student's loss of a batch."""
        self.calls += 1
        made = walk(student, example, STEPS - MATCHED_STEPS)
        for now, then in itertools.pairwise(noise.STEPS[-1 - MATCHED_STEPS :]):
            made = one_step(Teacher(student, 1), example, made, now, then)
        truer = self._truer(made.detach(), example)
        loss = MATCHING_WEIGHT * block_loss(made - truer, example.noisy)
        return loss + self.hold(student, example) if self.calls % HOLD_EVERY == 0 else loss

    def _truer(self, made: Tensor, example: Example) -> Tensor:
        """`made` [B, F, C, h, w] moved by the difference of the two denoisers, relative to the teacher's step."""
        count, groups = example.noisy.shape
        device = made.device
        u = torch.rand(count, groups, generator=self.generator, device=device)
        level = noise.shifted(u, noise.SHIFT).clamp(min=LEAST_LEVEL)
        levels = torch.where(example.noisy, level, example.levels)
        targets = noise.per_frame(example.noisy.float()) > 0
        drawn = torch.randn(made.shape, generator=self.generator, device=device)
        latents = torch.where(targets, noise.mix(made, drawn, levels), example.latents)

        of_made = example.sequences.velocity(self.critic.model, latents, levels)
        self.critic.step(block_loss(of_made - (drawn - made), example.noisy), self.critic_rate)
        with torch.no_grad():
            of_true = self.teacher.velocity(example.sequences, latents, levels)
            s = noise.per_frame(levels)
            denoised = latents - s * of_true
            far = (made - denoised).abs().flatten(2).mean(2).unflatten(1, (groups, -1)).mean(2)
            towards = s * (of_made.detach() - of_true) / noise.per_frame(far.clamp(min=1e-3))
            return made + towards
