"""What a recall evaluation found: its episodes, which are kept as records, and the table that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from worldattention.core.errors import UserError
from worldattention.core.evaluation.records import Record, agreed
from worldattention.core.evaluation.statistics import Estimate, Hits, estimate_difference, estimate_share
from worldattention.core.evaluation.variety import variety
from worldattention.core.pocket.truth import PERSON_ATTRIBUTES, PROP_ATTRIBUTES

Reading = dict[str, int]
MOVING = {"person": PERSON_ATTRIBUTES, "prop": PROP_ATTRIBUTES}
"""What is read beside the place, and reported apart from it."""
HitsByEpisode = dict[int, Hits]


@dataclass(frozen=True, slots=True)
class Episode:
    """What was read in episode `index`, which visits `place`: twice at the first visit, and on each return.

    `recalled` by return: how many of the recalled pages are of the first visit, and how many there are.
    """

    index: int
    place: int
    first: Reading
    earlier: Reading
    returns: dict[str, Reading]
    recalled: dict[str, tuple[int, int]]
    pages: int


@dataclass(frozen=True, slots=True)
class RecallReport:
    """Accuracy by policy; `chance` and `ceiling` bound what can be reached, `gain` is each rival against hkv.

    `hits` are the episodes behind each estimate, for pairing with another report of the same episodes; `variety`
    is the entropy of what first visits show over that of the renderer; `right_pages` the share of recalled pages
    that are of the first visit, None where nothing was recalled. All these are of the place; `moving` has the accuracy
    of who and what moves in it, by kind and by policy.
    """

    estimates: dict[str, Estimate]
    gain: dict[str, Estimate]
    pages_min: int
    attention: str
    episodes: int
    seed: int
    variety: float
    hits: dict[str, HitsByEpisode]
    right_pages: dict[str, float | None] = field(default_factory=dict)
    by_attribute: dict[str, dict[str, float]] = field(default_factory=dict)
    moving: dict[str, dict[str, Estimate]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """`{"hkv": {"accuracy", "low", "high", "n"}, ...}`, and under `about` what was done."""
        return {
            **{name: estimate.to_json() for name, estimate in self.estimates.items()},
            "about": {
                "attention": self.attention,
                "episodes": self.episodes,
                "seed": self.seed,
                "pages_before_return": self.pages_min,
                "variety": self.variety,
                "hkv_minus": {name: estimate.to_json() for name, estimate in self.gain.items()},
                "right_pages": self.right_pages,
                "by_attribute": self.by_attribute,
                "moving": {
                    kind: {name: estimate.to_json() for name, estimate in row.items()}
                    for kind, row in self.moving.items()
                },
            },
        }

    def to_markdown(self) -> str:
        """A table for people."""
        lines = [
            f"Recall after an absence, attention {self.attention}, {self.episodes} episodes, "
            f"at least {self.pages_min} pages in the bank, variety {self.variety:.2f}",
            "",
            "| retrieval | accuracy | 95 % interval | hkv minus it | 95 % interval | recalled pages of the visit |",
            "|---|---|---|---|---|---|",
        ]
        for name, estimate in self.estimates.items():
            row = [name, f"{estimate.accuracy:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}"]
            gain = self.gain.get(name)
            row += [f"{gain.accuracy:+.3f}", f"{gain.low:+.3f} to {gain.high:+.3f}"] if gain else ["", ""]
            share = self.right_pages.get(name)
            row.append("" if share is None else f"{share:.2f}")
            lines.append("| " + " | ".join(row) + " |")
        if self.moving:
            names = list(next(iter(self.moving.values())))
            lines += ["", f"| what moves | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
            lines += [
                f"| {kind} | {' | '.join(f'{row[name].accuracy:.3f}' for name in names)} |"
                for kind, row in self.moving.items()
            ]
        return "\n".join(lines)


def recall_record(episode: Episode, variant: str) -> dict[str, Any]:
    """What is kept of one return of an episode."""
    return {
        "index": episode.index,
        "place": episode.place,
        "pages": episode.pages,
        "first": episode.first,
        "earlier": episode.earlier,
        "variant": variant,
        "back": episode.returns[variant],
        "recalled": list(episode.recalled[variant]),
    }


def report_of_records(records: Sequence[Record]) -> RecallReport:
    """The report of kept returns, whole episodes or not. Raises UserError when they are of different evaluations."""
    episodes: dict[int, Episode] = {}
    for record in records:
        index = int(record["index"])
        if index not in episodes:
            place, first, earlier = (record[name] for name in ("place", "first", "earlier"))
            episodes[index] = Episode(index, place, first, earlier, {}, {}, record["pages"])
        right, of = record["recalled"]
        episodes[index].recalled[record["variant"]] = (right, of)
        episodes[index].returns[record["variant"]] = record["back"]
    ordered = [episodes[index] for index in sorted(episodes)]
    return recall_report(ordered, agreed(records, "attention"), agreed(records, "seed"))


def recall_report(episodes: Sequence[Episode], attention: str, seed: int) -> RecallReport:
    """Sums episodes up; each way to come back over the episodes that have it.

    Raises:
        UserError: nothing could be read in one of them.
    """
    seen, episodes = episodes, [_of(episode, _of_place) for episode in episodes]
    if not episodes or any(not episode.first for episode in episodes):
        raise UserError("No hidden attribute could be read from the frames: check the reader's weights.")
    variants = dict.fromkeys(name for episode in episodes for name in episode.returns)
    having = {name: [one for one in episodes if name in one.returns] for name in variants}
    hits = {
        name: {one.index: agreement(one.first, one.returns[name]) for one in having[name]}
        for name in variants
    }
    estimates = {name: estimate_share(list(row.values()), seed) for name, row in hits.items()}
    first = next(iter(variants))
    chance = _chance(having[first], first)
    if chance:
        estimates["chance"] = estimate_share(chance, seed)
    ceiling = [agreement(episode.first, episode.earlier) for episode in episodes]
    estimates["ceiling"] = estimate_share(ceiling, seed)
    gain = {name: paired(hits["hkv"], hits[name], seed) for name in hits if name != "hkv" and "hkv" in hits}
    return RecallReport(
        estimates=estimates,
        gain={name: estimate for name, estimate in gain.items() if estimate is not None},
        pages_min=min(episode.pages for episode in episodes),
        attention=attention,
        episodes=len(episodes),
        seed=seed,
        variety=variety([episode.first for episode in episodes]),
        hits=hits,
        right_pages={name: _right_pages(having[name], name) for name in hits},
        by_attribute={
            name: _by_attribute([one for one in seen if name in one.returns], name) for name in hits
        },
        moving=_moving(seen, list(hits), seed),
    )


def _of_place(name: str) -> bool:
    return not any(name in names for names in MOVING.values())


def _of(episode: Episode, wanted: Callable[[str], bool]) -> Episode:
    """The episode as if only the `wanted` attributes had been read."""

    def some(reading: Reading) -> Reading:
        return {name: value for name, value in reading.items() if wanted(name)}

    returns = {variant: some(reading) for variant, reading in episode.returns.items()}
    return replace(episode, first=some(episode.first), earlier=some(episode.earlier), returns=returns)


def _moving(episodes: Sequence[Episode], variants: list[str], seed: int) -> dict[str, dict[str, Estimate]]:
    """Accuracy by kind and by way to come back, and the ceiling; kinds that no first visit shows are left out."""
    table: dict[str, dict[str, Estimate]] = {}
    for kind, names in MOVING.items():
        some = [one for one in (_of(one, names.__contains__) for one in episodes) if one.first]
        rows = {
            name: [agreement(one.first, one.returns[name]) for one in some if name in one.returns]
            for name in variants
        }
        rows["ceiling"] = [agreement(one.first, one.earlier) for one in some]
        if all(rows.values()):
            table[kind] = {name: estimate_share(row, seed) for name, row in rows.items()}
    return table


def paired(first: HitsByEpisode, second: HitsByEpisode, seed: int) -> Estimate | None:
    """The difference over the episodes that both have; None when there are none."""
    both = sorted(first.keys() & second.keys())
    if not both:
        return None
    return estimate_difference([first[index] for index in both], [second[index] for index in both], seed)


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


def _chance(episodes: Sequence[Episode], variant: str) -> list[Hits]:
    """A first visit against the returns of other episodes to the same place; empty when there are none."""
    rows = []
    for episode in episodes:
        others = [
            agreement(
                {name: value for name, value in episode.first.items() if name in other.returns[variant]},
                other.returns[variant],
            )
            for other in episodes
            if other is not episode and other.place == episode.place
        ]
        right, asked = sum(hit.right for hit in others), sum(hit.asked for hit in others)
        if asked:
            rows.append(Hits(right, asked))
    return rows


def _right_pages(episodes: Sequence[Episode], variant: str) -> float | None:
    right, recalled = (
        sum(counts) for counts in zip(*(one.recalled[variant] for one in episodes), strict=True)
    )
    return right / recalled if recalled else None


def _by_attribute(episodes: Iterable[Episode], variant: str) -> dict[str, float]:
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for episode in episodes:
        for name, value in episode.first.items():
            asked[name] += 1
            right[name] += episode.returns[variant].get(name) == value
    return {name: right[name] / asked[name] for name in sorted(asked)}
