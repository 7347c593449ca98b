"""Does a world come back? Recall of what no prompt names, by retrieval policy (DESIGN 8).

An episode is made from text alone: after a moment elsewhere a scene is visited for about ten seconds, other
scenes elsewhere follow, and the first returns in other words. What is hidden from the prompts (colours,
arrangement) is read from the frames at the end of the first visit and again on the return; accuracy is the share
that agrees. The history is made once and forked for each policy, so that the policies differ in nothing but what
they recall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from worldattention.core.config import EngineConfig, with_choices
from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.recall_plan import EpisodePlan, plan_episode
from worldattention.core.evaluation.recall_report import (
    Episode,
    Reading,
    RecallReport,
    majority,
    recall_record,
    recall_report,
)
from worldattention.core.evaluation.records import EVERYTHING, NO_RECORDS, Recorder, Share
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.telemetry import BlockResult

POLICIES = ("hkv", "chunk", "recent", "random", "mismatched", "none")
Frames = npt.NDArray[np.uint8]
Progress = Callable[[int, int], None]
"""Takes the blocks that are done and the blocks in all."""


Reader = Callable[[Frames, EpisodePlan], Sequence[Mapping[str, int]]]
"""Reads the hidden attributes of every frame [T, H, W, 3] of a scene: one mapping a frame."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to come back: a retrieval policy, and how many chunks its first stage keeps (None: as configured)."""

    name: str
    retrieval: str
    stage1_width: int | None = None

    def of(self, config: EngineConfig) -> EngineConfig:
        """The configuration of the fork that comes back this way."""
        config = with_choices(config, retrieval=self.retrieval)
        if self.stage1_width is None:
            return config
        return replace(config, cache=replace(config.cache, stage1_width=self.stage1_width))


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """Sizes of an evaluation. Blocks count pixel blocks; `read_blocks` at the end of a stay are read.

    `attention` None is the worlds' own; `widths` adds `hkv` with these many chunks in stage 1; only the episodes of
    `share` are made.
    """

    episodes: int = 16
    seed: int = 0
    prologue_blocks: int = 1
    visit_blocks: int = 13
    absences: int = 6
    return_blocks: int = 4
    read_blocks: int = 2
    frame_stride: int = 3
    policies: tuple[str, ...] = POLICIES
    widths: tuple[int, ...] = ()
    attention: str | None = None
    share: Share = EVERYTHING

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The ways to come back, each from the same history."""
        widths = (Variant(width_name(width), "hkv", width) for width in self.widths)
        return (*(Variant(policy, policy) for policy in self.policies), *widths)

    @property
    def blocks(self) -> int:
        """Blocks of the whole evaluation."""
        history = self.prologue_blocks + self.visit_blocks * (1 + self.absences)
        episodes = len(self.share.of(self.episodes))
        return episodes * (history + self.return_blocks * len(self.variants))


def width_name(width: int) -> str:
    """The row of `hkv` with `width` chunks in its first stage."""
    return f"hkv, {width} {'chunk' if width == 1 else 'chunks'}"


def evaluate_recall(
    worlds: Worlds,
    reader: Reader,
    settings: RecallSettings,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
    recorder: Recorder = NO_RECORDS,
) -> RecallReport:
    """Runs the episodes in `worlds` (which are reset) and sums them up; `recorder` gets every return at once.

    Raises:
        UserError: nothing could be read, or records cannot be written.
        Cancelled: `cancel` said so.
    """
    done = 0

    def advance(engine: World, prompt: str, blocks: int) -> tuple[list[Frames], BlockResult]:
        nonlocal done
        frames = []
        for _ in range(blocks):
            if cancel is not None and cancel():
                raise Cancelled
            result = engine.step(prompt, cancel)
            frames.append(result.frames)
            done += 1
            if progress is not None:
                progress(done, settings.blocks)
        return frames, result

    attention = settings.attention or worlds.config.attention.mode
    about = {"what": "recall", "attention": attention, "seed": settings.seed}
    run = partial(
        _run_episode,
        reader=reader,
        settings=settings,
        advance=advance,
        keep=lambda episode, variant: recorder.add(about, recall_record(episode, variant)),
    )
    episodes = worlds.map([partial(run, index=index) for index in settings.share.of(settings.episodes)])
    return recall_report(episodes, attention, settings.seed)


def _run_episode(
    world: World,
    reader: Reader,
    settings: RecallSettings,
    index: int,
    advance: Callable[[World, str, int], tuple[list[Frames], BlockResult]],
    keep: Callable[[Episode, str], None],
) -> Episode:
    plan = plan_episode(index, settings.seed, settings.absences)

    def read(blocks: list[Frames]) -> Reading:
        return majority(reader(np.concatenate(blocks)[:: settings.frame_stride], plan))

    world.reset(plan.seed)
    world.configure(with_choices(world.config, attention=settings.attention))
    advance(world, plan.prologue, settings.prologue_blocks)
    stay, last = advance(world, plan.visit, settings.visit_blocks)
    count = settings.read_blocks
    first, earlier = read(stay[-count:]), read(stay[-2 * count : -count])
    start, stop = settings.prologue_blocks, settings.prologue_blocks + settings.visit_blocks
    visited = range(start * world.geometry.block_latents, stop * world.geometry.block_latents)
    for prompt in plan.absence:
        _, last = advance(world, prompt, settings.visit_blocks)
    episode = Episode(index, plan.scene.place, first, earlier, {}, {}, len(last.telemetry.pages))
    for variant in settings.variants:
        with closing(world.fork(variant.of(world.config))) as branch:
            back, end = advance(branch, plan.comeback, settings.return_blocks)
        episode.returns[variant.name] = read(back[-count:])
        pages = [span.first_frame in visited for span in end.telemetry.window if span.kind == "page"]
        episode.recalled[variant.name] = (sum(pages), len(pages))
        keep(episode, variant.name)
    return episode
