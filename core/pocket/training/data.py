"""What the transformer is trained on: a pool of episodes as latents on the device, renewed bit by bit.

Rendering and encoding once and reading many windows out of the same episode keeps the device on training: noise,
window and wording of every sample are drawn anew anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.geometry import FPS
from worldattention.core.pocket.grammar import PARAPHRASES, prompt_index
from worldattention.core.pocket.render import build, draw
from worldattention.core.pocket.scenes import sample_hidden, sample_scenes
from worldattention.core.pocket.truth import labels

SEGMENTS = 3
FRAMES_PER_LATENT = 4


@dataclass(frozen=True, slots=True)
class Clip:
    """A continuous shot of one segment of an episode, in latents."""

    segment: int
    latents: int


FIRST, OTHER, RETURN, THIRD = range(4)
CLIPS = (Clip(0, 42), Clip(1, 42), Clip(0, 18), Clip(2, 18))
"""The first scene, another, the first again at another time, and a third; all of one hidden world."""

Encode = Callable[[Tensor], Tensor]
"""frames [B, 4F, H, W, 3] in 0..1 -> latents [B, F, C, h, w]."""


@dataclass(frozen=True, slots=True)
class ClipTable:
    """Where each clip lies among an episode's latents: `start` [clips], `length` [clips], `clip_of` [L]."""

    start: Tensor
    length: Tensor
    clip_of: Tensor

    @classmethod
    def of(cls, clips: tuple[Clip, ...], device: torch.device) -> ClipTable:
        """The table of `clips`, one after the other."""
        length = torch.tensor([clip.latents for clip in clips], device=device)
        return cls(
            length.cumsum(0) - length,
            length,
            torch.arange(len(clips), device=device).repeat_interleave(length),
        )


class LatentPool:
    """`latents` [E, L, C, h, w] fp16; `prompts` [E, clips, PARAPHRASES], rows of the prompt table; `truth`
    [E, clips, attributes], the labels of `core.pocket.truth`."""

    def __init__(
        self, encode: Encode, episodes: int, generator: torch.Generator, chunk: int = 16, hold: int = 1
    ) -> None:
        """Render and encode `episodes` episodes; `generator` lives on the device and is kept for renewals.

        `hold` draws only every so many frames and repeats them: for toys, whose renderer is the CPU's.
        """
        self._encode, self._generator, self._chunk, self._hold = encode, generator, chunk, hold
        self.device = generator.device
        self.clips = ClipTable.of(CLIPS, self.device)
        self._cursor = 0
        first = self._episodes(min(chunk, episodes))
        self.latents = torch.empty(episodes, *first[0].shape[1:], dtype=torch.float16, device=self.device)
        self.prompts = torch.empty(episodes, *first[1].shape[1:], dtype=torch.long, device=self.device)
        self.truth = torch.empty(episodes, *first[2].shape[1:], dtype=torch.long, device=self.device)
        self._store(*first)
        while self._cursor:
            self._store(*self._episodes(min(chunk, episodes - self._cursor)))

    def renew(self, episodes: int) -> None:
        """Replace the oldest `episodes` episodes by new ones."""
        while episodes > 0:
            count = min(episodes, self._chunk, len(self.latents) - self._cursor)
            self._store(*self._episodes(count))
            episodes -= count

    def _store(self, latents: Tensor, prompts: Tensor, truth: Tensor) -> None:
        rows = slice(self._cursor, self._cursor + len(latents))
        self.latents[rows], self.prompts[rows], self.truth[rows] = latents, prompts, truth
        self._cursor = rows.stop % len(self.latents)

    @torch.no_grad()
    def _episodes(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Latents [count, L, C, h, w], prompt rows [count, clips, PARAPHRASES] and truth of new episodes."""
        generator, device = self._generator, self.device
        hidden = sample_hidden(count, generator, device)
        scene = sample_scenes(count, SEGMENTS, generator, device)
        which, seconds = (times[:, :: self._hold] for times in shots(count, CLIPS, generator))
        frames = draw(build(hidden, scene, which, seconds), which).repeat_interleave(self._hold, 1)
        wordings = torch.arange(PARAPHRASES, device=device)
        by_segment = torch.stack(
            [
                torch.stack([prompt_index(scene, s, wording.expand(count)) for wording in wordings], 1)
                for s in range(SEGMENTS)
            ],
            1,
        )
        segments = torch.tensor([clip.segment for clip in CLIPS], device=device)
        truth = torch.stack([labels(hidden, scene, s) for s in range(SEGMENTS)], 1)
        return self._encode(frames).half(), by_segment[:, segments], truth[:, segments]


def shots(batch: int, clips: tuple[Clip, ...], generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Segment [B, T] and time [B, T] of every pixel frame of `clips`, each clip starting at a time of its own."""
    device = generator.device
    which, seconds = [], []
    for clip in clips:
        frames = clip.latents * FRAMES_PER_LATENT
        which.append(torch.full((batch, frames), clip.segment, device=device))
        start = 60 * torch.rand(batch, 1, generator=generator, device=device)
        seconds.append(start + torch.arange(frames, device=device) / FPS)
    return torch.cat(which, 1), torch.cat(seconds, 1)
