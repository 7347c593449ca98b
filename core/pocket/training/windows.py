"""Training sequences that look like the window of inference (DESIGN 3, `playground`).

A sequence is memory frames, then clean frames, then the same frames noisy; who sees whom is a mask of frames. One
sequence trains several blocks at once: each noisy block sees memory and the clean frames before it, as a block of
a running world sees its window. Positions are window slots.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.pocket.training.data import FIRST, OTHER, RETURN, THIRD, LatentPool

BLOCK = 3
BUDGET = 32
SINK = 3
PAGE = 8
PAGES = 3


@dataclass(frozen=True, slots=True)
class Layout:
    """Frames of a sequence: `memory`, then `clean`, then as many noisy ones. All are multiples of a block."""

    memory: int
    clean: int

    @property
    def frames(self) -> int:
        """Frames of a whole sequence."""
        return self.memory + 2 * self.clean

    @property
    def noisy_from(self) -> int:
        """The first noisy frame."""
        return self.memory + self.clean


SCENES_LAYOUT = Layout(0, 12)
MEMORY_LAYOUT = Layout(SINK + PAGES * PAGE, 12)


@dataclass(frozen=True, slots=True)
class Plan:
    """B sequences of F frames, before latents are read.

    source [B, F]: which latent of the episode; noisy [B, F]: whether the frame is to be denoised; position
    [B, F]: its slot; visible [B, F, F]: query frame -> key frame.
    """

    source: Tensor
    noisy: Tensor
    position: Tensor
    visible: Tensor

    def where(self, chosen: Tensor, other: Plan) -> Plan:
        """This plan for the samples that are `chosen` [B], `other` for the rest."""
        c = chosen[:, None]
        return Plan(
            torch.where(c, self.source, other.source),
            torch.where(c, self.noisy, other.noisy),
            torch.where(c, self.position, other.position),
            torch.where(c[..., None], self.visible, other.visible),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """A plan with its latents [B, F, C, h, w] fp32 and prompts.

    episode [B]: row of the pool; prompts [B, P]: rows of the prompt table, -1 for no text; frame_prompt
    [B, F]: which of the P a frame has.
    """

    plan: Plan
    episode: Tensor
    latents: Tensor
    prompts: Tensor
    frame_prompt: Tensor


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of the kinds of sequences; what is left is recall."""

    nothing: float
    continued: float
    switched: float
    paired: float = 0.0


SCENES_MIXTURE = Mixture(nothing=0.45, continued=0.35, switched=0.2)
MEMORY_MIXTURE = Mixture(nothing=0.2, continued=0.2, switched=0.15)
WHOLE_MIXTURE = Mixture(nothing=0.35, continued=0.05, switched=0.1, paired=0.2)
"""All in one layout, so that one compilation serves: more of a sequence is to be denoised than in `MEMORY_MIXTURE`."""


class Planner:
    """Draws plans for one pool and one generator."""

    def __init__(self, pool: LatentPool, layout: Layout, generator: torch.Generator) -> None:
        self._pool, self._layout, self._generator = pool, layout, generator
        self._clips = pool.clips
        self._device = generator.device

    def draw(self, batch: int, mixture: Mixture) -> Plan:
        """A mixed batch."""
        lot = self.uniform(batch)
        plan = self.nothing(batch)
        upto = mixture.nothing
        kinds = (
            (mixture.continued, self.continued),
            (mixture.switched, self.switched),
            (mixture.paired, self.paired),
        )
        for share, make in kinds:
            plan = plan.where(lot < upto, make(batch)) if share else plan
            upto += share
        return plan.where(lot < upto, self.recall(batch)) if self._layout.memory and upto < 1 else plan

    def nothing(self, batch: int) -> Plan:
        """Every block alone: scenes from text and noise only."""
        frames, device = self._layout.frames, self._device
        first = torch.arange(len(self._clips.clip_of) - BLOCK + 1, device=device)
        first = first[self._clips.clip_of[first] == self._clips.clip_of[first + BLOCK - 1]]
        picked = first[self.below(len(first), batch, frames // BLOCK)]
        source = (picked[..., None] + torch.arange(BLOCK, device=device)).flatten(1)
        position = torch.arange(frames, device=device).expand(batch, -1)
        block = torch.arange(frames, device=device) // BLOCK
        visible = (block[:, None] == block).expand(batch, -1, -1)
        return Plan(source, torch.ones_like(source, dtype=torch.bool), position, visible)

    def continued(self, batch: int, history: Tensor | None = None) -> Plan:
        """One shot whose earlier frames are the window; `history` [B] visible memory frames, None for random."""
        return self._run(
            batch, torch.full((batch,), self._layout.clean // BLOCK, device=self._device), history
        )

    def switched(self, batch: int, switch: Tensor | None = None, history: Tensor | None = None) -> Plan:
        """A shot that is cut to another scene at block `switch` [B] of the clean frames, nothing recalled."""
        if switch is None:
            switch = 1 + self.below(self._layout.clean // BLOCK - 1, batch)
        return self._run(batch, switch, history)

    def paired(self, batch: int) -> Plan:
        """Two shots without memory and a block from nothing, side by side in a layout with memory; no shot sees
        the other. Noisy frames come first, where other sequences have their memory: see `own_context`."""
        own = Planner(self._pool, SCENES_LAYOUT, self._generator)
        half = SCENES_LAYOUT.clean
        turned = torch.arange(2 * half, device=self._device).roll(half)
        single = self.nothing(batch)
        source, noisy, position = [], [], []
        visible = torch.zeros(batch, self._layout.frames, self._layout.frames, dtype=torch.bool)
        visible = visible.to(self._device)
        for index in range(2):
            cut = self.uniform(batch) < 0.3
            plan = own.switched(batch).where(cut, own.continued(batch))
            source.append(plan.source[:, turned])
            noisy.append(plan.noisy[:, turned])
            position.append(plan.position[:, turned])
            span = slice(2 * half * index, 2 * half * (index + 1))
            visible[:, span, span] = plan.visible[:, turned][:, :, turned]
        rest = slice(4 * half, None)
        visible[:, rest, rest] = single.visible[:, rest, rest]
        return Plan(
            torch.cat([*source, single.source[:, rest]], 1),
            torch.cat([*noisy, single.noisy[:, rest]], 1),
            torch.cat([*position, single.position[:, rest]], 1),
            visible,
        )

    def _run(self, batch: int, switch: Tensor, history: Tensor | None) -> Plan:
        layout, device = self._layout, self._device
        shown = torch.arange(layout.noisy_from, device=device)
        clip = torch.where(self.uniform(batch) < 0.5, FIRST, OTHER)
        start = self._start(clip, layout.noisy_from)
        then = self._start(FIRST + OTHER - clip, layout.clean)
        cut = layout.memory + BLOCK * switch
        source = torch.where(
            shown < cut[:, None], start[:, None] + shown, then[:, None] + shown - cut[:, None]
        )
        if history is None:
            some = BLOCK * self.below(layout.memory // BLOCK + 1, batch)
            history = torch.where(self.uniform(batch) < 0.5, layout.memory, some)
        oldest = (layout.memory - history)[:, None, None]

        time, kind = self._times()
        q, k = time[:, None] // BLOCK, time // BLOCK
        past = (k < q) & (time >= BLOCK * q - BUDGET) & (kind < 2)
        own = (k == q) & (kind[:, None] == kind)
        # Frames of one kind and memory in front of clean frames; noisy frames are seen by their own block only.
        visible = (past & (time >= oldest)) | own
        return self._plan(source, time.expand(batch, -1), visible)

    def recall(
        self,
        batch: int,
        switch: Tensor | None = None,
        right: Tensor | None = None,
        pages: Tensor | None = None,
    ) -> Plan:
        """Another scene, then at block `switch` [B] the first scene again, with pages in the window.

        `right` [B, PAGES]: whether a page shows the first scene; `pages` [B]: how many there are.
        """
        layout, device = self._layout, self._device
        if switch is None:
            lot = self.uniform(batch)
            switch = (lot[:, None] > torch.tensor([0.2, 0.45, 0.7, 0.95], device=device)).sum(1)
        if right is None:
            lot, mixed = self.uniform(batch, 1), self.uniform(batch, PAGES) < 0.5
            right = (lot < 0.55) | ((lot < 0.75) & mixed)
        if pages is None:
            pages = 1 + (self.uniform(batch)[:, None] > torch.tensor([0.2, 0.4], device=device)).sum(1)
        memory, present, chain = self._memory(batch, right, pages)

        shown = torch.arange(layout.clean, device=device)
        before, after = (
            self._start_of(OTHER, batch, layout.clean),
            self._start_of(RETURN, batch, layout.clean),
        )
        cut = BLOCK * switch[:, None]
        clean = torch.where(shown < cut, before[:, None] + shown, after[:, None] + shown - cut)

        # Recent frames follow the pages directly. One set of slots serves all blocks of a sequence, so the
        # clean frames are moved such that it is exact for one of them, and what would overlap is hidden.
        recent = BUDGET - SINK - PAGE * pages
        moved = torch.tensor([0, 1, 4], device=device)[self.below(3, batch)] * (pages == PAGES)
        slots = present.sum(1, keepdim=True)
        slot = torch.cat([present.cumsum(1) - 1, slots - moved[:, None] + shown], 1).clamp(min=0)
        position = torch.cat([slot, slot[:, layout.memory :]], 1)

        visible = torch.zeros(batch, layout.frames, layout.frames, dtype=torch.bool, device=device)
        visible[:, : layout.memory, : layout.memory] = chain
        q, k = shown[:, None] // BLOCK, shown // BLOCK
        past = (k < q) & (shown >= BLOCK * q - recent[:, None, None])
        own = k == q
        c, n = slice(layout.memory, layout.noisy_from), slice(layout.noisy_from, None)
        visible[:, c, c] = past | own
        visible[:, n, c] = past & (shown >= moved[:, None, None])
        visible[:, n, n] = own
        reads = torch.stack([self.uniform(batch) < 0.5, torch.ones(batch, device=device) > 0], 1)
        reads = reads.repeat_interleave(layout.clean, 1)
        visible[:, layout.memory :, : layout.memory] = reads[..., None] & present[:, None]
        return self._plan(torch.cat([memory, clean], 1), position, visible)

    def _memory(self, batch: int, right: Tensor, pages: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sources [B, M] of sink and pages, which of them are present [B, M], and who of them sees whom."""
        device = self._device
        clip = torch.where(self.uniform(batch, PAGES) < 0.5, OTHER, THIRD)
        clip = torch.where(right, FIRST, clip)
        start = self._start(clip, PAGE)
        ordered = start.sort(1).values  # chronological where all pages are of one clip
        length = self._clips.length[FIRST]
        base = self._clips.start[FIRST] + self.below(int(length) - PAGES * PAGE + 1, batch)
        run = base[:, None] + PAGE * torch.arange(PAGES, device=device)
        joined = right.all(1, keepdim=True) & (self.uniform(batch, 1) < 0.5)
        start = torch.where(joined, run, torch.where(right.all(1, keepdim=True), ordered, start))
        sink_clip = torch.tensor([FIRST, OTHER, THIRD], device=device)[self.below(3, batch)]
        sink = self._start(sink_clip, SINK)
        source = torch.cat(
            [
                sink[:, None] + torch.arange(SINK, device=device),
                (start[..., None] + torch.arange(PAGE, device=device)).flatten(1),
            ],
            1,
        )
        has_page = torch.arange(PAGES, device=device) >= PAGES - pages[:, None]
        has_sink = self.uniform(batch, 1) < 0.9
        present = torch.cat([has_sink.expand(-1, SINK), has_page.repeat_interleave(PAGE, 1)], 1)

        page = (
            torch.cat([torch.zeros(SINK), 1 + torch.arange(PAGES).repeat_interleave(PAGE)]).to(device).long()
        )
        within = torch.cat([torch.arange(SINK), torch.arange(PAGE).repeat(PAGES)]).to(device)
        block = (within + self.below(BLOCK, batch, 1)) // BLOCK
        together = (page[:, None] == page) & (block[:, :, None] >= block[:, None])
        shot = self._clips.clip_of[source]
        earlier = (page[:, None] > page) & (shot[:, :, None] == shot[:, None]) & present[:, None]
        linked = self.uniform(batch, 1, 1) < 0.7
        return source, present, together | (earlier & linked)

    def _times(self) -> tuple[Tensor, Tensor]:
        """Time [F] and kind [F] (0 memory, 1 clean, 2 noisy) of the frames of a continuous shot."""
        layout, device = self._layout, self._device
        shown = torch.arange(layout.noisy_from, device=device)
        kind = torch.tensor([0, 1, 2], device=device).repeat_interleave(
            torch.tensor([layout.memory, layout.clean, layout.clean], device=device)
        )
        return torch.cat([shown, shown[layout.memory :]]), kind

    def _plan(self, shown: Tensor, position: Tensor, visible: Tensor) -> Plan:
        """The plan of frames `shown` [B, memory + clean], the clean ones repeated as noisy ones."""
        source = torch.cat([shown, shown[:, self._layout.memory :]], 1)
        noisy = torch.arange(self._layout.frames, device=self._device) >= self._layout.noisy_from
        return Plan(source, noisy.expand_as(source), position, visible)

    def _start(self, clip: Tensor, frames: int) -> Tensor:
        """A random first latent of a run of `frames` within each of `clip` [...]."""
        room = self._clips.length[clip] - frames + 1
        return self._clips.start[clip] + (self.uniform(*clip.shape) * room).long().clamp(max=room - 1)

    def _start_of(self, clip: int, batch: int, frames: int) -> Tensor:
        return self._start(torch.full((batch,), clip, device=self._device), frames)

    def uniform(self, *shape: int) -> Tensor:
        """Uniform numbers in [0, 1)."""
        return torch.rand(shape, generator=self._generator, device=self._device)

    def below(self, n: int, *shape: int) -> Tensor:
        """Uniform whole numbers in [0, n)."""
        return torch.randint(n, shape, generator=self._generator, device=self._device)


def read_batch(pool: LatentPool, plan: Plan, generator: torch.Generator, text_dropout: float = 0.06) -> Batch:
    """The latents and prompts of a plan, each sample from a random episode, each shot in a random wording."""
    device = pool.device
    batch, clips = len(plan.source), pool.prompts.shape[1]
    episode = torch.randint(len(pool.latents), (batch,), generator=generator, device=device)
    wording = torch.randint(pool.prompts.shape[2], (batch, clips), generator=generator, device=device)
    prompts = pool.prompts[episode].gather(2, wording[..., None])[..., 0]
    dropped = torch.rand(batch, clips, generator=generator, device=device) < text_dropout
    latents = pool.latents[episode[:, None], plan.source].float()
    return Batch(plan, episode, latents, prompts.masked_fill(dropped, -1), pool.clips.clip_of[plan.source])
