"""Training on what the model itself makes: its walk from noise, steps distilled along it, and an adversary.

In a rollout every noisy block of a sequence starts from pure noise and walks the steps of inference over the true
context, all blocks at once. That is what a scene's first block goes through, which no noised truth resembles.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from worldattention.core.pocket.training import noise
from worldattention.core.pocket.training.denoiser import SequenceTransformer
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.transformer import Example, Teacher, block_loss, in_context
from worldattention.core.pocket.training.windows import BLOCK, Batch, Layout

STEPS = len(noise.STEPS) - 1
DISCRIMINATOR_RATE = 2e-4
ADVERSARIAL_WEIGHT = 0.02
SMOOTHING = 0.1
"""Standard deviation of the noise that must not change the discriminator's mind (APT's approximate R1)."""


@torch.no_grad()
def walk(model: SequenceTransformer, example: Example, until: int) -> Tensor:
    """Latents [B, F, C, h, w] whose noisy blocks have gone from noise through the first `until` steps."""
    targets = noise.per_frame(example.noisy.float()) > 0
    latents = torch.where(targets, example.noise, example.latents)
    for step in range(until):
        latents = one_step(Teacher(model, 1), example, latents, noise.STEPS[step], noise.STEPS[step + 1])
    return latents


def one_step(walker: Teacher, example: Example, latents: Tensor, now: float, then: float) -> Tensor:
    """Noisy blocks go from level `now` to `then`; context stays."""
    levels = torch.where(example.noisy, now, example.levels)
    predicted = walker.velocity(example.sequences, latents, levels)
    change = (then - now) * noise.per_frame(example.noisy.float())
    return latents + change * predicted


LIVED_PASSES = 2
"""After so many, a block's context was made from context that was made."""


def lived_context(
    model: SequenceTransformer, example: Example, layout: Layout, generator: torch.Generator
) -> Example:
    """The example with most samples' clean frames replaced by what the model makes by all its steps, as in a running
    world (Self Forcing, Huang et al. 2025; here all blocks at once, pass after pass)."""
    for _ in range(LIVED_PASSES):
        example = in_context(example, walk(model, example, STEPS), layout, generator)
    return example


def first_blocks(batch: Batch, layout: Layout) -> Tensor:
    """[B, G] which blocks are the first of their scene: made from nothing, or right after a switch."""
    noisy = batch.plan.noisy[:, ::BLOCK]
    first = noisy & noisy.all(1, keepdim=True)
    shots = batch.frame_prompt[:, layout.memory : layout.noisy_from : BLOCK]
    switched = torch.cat([torch.full_like(shots[:, :1], layout.memory == 0), shots.diff(dim=1) != 0], 1)
    later = torch.zeros_like(first)
    later[:, layout.noisy_from // BLOCK :] = switched.bool()
    return first | (later & noisy)


@dataclass(frozen=True, slots=True)
class FirstBlockDistillation:
    """The objective of the stage `first-block`: along the student's own walk, one step must end where the
    teacher's sub-steps end. First blocks count fully, others `others` times; where a batch has no first block,
    all count the same. Only the first `steps` steps are learnt."""

    teacher: Teacher
    layout: Layout
    generator: torch.Generator
    others: float = 0.0
    steps: int = STEPS

    def __call__(self, student: SequenceTransformer, example: Example) -> Tensor:
        """The loss of a batch."""
        device = self.generator.device
        step = int(torch.randint(self.steps, (), generator=self.generator, device=device))
        now, then = noise.STEPS[step], noise.STEPS[step + 1]
        latents = walk(student, example, step)
        count = self.teacher.substeps
        marks = [now + (then - now) * n / count for n in range(count + 1)]
        with torch.no_grad():
            walked = latents
            for start, end in itertools.pairwise(marks):
                walked = one_step(self.teacher, example, walked, start, end)
            wanted = (walked - latents) / (then - now)
        levels = torch.where(example.noisy, now, example.levels)
        error = example.sequences.velocity(student, latents, levels) - wanted
        first = first_blocks(example.batch, self.layout)
        weights = torch.where(first, 1.0, self.others * example.noisy)
        return block_loss(error, torch.where(first.any(), weights, example.noisy))


class Discriminator(nn.Module):
    """Tells made blocks from true ones: latents [N, 3, C, h, w] and their prompt -> logits [N, h / 4, w / 4].

    Small (1.4 M parameters), since it sees latents; the prompt enters by projection.
    """

    def __init__(self, channels: int = 16, text_dim: int = 384, width: int = 128) -> None:
        super().__init__()
        self.enter = nn.Conv2d(BLOCK * channels, width, 3, padding=1)
        self.down = nn.ModuleList(
            nn.Sequential(
                nn.GroupNorm(8, before), nn.SiLU(), nn.Conv2d(before, after, 4, stride=2, padding=1)
            )
            for before, after in ((width, width), (width, 2 * width))
        )
        self.mix = nn.Sequential(
            nn.GroupNorm(8, 2 * width), nn.SiLU(), nn.Conv2d(2 * width, width, 3, padding=1)
        )
        self.leave = nn.Conv2d(width, 1, 1)
        self.text = nn.Linear(text_dim, width)

    def forward(self, blocks: Tensor, prompts: Tensor) -> Tensor:
        """prompts [N, text_dim], means of their tokens."""
        x = self.enter(blocks.flatten(1, 2))
        for layer in self.down:
            x = layer(x)
        x = self.mix(x)
        agreement = (x * self.text(prompts)[:, :, None, None]).mean(1)
        logits: Tensor = self.leave(F.silu(x))[:, 0] + agreement
        return logits


class Adversary:
    """The objective of the stage `adversarial`: made blocks must pass for true ones, and stay near the teacher.

    Each call first teaches the discriminator on the batch, then returns the student's loss.
    """

    def __init__(
        self,
        discriminator: Discriminator,
        near: Callable[[SequenceTransformer, Example], Tensor],
        prompt_tokens: Callable[[Tensor], Tensor],
        group: Group,
    ) -> None:
        """`near` is the loss that holds the student to its teacher."""
        self.discriminator, self._near, self._tokens, self._group = discriminator, near, prompt_tokens, group
        group.share(parameter.data for parameter in discriminator.parameters())
        self._adam = torch.optim.AdamW(
            discriminator.parameters(), DISCRIMINATOR_RATE, (0.5, 0.99), weight_decay=0.01
        )
        self.told_apart = 0.5  # share of blocks that the discriminator knew in the last batch

    def __call__(self, student: SequenceTransformer, example: Example) -> Tensor:
        """The student's loss of a batch."""
        before = walk(student, example, STEPS - 1)
        last = one_step(Teacher(student, 1), example, before, noise.STEPS[-2], noise.STEPS[-1])
        made = _blocks(last, example.noisy)
        true, prompts = _blocks(example.batch.latents, example.noisy), self._prompts(example)
        self._teach(made.detach(), true, prompts)
        self.discriminator.requires_grad_(False)
        fooled = F.softplus(-self.discriminator(made, prompts)).mean()
        self.discriminator.requires_grad_(True)
        return self._near(student, example) + ADVERSARIAL_WEIGHT * fooled

    def _teach(self, made: Tensor, true: Tensor, prompts: Tensor) -> None:
        """One step of the discriminator."""
        on_true, on_made = self.discriminator(true, prompts), self.discriminator(made, prompts)
        smooth = [
            (self.discriminator(x + SMOOTHING * torch.randn_like(x), prompts) - logits).square().mean()
            for x, logits in ((true, on_true), (made, on_made))
        ]
        loss = F.softplus(-on_true).mean() + F.softplus(on_made).mean() + sum(smooth)
        self._adam.zero_grad(set_to_none=True)
        loss.backward()
        self._group.average_gradients(self.discriminator.parameters())
        self._adam.step()
        known = ((on_true > 0).float().mean() + (on_made < 0).float().mean()) / 2
        self.told_apart = float(known.detach())

    @torch.no_grad()
    def _prompts(self, example: Example) -> Tensor:
        """The mean token [N, text_dim] of the prompt of every noisy block."""
        batch = example.batch
        tokens = self._tokens(batch.prompts.flatten())
        real = (tokens.abs().amax(-1) > 0).sum(1, keepdim=True).clamp(min=1)
        pooled = (tokens.sum(1) / real).unflatten(0, batch.prompts.shape)
        spoken = batch.frame_prompt[:, ::BLOCK]
        return pooled.gather(1, spoken[..., None].expand(-1, -1, pooled.shape[-1]))[example.noisy]


def _blocks(latents: Tensor, chosen: Tensor) -> Tensor:
    """The chosen [B, G] blocks of latents [B, F, C, h, w] -> [N, 3, C, h, w]."""
    return latents.unflatten(1, (-1, BLOCK))[chosen]
