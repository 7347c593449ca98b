"""Does a world come back? Recall of what no prompt names, by retrieval policy (DESIGN 8).

An episode is made from text alone: after a moment elsewhere a scene is visited for about ten seconds, other
scenes elsewhere follow, and the first returns in other words. What is hidden from the prompts (colours,
arrangement) is read from the frames at the end of the first visit and again on the return; accuracy is the share
that agrees. The history is made once and forked for each policy, so that the policies differ in nothing but what
they recall.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from worldattention.core.config import EngineConfig, with_choices
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.evaluation.recall_plan import EpisodePlan, plan_episode
from worldattention.core.evaluation.statistics import Estimate, Hits, estimate_difference, estimate_share
from worldattention.core.evaluation.variety import variety
from worldattention.core.evaluation.worlds import World, Worlds
from worldattention.core.telemetry import BlockResult

POLICIES = ("hkv", "chunk", "recent", "random", "mismatched", "none")
Frames = npt.NDArray[np.uint8]
Reading = dict[str, int]
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

    `attention` None is the worlds' own; `widths` adds `hkv` with these many chunks in stage 1.
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

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The ways to come back, each from the same history."""
        widths = (Variant(width_name(width), "hkv", width) for width in self.widths)
        return (*(Variant(policy, policy) for policy in self.policies), *widths)

    @property
    def blocks(self) -> int:
        """Blocks of the whole evaluation."""
        history = self.prologue_blocks + self.visit_blocks * (1 + self.absences)
        return self.episodes * (history + self.return_blocks * len(self.variants))


def width_name(width: int) -> str:
    """The row of `hkv` with `width` chunks in its first stage."""
    return f"hkv, {width} {'chunk' if width == 1 else 'chunks'}"


@dataclass(frozen=True, slots=True)
class Episode:
    """What was read in one episode."""

    plan: EpisodePlan
    first: Reading
    earlier: Reading
    returns: dict[str, Reading]
    pages: int


@dataclass(frozen=True, slots=True)
class RecallReport:
    """Accuracy by policy; `chance` and `ceiling` bound what can be reached, `gain` is each rival against hkv.

    `hits` are the episodes behind each estimate, for pairing with another report of the same episodes; `variety`
    is the entropy of what first visits show over that of the renderer.
    """

    estimates: dict[str, Estimate]
    gain: dict[str, Estimate]
    pages_min: int
    attention: str
    settings: RecallSettings
    variety: float
    hits: dict[str, list[Hits]]
    by_attribute: dict[str, dict[str, float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """`{"hkv": {"accuracy", "low", "high", "n"}, ...}`, and under `about` what was done."""
        return {
            **{name: estimate.to_json() for name, estimate in self.estimates.items()},
            "about": {
                "attention": self.attention,
                "episodes": self.settings.episodes,
                "seed": self.settings.seed,
                "pages_before_return": self.pages_min,
                "variety": self.variety,
                "hkv_minus": {name: estimate.to_json() for name, estimate in self.gain.items()},
                "by_attribute": self.by_attribute,
            },
        }

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"Recall after an absence, attention {self.attention}, {self.settings.episodes} episodes, "
            f"at least {self.pages_min} pages in the bank, variety {self.variety:.2f}",
            "",
            "| retrieval | accuracy | 95 % interval | hkv minus it | 95 % interval |",
            "|---|---|---|---|---|",
        ]
        for name, estimate in self.estimates.items():
            row = [name, f"{estimate.accuracy:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}"]
            gain = self.gain.get(name)
            row += [f"{gain.accuracy:+.3f}", f"{gain.low:+.3f} to {gain.high:+.3f}"] if gain else ["", ""]
            lines.append("| " + " | ".join(row) + " |")
        return "\n".join(lines)


def evaluate_recall(
    worlds: Worlds,
    reader: Reader,
    settings: RecallSettings,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> RecallReport:
    """Runs the episodes in `worlds` (which are reset) and sums them up.

    Raises:
        UserError: nothing could be read.
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

    plans = (plan_episode(index, settings.seed, settings.absences) for index in range(settings.episodes))
    jobs = [
        partial(_run_episode, reader=reader, settings=settings, plan=plan, advance=advance) for plan in plans
    ]
    attention = settings.attention or worlds.config.attention.mode
    return _report(worlds.map(jobs), attention, settings)


def _run_episode(
    world: World,
    reader: Reader,
    settings: RecallSettings,
    plan: EpisodePlan,
    advance: Callable[[World, str, int], tuple[list[Frames], BlockResult]],
) -> Episode:
    def read(blocks: list[Frames]) -> Reading:
        return majority(reader(np.concatenate(blocks)[:: settings.frame_stride], plan))

    world.reset(plan.seed)
    world.configure(with_choices(world.config, attention=settings.attention))
    advance(world, plan.prologue, settings.prologue_blocks)
    stay, last = advance(world, plan.visit, settings.visit_blocks)
    count = settings.read_blocks
    first, earlier = read(stay[-count:]), read(stay[-2 * count : -count])
    for prompt in plan.absence:
        _, last = advance(world, prompt, settings.visit_blocks)
    returns = {}
    for variant in settings.variants:
        with closing(world.fork(variant.of(world.config))) as branch:
            back, _ = advance(branch, plan.comeback, settings.return_blocks)
        returns[variant.name] = read(back[-count:])
    return Episode(plan, first, earlier, returns, len(last.telemetry.pages))


def majority(readings: Sequence[Mapping[str, int]]) -> Reading:
    """For each attribute the value of most frames; the smaller one in a tie."""
    names = dict.fromkeys(name for reading in readings for name in reading)
    result = {}
    for name in names:
        votes = Counter(reading[name] for reading in readings if name in reading)
        result[name] = min(votes, key=lambda value: (-votes[value], value))
    return result


def agreement(reference: Reading, reading: Reading) -> Hits:
    """How many of the reference's attributes the reading has with the same value."""
    return Hits(sum(reading.get(name) == value for name, value in reference.items()), len(reference))


def _report(episodes: list[Episode], attention: str, settings: RecallSettings) -> RecallReport:
    if any(not episode.first for episode in episodes):
        raise UserError("No hidden attribute could be read from the frames: check the reader's weights.")
    hits = {
        variant.name: [agreement(episode.first, episode.returns[variant.name]) for episode in episodes]
        for variant in settings.variants
    }
    estimates = {policy: estimate_share(row, settings.seed) for policy, row in hits.items()}
    chance = _chance(episodes, settings.variants[0].name)
    if chance:
        estimates["chance"] = estimate_share(chance, settings.seed)
    ceiling = [agreement(episode.first, episode.earlier) for episode in episodes]
    estimates["ceiling"] = estimate_share(ceiling, settings.seed)
    rivals = [name for name in hits if name != "hkv" and "hkv" in hits]
    return RecallReport(
        estimates=estimates,
        gain={name: estimate_difference(hits["hkv"], hits[name], settings.seed) for name in rivals},
        pages_min=min(episode.pages for episode in episodes),
        attention=attention,
        settings=settings,
        variety=variety([episode.first for episode in episodes]),
        hits=hits,
        by_attribute={name: _by_attribute(episodes, name) for name in hits},
    )


def _chance(episodes: list[Episode], variant: str) -> list[Hits]:
    """A first visit against the returns of other episodes to the same place; empty when there are none."""
    rows = []
    for episode in episodes:
        others = [
            agreement(
                {name: value for name, value in episode.first.items() if name in other.returns[variant]},
                other.returns[variant],
            )
            for other in episodes
            if other is not episode and other.plan.scene.place == episode.plan.scene.place
        ]
        right, asked = sum(hit.right for hit in others), sum(hit.asked for hit in others)
        if asked:
            rows.append(Hits(right, asked))
    return rows


def _by_attribute(episodes: list[Episode], variant: str) -> dict[str, float]:
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for episode in episodes:
        for name, value in episode.first.items():
            asked[name] += 1
            right[name] += episode.returns[variant].get(name) == value
    return {name: right[name] / asked[name] for name in sorted(asked)}
