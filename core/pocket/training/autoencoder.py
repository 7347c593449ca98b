"""The autoencoder's stage: reconstruct rendered clips, with most weight on what moves."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.geometry import FPS
from worldattention.core.models.vae import FRAMES, PocketAutoencoder, stack_frames, unstack_frames
from worldattention.core.pocket.render import Drawing, build, draw
from worldattention.core.pocket.scenes import sample_hidden, sample_scenes
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.sharpening import Sharpener

RATE = 2e-3
WARMUP_STEPS = 100
EMA_DECAY = 0.998
LATENT_NOISE = 0.15
MOVING = 3.0
"""Weights above this mark pixels that move."""


@dataclass(frozen=True, slots=True)
class Quality:
    """PSNR in dB over all pixels and over moving ones; standard deviation of latents; energies of differences in space
    and in time over those of the renders (1 is as crisp as these)."""

    psnr: float
    moving_psnr: float
    latent_std: float
    gradient: float
    motion: float


class ClipSource:
    """Short rendered clips. Shapes are built for many episodes at once, since building is bound by launches."""

    def __init__(
        self,
        latents: int,
        batch: int,
        ahead: int,
        generator: torch.Generator,
        crop: tuple[int, int] = (128, 256),
    ) -> None:
        """`ahead`: batches built at once; `crop`: rows and columns kept of a picture, fewer for toys."""
        self._crop = crop
        self._latents, self._batch, self._ahead = latents, batch, ahead
        self._generator = generator
        self._drawing: Drawing | None = None
        self._which = torch.empty(0)
        self._next = 0

    def clips(self) -> Tensor:
        """[batch, 4 * latents, H, W, 3]; one clip in eight is cut to another scene at a latent's border."""
        if self._drawing is None or self._next == self._ahead:
            self._build()
        assert self._drawing is not None
        rows = slice(self._next * self._batch, (self._next + 1) * self._batch)
        self._next += 1
        height, width = self._crop
        return draw(self._drawing.select(rows), self._which[rows])[:, :, :height, :width]

    def _build(self) -> None:
        generator, device = self._generator, self._generator.device
        count, frames = self._batch * self._ahead, FRAMES * self._latents
        hidden = sample_hidden(count, generator, device)
        scene = sample_scenes(count, 2, generator, device)
        latent = torch.arange(frames, device=device) // FRAMES
        cut = torch.randint(1, self._latents, (count, 1), generator=generator, device=device)
        is_cut = torch.rand(count, 1, generator=generator, device=device) < 0.125
        self._which = ((latent >= cut) & is_cut).long()
        start = 60 * torch.rand(count, 1, generator=generator, device=device)
        seconds = start + torch.arange(frames, device=device) / FPS
        self._drawing = build(hidden, scene, self._which, seconds)
        self._next = 0


def motion_weights(frames: Tensor) -> Tensor:
    """[B, T, H, W, 3] -> 1 where nothing moves, up to 6 where a pixel leaves its mean over the clip."""
    away = (frames - frames.mean(1, keepdim=True)).abs().amax(-1, keepdim=True)
    return (1 + 5 * (6 * away).clamp(0, 1)).expand_as(frames)


def reconstruction_loss(out: Tensor, target: Tensor, weights: Tensor) -> Tensor:
    """Weighted L1, 0.6 x L1 of spatial differences, 2 x squared error; all [N, 12, H, W]."""
    error = out - target
    loss = (error.abs() * weights).mean() + 2 * (error.square() * weights).mean()
    for dim in (-1, -2):
        edges = error.diff(dim=dim).abs()
        loss = loss + 0.6 * (edges * weights.narrow(dim, 0, edges.shape[dim])).mean()
    return loss


@dataclass(slots=True)
class AutoencoderRun:
    """Trains `model`; with `decoder_only` what latents mean stays as it is, so that a transformer stays right.

    A `sharpener` pulls from an eighth of the time on; until then it only learns.
    """

    model: PocketAutoencoder
    source: ClipSource
    latents: int
    group: Group
    clock: StageClock
    statistics_batches: int = 12
    decoder_only: bool = False
    rate: float = RATE
    sharpener: Sharpener | None = None

    def train(self) -> PocketAutoencoder:
        """Until the clock says so; returns the averaged model with exact statistics, in evaluation mode."""
        self.group.share(parameter.data for parameter in self.model.parameters())
        model = self.model.train().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        learns = self._learning(model)
        average = copy.deepcopy(model).requires_grad_(False)
        fused = self.group.device.type == "cuda"
        adam = torch.optim.AdamW(learns, self.rate, (0.9, 0.98), weight_decay=0.01, fused=fused)
        forward = torch.compile(self._forward, dynamic=False) if fused else self._forward
        losses: list[Tensor] = []
        self._descend(forward, adam, 0.0)
        step = 0
        while (progress := self.clock.progress()) < 1:
            for settings in adam.param_groups:
                settings["lr"] = self.rate * min(1.0, (step + 1) / WARMUP_STEPS) * _cooling(progress)
            losses.append(self._descend(forward, adam, min(1.0, max(0.0, 8 * progress - 1))))
            step += 1
            decay = min(EMA_DECAY, 1 - 1 / (0.1 * step + 2))
            self._follow(average, decay)
            if step % 100 == 0:
                self._report(losses)
                losses.clear()
        if losses:
            self._report(losses)
        if not self.decoder_only:
            measure_statistics(average, self.source, self.statistics_batches)
            self.group.average(list(average.buffers())[:2])
        return average.eval().requires_grad_(True)

    def _report(self, losses: list[Tensor]) -> None:
        loss = float(torch.stack(losses).mean())
        self.clock.report(loss)
        if not math.isfinite(loss):
            raise RuntimeError("the autoencoder's loss is not finite any more: begin again")

    def _learning(self, model: PocketAutoencoder) -> list[torch.nn.Parameter]:
        """The parameters to train; the others are frozen."""
        if self.decoder_only:
            model.encoder.requires_grad_(False)
            model.norm.eval()
        return [parameter for parameter in model.parameters() if parameter.requires_grad]

    def _forward(self, stacks: Tensor, scatter: Tensor) -> Tensor:
        latents = self.model.encode_stacks(stacks)
        out: Tensor = self.model.decoder(latents + scatter, self.latents)[0]
        return out.float()

    def _descend(
        self, forward: Callable[[Tensor, Tensor], Tensor], adam: torch.optim.Optimizer, pull: float
    ) -> Tensor:
        frames = self.source.clips().float()
        stacks = stack_frames(frames).contiguous(memory_format=torch.channels_last)
        weights = stack_frames(motion_weights(frames))
        shape = (len(stacks), self.model.config.latent_channels, stacks.shape[2] // 8, stacks.shape[3] // 8)
        scatter = LATENT_NOISE * torch.randn(shape, device=stacks.device)
        scatter = scatter * torch.rand(len(stacks), 1, 1, 1, device=stacks.device)
        with torch.autocast(stacks.device.type, torch.bfloat16, enabled=stacks.is_cuda):
            out = forward(stacks, scatter)
        loss = reconstruction_loss(out, stacks, weights)
        adam.zero_grad(set_to_none=True)
        if self.sharpener is None:
            loss.backward()
        else:
            out.backward(self.sharpener.gradient(loss, out, stacks, weights, pull))
        self.group.average_gradients(self.model.parameters())
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        adam.step()
        return loss.detach()

    @torch.no_grad()
    def _follow(self, average: PocketAutoencoder, decay: float) -> None:
        torch._foreach_lerp_(list(average.parameters()), list(self.model.parameters()), 1 - decay)
        for own, other in zip(average.buffers(), self.model.buffers(), strict=True):
            own.copy_(other)


def _cooling(progress: float) -> float:
    """Full rate for 40 % of the time, then linearly down to 1 %."""
    return 1.0 if progress < 0.4 else max(0.01, 1 - (progress - 0.4) / 0.6)


@torch.no_grad()
def measure_statistics(model: PocketAutoencoder, source: ClipSource, batches: int) -> None:
    """Set the latents' mean and variance exactly, from fresh clips."""
    total, squares, count = 0.0, 0.0, 0
    for _ in range(batches):
        stacks = stack_frames(source.clips().float()).contiguous(memory_format=torch.channels_last)
        raw = model.encoder(stacks * 2 - 1).double()
        total = total + raw.sum((0, 2, 3))
        squares = squares + raw.square().sum((0, 2, 3))
        count += raw.numel() // raw.shape[1]
    mean = torch.as_tensor(total) / count
    variance = torch.as_tensor(squares) / count - mean.square()
    assert model.norm.running_mean is not None
    assert model.norm.running_var is not None
    model.norm.running_mean.copy_(mean)
    model.norm.running_var.copy_(variance)


@torch.no_grad()
def measure_quality(model: PocketAutoencoder, source: ClipSource, batches: int) -> Quality:
    """Reconstruction of fresh clips in the arithmetic of inference."""
    squares, moving, pixels, movers, spread = 0.0, 0.0, 0, 0, []
    of_made, of_true = torch.zeros(2), torch.zeros(2)
    for _ in range(batches):
        frames = source.clips().float()
        with torch.autocast(frames.device.type, torch.bfloat16, enabled=frames.is_cuda):
            latents = model.encode(frames)
            flat = latents.flatten(0, 1).contiguous(memory_format=torch.channels_last)
            out = unstack_frames(model.decoder(flat, latents.shape[1])[0].float(), len(frames))
        out = out.clamp(0, 1)
        error = (out - frames).square()
        of_made, of_true = of_made + mean_energies(out).cpu(), of_true + mean_energies(frames).cpu()
        moves = motion_weights(frames) > MOVING
        squares += float(error.sum())
        moving += float(error[moves].sum())
        pixels, movers = pixels + error.numel(), movers + int(moves.sum())
        spread.append(float(latents.std()))
    gradient, motion = (of_made / of_true).tolist()
    return Quality(_psnr(squares, pixels), _psnr(moving, movers), sum(spread) / len(spread), gradient, motion)


def mean_energies(frames: Tensor) -> Tensor:
    """[2] mean squares of differences in space and in time; frames [B, T, H, W, 3]."""
    across, down = (frames.diff(dim=dim).square().mean() for dim in (2, 3))
    return torch.stack([(across + down) / 2, frames.diff(dim=1).square().mean()])


def _psnr(squares: float, count: int) -> float:
    return -10 * math.log10(max(squares / max(count, 1), 1e-12))
