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
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from worldattention.core.config import EngineConfig, with_choices
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.evaluation.recall_plan import EpisodePlan, plan_episode
from worldattention.core.evaluation.statistics import Estimate, Hits, estimate_difference, estimate_share
from worldattention.core.geometry import Geometry
from worldattention.core.telemetry import BlockResult

POLICIES = ("hkv", "chunk", "recent", "random", "mismatched", "none")
Frames = npt.NDArray[np.uint8]
Reading = dict[str, int]
Progress = Callable[[int, int], None]
"""Takes the blocks that are done and the blocks in all."""


class World(Protocol):
    """The part of an engine that an episode needs."""

    config: EngineConfig

    @property
    def geometry(self) -> Geometry:
        """Sizes."""
        ...

    def step(self, prompt: str, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """The next block."""
        ...

    def reset(self, seed: int | None = None) -> None:
        """Back to the first block."""
        ...

    def fork(self, config: EngineConfig | None = None) -> World:
        """A second world with the same past."""
        ...

    def close(self) -> None:
        """Releases what it holds."""
        ...


Reader = Callable[[Frames, EpisodePlan], Sequence[Mapping[str, int]]]
"""Reads the hidden attributes of every frame [T, H, W, 3] of a scene: one mapping a frame."""


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """Sizes of an evaluation. Blocks count pixel blocks; `read_blocks` at the end of a stay are read."""

    episodes: int = 16
    seed: int = 0
    prologue_blocks: int = 1
    visit_blocks: int = 13
    absences: int = 6
    return_blocks: int = 4
    read_blocks: int = 2
    frame_stride: int = 3
    policies: tuple[str, ...] = POLICIES

    @property
    def blocks(self) -> int:
        """Blocks of the whole evaluation."""
        history = self.prologue_blocks + self.visit_blocks * (1 + self.absences)
        return self.episodes * (history + self.return_blocks * len(self.policies))


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
    """Accuracy by policy; `chance` and `ceiling` bound what can be reached, `gain` is each rival against hkv."""

    estimates: dict[str, Estimate]
    gain: dict[str, Estimate]
    pages_min: int
    attention: str
    settings: RecallSettings
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
                "hkv_minus": {name: estimate.to_json() for name, estimate in self.gain.items()},
                "by_attribute": self.by_attribute,
            },
        }

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"Recall after an absence, attention {self.attention}, {self.settings.episodes} episodes, "
            f"at least {self.pages_min} pages in the bank",
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
    world: World,
    reader: Reader,
    settings: RecallSettings,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> RecallReport:
    """Runs the episodes in `world` (which is reset) and sums them up.

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

    episodes = [
        _run_episode(world, reader, settings, plan_episode(index, settings.seed, settings.absences), advance)
        for index in range(settings.episodes)
    ]
    return _report(episodes, world.config.attention.mode, settings)


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
    advance(world, plan.prologue, settings.prologue_blocks)
    stay, last = advance(world, plan.visit, settings.visit_blocks)
    count = settings.read_blocks
    first, earlier = read(stay[-count:]), read(stay[-2 * count : -count])
    for prompt in plan.absence:
        _, last = advance(world, prompt, settings.visit_blocks)
    returns = {}
    for policy in settings.policies:
        with closing(world.fork(with_choices(world.config, retrieval=policy))) as branch:
            back, _ = advance(branch, plan.comeback, settings.return_blocks)
        returns[policy] = read(back[-count:])
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
        policy: [agreement(episode.first, episode.returns[policy]) for episode in episodes]
        for policy in settings.policies
    }
    estimates = {policy: estimate_share(row, settings.seed) for policy, row in hits.items()}
    chance = _chance(episodes, settings.policies)
    if chance:
        estimates["chance"] = estimate_share(chance, settings.seed)
    ceiling = [agreement(episode.first, episode.earlier) for episode in episodes]
    estimates["ceiling"] = estimate_share(ceiling, settings.seed)
    rivals = [policy for policy in settings.policies if policy != "hkv" and "hkv" in hits]
    return RecallReport(
        estimates=estimates,
        gain={policy: estimate_difference(hits["hkv"], hits[policy], settings.seed) for policy in rivals},
        pages_min=min(episode.pages for episode in episodes),
        attention=attention,
        settings=settings,
        by_attribute={policy: _by_attribute(episodes, policy) for policy in settings.policies},
    )


def _chance(episodes: list[Episode], policies: tuple[str, ...]) -> list[Hits]:
    """A first visit against the returns of other episodes to the same place; empty when there are none."""
    rows = []
    for episode in episodes:
        others = [
            agreement(
                {name: value for name, value in episode.first.items() if name in other.returns[policies[0]]},
                other.returns[policies[0]],
            )
            for other in episodes
            if other is not episode and other.plan.scene.place == episode.plan.scene.place
        ]
        right, asked = sum(hit.right for hit in others), sum(hit.asked for hit in others)
        if asked:
            rows.append(Hits(right, asked))
    return rows


def _by_attribute(episodes: list[Episode], policy: str) -> dict[str, float]:
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for episode in episodes:
        for name, value in episode.first.items():
            asked[name] += 1
            right[name] += episode.returns[policy].get(name) == value
    return {name: right[name] / asked[name] for name in sorted(asked)}
