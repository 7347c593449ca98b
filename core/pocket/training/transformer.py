"""The transformer's stages: scenes from text, then memory, then few steps over its own frames.

The loss is flow matching: z = (1 - s) x + s noise, and the model predicts noise - x. In `refine` a teacher, the
model as it was, walks each step of inference in three sub-steps, and the model learns to get there in one
(progressive distillation, Salimans and Ho 2022); context is often what the model itself would have made.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.pocket.training import noise
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.data import LatentPool
from worldattention.core.pocket.training.denoiser import SequenceTransformer, sequence_attention
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.muon import Muon
from worldattention.core.pocket.training.windows import (
    BLOCK,
    Batch,
    Layout,
    Mixture,
    Planner,
    read_batch,
)

logger = logging.getLogger(__name__)

WARMUP_STEPS = 80
MUON_RATE = 1.5e-3
ADAM_RATE = 1e-3
EMA_DECAY = 0.9985
STAGE = (0.12, 0.88, 0.32, 0.72)
"""Top, bottom, left and right of where actors and props are, as shares of a picture."""
STAGE_WEIGHT = 2.5
TOO_GOOD = 0.005
"""A loss below this means broken latents, not a good model."""


class Trainee:
    """A model in training: raw weights, optimisers, and the moving average that is what counts."""

    def __init__(self, model: SequenceTransformer, group: Group) -> None:
        self.model, self.group = model, group
        group.share(parameter.data for parameter in model.parameters())
        self.average = copy.deepcopy(
            model
        )  # asks for gradients as the model does: one compilation serves both
        self._decay_steps = 0
        self.restart()

    def restart(self) -> None:
        """New optimisers, from the averaged weights."""
        self.model.load_state_dict(self.average.state_dict())
        matrices, others = split_parameters(self.model)
        self.parameters = [*matrices, *others]
        self._others = others
        self._muon = Muon(matrices)
        fused = self.group.device.type == "cuda"
        self._adam = torch.optim.AdamW(others, ADAM_RATE, (0.9, 0.98), weight_decay=0.01, fused=fused)
        self._steps = 0

    def step(self, loss: Tensor, rate: float) -> None:
        """One step down `loss`; `rate` multiplies the learning rates, and the first steps warm up."""
        for parameter in self.parameters:
            parameter.grad = None
        loss.backward()
        self.group.average_gradients(self.parameters)
        torch.nn.utils.clip_grad_norm_(self._others, 1.0)
        rate *= min(1.0, (self._steps + 1) / WARMUP_STEPS)
        for settings in self._adam.param_groups:
            settings["lr"] = ADAM_RATE * rate
        self._adam.step()
        self._muon.step(MUON_RATE * rate)
        self._steps += 1
        self._follow()

    @torch.no_grad()
    def _follow(self) -> None:
        self._decay_steps += 1
        decay = min(EMA_DECAY, 1 - 1 / (0.1 * self._decay_steps + 2))
        averaged, current = list(self.average.parameters()), list(self.model.parameters())
        torch._foreach_lerp_(averaged, current, 1 - decay)


def split_parameters(
    model: SequenceTransformer,
) -> tuple[list[torch.nn.Parameter], list[torch.nn.Parameter]]:
    """The matrices of the blocks, for Muon, and all else."""
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        inner = name.startswith("blocks.") and parameter.ndim == 2 and ".hsa." not in name
        (matrices if inner else others).append(parameter)
    return matrices, others


@dataclass(frozen=True, slots=True)
class Source:
    """Where batches come from; `prompt_tokens(rows [N])` gives tokens [N, 64, 384], zeros for -1."""

    pool: LatentPool
    prompt_tokens: Callable[[Tensor], Tensor]
    generator: torch.Generator
    batch: int

    def planner(self, layout: Layout) -> Planner:
        """Plans of one layout from this source's randomness."""
        return Planner(self.pool, layout, self.generator)

    def read(self, planner: Planner, mixture: Mixture) -> Batch:
        """A random batch."""
        return read_batch(self.pool, planner.draw(self.batch, mixture), self.generator)


class Sequences:
    """A model over the sequences of one batch: what does not change from call to call is computed once."""

    def __init__(self, batch: Batch, prompt_tokens: Callable[[Tensor], Tensor], head_dim: int) -> None:
        grid = batch.latents.shape[-2] // 2, batch.latents.shape[-1] // 2
        self._attention = sequence_attention(batch.plan.position, batch.plan.visible, head_dim, grid)
        count, prompts = batch.prompts.shape
        self._tokens = prompt_tokens(batch.prompts.flatten())
        first = prompts * torch.arange(count, device=batch.prompts.device)
        self._frame_text = (batch.frame_prompt + first[:, None]).flatten()

    def velocity(
        self, model: SequenceTransformer, latents: Tensor, levels: Tensor, blank: bool = False
    ) -> Tensor:
        """noise - clean [B, F, C, h, w] of latents at levels [B, F / 3]; `blank`: as if no prompt said anything."""
        with torch.autocast(latents.device.type, torch.bfloat16, enabled=latents.is_cuda):
            text = model.text_keys_values(torch.zeros_like(self._tokens) if blank else self._tokens)
            return model.predict(latents, 1000 * levels, text, self._attention, self._frame_text).float()


@dataclass(frozen=True, slots=True)
class Example:
    """A batch made noisy. levels [B, G]; latents, noise [B, F, C, h, w]; noisy [B, G]."""

    batch: Batch
    sequences: Sequences
    levels: Tensor
    latents: Tensor
    noise: Tensor
    noisy: Tensor


def make_example(
    source: Source, planner: Planner, mixture: Mixture, layout: Layout, head_dim: int
) -> Example:
    """A batch with noise: targets at training levels, context lightly noised."""
    batch = source.read(planner, mixture)
    noisy = batch.plan.noisy[:, ::BLOCK]
    count, groups = noisy.shape
    generator = source.generator
    context = noise.context_levels(count, layout, generator)
    context = torch.cat([context, context.new_zeros(count, groups - context.shape[1])], 1)
    levels = torch.where(noisy, noise.target_levels(count, groups, generator), context)
    drawn = torch.randn(batch.latents.shape, generator=generator, device=generator.device)
    latents = noise.mix(batch.latents, drawn, levels)
    return Example(batch, Sequences(batch, source.prompt_tokens, head_dim), levels, latents, drawn, noisy)


def stage_weights(height: int, width: int, device: torch.device) -> Tensor:
    """[h, w], mean 1: the part of a picture where actors and props are counts `STAGE_WEIGHT` times.

    The same for every scene: weights that depend on the target would bias flow matching towards what is there.
    """
    top, bottom, left, right = STAGE
    weights = torch.ones(height, width, device=device)
    weights[int(top * height) : int(bottom * height), int(left * width) : int(right * width)] = STAGE_WEIGHT
    return weights / weights.mean()


def block_loss(error: Tensor, noisy: Tensor) -> Tensor:
    """Mean squared error [B, F, C, h, w] over blocks, weighted by `noisy` [B, G], which may be a mask."""
    weighted = error.square() * stage_weights(error.shape[-2], error.shape[-1], error.device)
    per_block = weighted.flatten(2).mean(2).unflatten(1, (-1, BLOCK)).mean(2)
    return (per_block * noisy).sum() / noisy.sum()


def flow_loss(model: SequenceTransformer, example: Example) -> Tensor:
    """Flow matching over the noisy blocks."""
    predicted = example.sequences.velocity(model, example.latents, example.levels)
    return block_loss(predicted - (example.noise - example.batch.latents), example.noisy)


@torch.no_grad()
def own_context(
    model: SequenceTransformer, example: Example, layout: Layout, generator: torch.Generator
) -> Example:
    """The example with four of five samples' clean frames replaced by what the model makes of them in one step."""
    groups = layout.clean // BLOCK
    u = 0.2 + 0.6 * torch.rand(len(example.levels), groups, generator=generator, device=generator.device)
    levels = example.levels.clone()
    levels[:, -groups:] = noise.shifted(u, noise.SHIFT)
    latents = noise.mix(example.batch.latents, example.noise, levels)
    predicted = example.sequences.velocity(model, latents, levels)
    return in_context(example, latents - noise.per_frame(levels) * predicted, layout, generator)


@torch.no_grad()
def in_context(example: Example, made: Tensor, layout: Layout, generator: torch.Generator) -> Example:
    """The example with four of five samples' clean frames replaced by the noisy frames of `made` [B, F, C, h, w].

    Samples without clean frames (all is noisy) stay as they are.
    """
    device = generator.device
    clean, noisy = slice(layout.memory, layout.noisy_from), slice(layout.noisy_from, None)
    blocks = slice(layout.memory // BLOCK, layout.noisy_from // BLOCK)
    chosen = torch.rand(len(example.levels), generator=generator, device=device) < 0.8
    chosen &= ~example.noisy[:, blocks.start]
    fresh = torch.randn(made[:, noisy].shape, generator=generator, device=device)
    again = noise.mix(made[:, noisy], fresh, example.levels[:, blocks])
    replaced = example.latents.clone()
    replaced[:, clean] = torch.where(chosen[:, None, None, None, None], again, replaced[:, clean])
    return Example(example.batch, example.sequences, example.levels, replaced, example.noise, example.noisy)


@dataclass(frozen=True, slots=True)
class Teacher:
    """Who walks each step of inference, in how many sub-steps, and how much more than the blank prompt the prompt
    counts (classifier-free guidance, Ho and Salimans 2022; 1 is none)."""

    model: SequenceTransformer
    substeps: int
    guidance: float = 1.0

    def velocity(self, sequences: Sequences, latents: Tensor, levels: Tensor) -> Tensor:
        """As of `Sequences.velocity`, guided."""
        prompted = sequences.velocity(self.model, latents, levels)
        if self.guidance == 1:
            return prompted
        blank = sequences.velocity(self.model, latents, levels, blank=True)
        return blank + self.guidance * (prompted - blank)


def step_loss(
    student: SequenceTransformer, teacher: Teacher, example: Example, generator: torch.Generator
) -> Tensor:
    """Noisy blocks stand at a step of inference; the student's one step must end where the teacher's do."""
    device = generator.device
    steps = torch.tensor(noise.STEPS, device=device)
    picked = torch.randint(len(steps) - 1, example.noisy.shape, generator=generator, device=device)
    start, end = steps[picked], steps[picked + 1]
    levels = torch.where(example.noisy, start, example.levels)
    at_start = noise.mix(example.batch.latents, example.noise, levels)
    targets = noise.per_frame(example.noisy.float()) > 0
    latents = torch.where(targets, at_start, example.latents)
    with torch.no_grad():
        walked = latents
        for substep in range(teacher.substeps):
            now, then = (start + (end - start) * n / teacher.substeps for n in (substep, substep + 1))
            told = torch.where(example.noisy, now, example.levels)
            predicted = teacher.velocity(example.sequences, walked, told)
            walked = torch.where(targets, walked + noise.per_frame(then - now) * predicted, walked)
        wanted = (walked - latents) / noise.per_frame(end - start)
    predicted = example.sequences.velocity(student, latents, levels)
    return block_loss(predicted - wanted, example.noisy)


Objective = Callable[[SequenceTransformer, Example], Tensor]
"""The loss of a batch, for the model that learns."""


@dataclass(frozen=True, slots=True)
class StepDistillation:
    """`step_loss` against a teacher."""

    teacher: Teacher
    generator: torch.Generator

    def __call__(self, student: SequenceTransformer, example: Example) -> Tensor:
        """The loss of a batch."""
        return step_loss(student, self.teacher, example, self.generator)


Context = Callable[[SequenceTransformer, Example, Layout, torch.Generator], Example]
"""Puts what the model makes where an example has true frames to look back at."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a stage goes: learning rate as a function of progress, share of steps over own context, and which."""

    rate: Callable[[float], float]
    own_share: Callable[[float], float] = lambda progress: 0.0
    context: Context = own_context


def constant(progress: float) -> float:
    """Full rate throughout."""
    return 1.0


def settling(progress: float) -> float:
    """Full rate for half of the stage, then down to 0.05."""
    return 1.0 - 0.95 * max(0.0, 2 * progress - 1)


def falling(progress: float) -> float:
    """Full rate for half of the stage, then down to 0.3."""
    return 1.0 - 0.7 * max(0.0, 2 * progress - 1)


def gently(progress: float) -> float:
    """Nothing for a tenth of the stage, in which a critic learns; then from 0.1 down to 0.01."""
    return 0.0 if progress < 0.1 else 0.1 - 0.1 * (progress - 0.1)


def to_zero(progress: float) -> float:
    """From 0.3 down to almost nothing."""
    return max(0.3 * (1 - progress), 0.003)


@dataclass(slots=True)
class Run:
    """One stage of the transformer."""

    trainee: Trainee
    source: Source
    layout: Layout
    mixture: Mixture
    schedule: Schedule
    clock: StageClock
    objective: Objective = flow_loss
    renew_every: int = 40
    renew: int = 64
    on_progress: Callable[[float], None] = lambda progress: None

    def train(self) -> None:
        """Until the clock says that the stage is over. Raises RuntimeError when the loss is too good to be true."""
        trainee, source = self.trainee, self.source
        planner = source.planner(self.layout)
        head_dim = trainee.model.config.attention_head_dim
        losses: list[Tensor] = []
        self._warm(planner, head_dim)
        while (progress := self.clock.progress()) < 1:
            if self.clock.step % self.renew_every == 0:
                source.pool.renew(self.renew)
            example = make_example(source, planner, self.mixture, self.layout, head_dim)
            if self._chance(self.schedule.own_share(progress)):
                example = self.schedule.context(trainee.model, example, self.layout, source.generator)
            losses.append(self._descend(example, self.schedule.rate(progress)))
            if self.clock.step % 50 == 0:
                self._report(losses)
                losses.clear()
                self.on_progress(progress)
        if losses:
            self._report(losses)

    def _descend(self, example: Example, rate: float) -> Tensor:
        loss = self.objective(self.trainee.model, example)
        self.trainee.step(loss, rate)
        return loss.detach()

    def _warm(self, planner: Planner, head_dim: int) -> None:
        """Compile everything before the clock starts: a few steps whose learning rate is nothing."""
        for _ in range(2):
            example = make_example(self.source, planner, self.mixture, self.layout, head_dim)
            if self.schedule.own_share(1.0) > 0:
                example = self.schedule.context(
                    self.trainee.model, example, self.layout, self.source.generator
                )
            self._descend(example, 0.0)
        if self.trainee.group.device.type == "cuda":
            torch.cuda.synchronize()

    def _report(self, losses: list[Tensor]) -> None:
        loss = float(torch.stack(losses).mean())
        self.clock.report(loss)
        if not math.isfinite(loss):
            raise RuntimeError("the loss is not finite any more: begin again from the weights that were kept")
        if self.objective is flow_loss and self.clock.step > 200 and loss < TOO_GOOD:
            raise RuntimeError(f"a loss of {loss:.5f} is too good to be true: the latents must be broken")

    def _chance(self, share: float) -> bool:
        """The same answer in every process."""
        step = self.clock.step
        return share > 0 and (step * 0.6180339887) % 1.0 < share
