"""What a following evaluation found: scenes, which are kept as records, and the tables that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from worldattention.core.evaluation.recall_plan import plan_scene
from worldattention.core.evaluation.records import Record, agreed
from worldattention.core.evaluation.statistics import (
    Estimate,
    Hits,
    estimate_mean,
    estimate_ratio,
    estimate_share,
)
from worldattention.core.evaluation.variety import variety
from worldattention.core.pocket.vocabulary import ACTIONS, VOCABULARY

FOLLOWED = tuple(VOCABULARY)
"""Attributes that a prompt names."""

WITHOUT_PROP = "wave"
LEAST = 1e-9
"""Energies below this are none."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What pictures of a scene show: `right` names the followed attributes that are as prompted."""

    right: Mapping[str, bool]
    hidden: Mapping[str, int]
    action_share: float
    gradient: float
    motion: float


@dataclass(frozen=True, slots=True)
class SceneShown:
    """Scene `index`, which shows `action`: made from text, and rendered."""

    index: int
    action: str
    made: Shown
    true: Shown

    def to_record(self) -> dict[str, Any]:
        """What is kept."""
        return {"index": self.index, "made": asdict(self.made), "true": asdict(self.true)}

    @classmethod
    def of_record(cls, record: Record) -> SceneShown:
        """The inverse of `to_record`."""
        index = int(record["index"])
        action = ACTIONS[plan_scene(index, record["seed"])[0].action]
        return cls(index, action, Shown(**record["made"]), Shown(**record["true"]))


@dataclass(frozen=True, slots=True)
class ActionRow:
    """The scenes of one action: shares read as prompted, with the prop in the hand, and ratios made over true."""

    scenes: int
    followed: float
    followed_true: float
    prop: float
    prop_true: float
    gradient: float
    motion: float


@dataclass(frozen=True, slots=True)
class FollowingReport:
    """Estimates of the made scenes (`made`) and of the true ones through the autoencoder (`true`); ratios of both."""

    made: dict[str, Estimate]
    true: dict[str, Estimate]
    ratios: dict[str, Estimate]
    by_action: dict[str, ActionRow]
    variety: float
    variety_true: float
    attention: str
    episodes: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Per attribute an estimate, its ceiling under `true`; ratios; by action; under `about` what was done."""
        return {
            **{name: estimate.to_json() for name, estimate in {**self.made, **self.ratios}.items()},
            "true": {name: estimate.to_json() for name, estimate in self.true.items()},
            "by_action": {action: asdict(row) for action, row in self.by_action.items()},
            "variety": {"made": self.variety, "true": self.variety_true},
            "about": {"attention": self.attention, "episodes": self.episodes, "seed": self.seed},
        }

    def to_markdown(self) -> str:
        """Two tables for people."""
        lines = [
            f"New scenes from text alone, attention {self.attention}, {self.episodes} scenes",
            "",
            "| figure | made | 95 % interval | true, through the autoencoder |",
            "|---|---|---|---|",
        ]
        for name, estimate in {**self.made, **self.ratios}.items():
            ceiling = f"{self.true[name].accuracy:.3f}" if name in self.true else "1"
            lines.append(
                f"| {name} | {estimate.accuracy:.3f} | {estimate.low:.3f} to {estimate.high:.3f} | {ceiling} |"
            )
        lines += [
            f"| variety of what no prompt names | {self.variety:.3f} | | {self.variety_true:.3f} |",
            "",
            "| action | scenes | read as prompted (true) | prop present (true) | gradient energy | motion energy |",
            "|---|---|---|---|---|---|",
        ]
        for action, row in self.by_action.items():
            prop = "" if action == WITHOUT_PROP else f"{row.prop:.2f} ({row.prop_true:.2f})"
            lines.append(
                f"| {action} | {row.scenes} | {row.followed:.2f} ({row.followed_true:.2f}) | {prop} "
                f"| {row.gradient:.2f} | {row.motion:.2f} |"
            )
        return "\n".join(lines)


def following_of_records(records: Sequence[Record]) -> FollowingReport:
    """The report of kept scenes. Raises UserError when they are of different evaluations."""
    seed = agreed(records, "seed")
    scenes = {int(record["index"]): SceneShown.of_record(record) for record in records}
    return following_report(list(scenes.values()), agreed(records, "attention"), seed)


def following_report(scenes: Sequence[SceneShown], attention: str, seed: int) -> FollowingReport:
    """Sums scenes up, in the order of their indices."""
    scenes = sorted(scenes, key=lambda scene: scene.index)
    made, true = [scene.made for scene in scenes], [scene.true for scene in scenes]
    props = [scene.action != WITHOUT_PROP for scene in scenes]
    return FollowingReport(
        made=_estimates(made, props, seed),
        true=_estimates(true, props, seed),
        ratios={
            "gradient energy, made over true": _ratio(made, true, "gradient", seed),
            "motion energy, made over true": _ratio(made, true, "motion", seed),
        },
        by_action={
            action: _row([scene for scene in scenes if scene.action == action])
            for action in ACTIONS
            if any(scene.action == action for scene in scenes)
        },
        variety=variety([shown.hidden for shown in made]),
        variety_true=variety([shown.hidden for shown in true]),
        attention=attention,
        episodes=len(scenes),
        seed=seed,
    )


def _estimates(shown: Sequence[Shown], props: Sequence[bool], seed: int) -> dict[str, Estimate]:
    estimates = {
        name: estimate_share([Hits(int(one.right[name]), 1) for one in shown], seed) for name in FOLLOWED
    }
    shares = [one.action_share for one, prop in zip(shown, props, strict=True) if prop]
    if shares:
        estimates["prop present"] = estimate_mean(shares, seed)
    return estimates


def _ratio(made: Sequence[Shown], true: Sequence[Shown], name: str, seed: int) -> Estimate:
    rows = [[max(getattr(one, name), LEAST) for one in shown] for shown in (made, true)]
    return estimate_ratio(rows[0], rows[1], seed)


def _row(scenes: Sequence[SceneShown]) -> ActionRow:
    made, true = [scene.made for scene in scenes], [scene.true for scene in scenes]

    def mean(shown: Sequence[Shown], value: str) -> float:
        return sum(float(getattr(one, value)) for one in shown) / len(shown)

    return ActionRow(
        scenes=len(scenes),
        followed=sum(one.right["action"] for one in made) / len(made),
        followed_true=sum(one.right["action"] for one in true) / len(true),
        prop=mean(made, "action_share"),
        prop_true=mean(true, "action_share"),
        gradient=mean(made, "gradient") / max(mean(true, "gradient"), LEAST),
        motion=mean(made, "motion") / max(mean(true, "motion"), LEAST),
    )
