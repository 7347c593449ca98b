"""The recall evaluation, over a scripted world whose memory is known for every policy."""

import json
import random
from dataclasses import replace

import pytest

from tests.fakes_cli import FakeEngine
from worldattention.core.config import CacheConfig
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.evaluation.recall import (
    POLICIES,
    RecallSettings,
)
from worldattention.core.evaluation.recall import (
    evaluate_recall as evaluate_recall_in,
)
from worldattention.core.evaluation.recall_plan import plan_episode
from worldattention.core.evaluation.recall_report import agreement, majority, report_of_records
from worldattention.core.evaluation.statistics import Hits
from worldattention.core.evaluation.variety import entropy, expected_entropy, variety
from worldattention.core.evaluation.worlds import OneWorld
from worldattention.core.pocket.mentions import parse
from worldattention.core.telemetry import BlockResult, PageRecord, WindowSpan

COLOURS = 8
ATTRIBUTES = 4
SMALL = RecallSettings(episodes=8, visit_blocks=3, absences=2, return_blocks=3, read_blocks=1, frame_stride=2)


class Remembering(FakeEngine):
    """Draws four colours at random for a place, and remembers them only under `remembers`."""

    def __init__(self, remembers=("hkv",), ledger=None):
        super().__init__()
        self.remembers = remembers
        self.ledger = {"steps": 0, "forks": [], "closed": 0, "resets": []} if ledger is None else ledger
        self.places: dict[int, list[int]] = {}
        self.now: tuple[str, list[int]] = ("", [])
        self.rng = random.Random(0)

    def reset(self, seed=None):
        super().reset(seed)
        self.places, self.now = {}, ("", [])
        self.rng = random.Random(seed)
        self.ledger["resets"].append(seed)

    def configure(self, config):
        self.config = config
        return self.block

    def fork(self, config=None):
        other = Remembering(self.remembers, self.ledger)
        other.config, other.block = config or self.config, self.block
        other.places, other.now, other.rng = dict(self.places), self.now, random.Random(self.rng.random())
        other.prompts = list(self.prompts)
        self.ledger["forks"].append((self.block, other.config.cache.retrieval))
        return other

    def close(self):
        self.ledger["closed"] += 1

    def step(self, prompt, cancel=None):
        self.ledger["steps"] += 1
        if prompt != self.now[0]:
            place = parse(prompt).place
            known = place in self.places and self.config.cache.retrieval in self.remembers
            fresh = [self.rng.randrange(COLOURS) for _ in range(ATTRIBUTES)]
            self.places.setdefault(place, fresh)
            self.now = (prompt, self.places[place] if known else fresh)
        result = super().step(prompt, cancel)
        frames = result.frames.copy()
        frames[:, 0, :ATTRIBUTES, 0] = self.now[1]
        frames[::5, 0, :ATTRIBUTES, 0] = 0  # now and then a frame cannot be read
        pages = tuple(PageRecord(index, 0, 8 * index, 8, "device") for index in range(self.block))
        return BlockResult(frames, replace(result.telemetry, pages=pages))


def evaluate_recall(world, *arguments, **options):
    return evaluate_recall_in(OneWorld(world), *arguments, **options)


def read(frames, plan):
    return [{f"colour {i}": int(frame[0, i, 0]) for i in range(ATTRIBUTES)} for frame in frames]


def test_accuracy_follows_what_each_policy_remembers():
    world = Remembering(remembers=("hkv", "chunk"))
    report = evaluate_recall(world, read, replace(SMALL, episodes=24))
    result = report.to_json()
    assert result["hkv"]["accuracy"] == result["chunk"]["accuracy"] == result["ceiling"]["accuracy"] == 1
    for name in ("none", "recent", "random", "mismatched", "chance"):
        assert result[name]["accuracy"] < 0.4
        assert result[name]["low"] < 1 / COLOURS + 0.1
        assert result[name]["high"] > 0.05
        assert result[name]["n"] == 24
    assert result["about"]["hkv_minus"]["none"]["low"] > 0.5
    assert abs(result["about"]["hkv_minus"]["chunk"]["accuracy"]) == 0
    assert set(result["about"]["by_attribute"]["none"]) == {f"colour {i}" for i in range(ATTRIBUTES)}
    assert json.loads(json.dumps(result)) == result
    table = report.to_markdown()
    assert table.count("\n| ") == len(POLICIES) + 3
    assert "| none | " in table


class Recalling(Remembering):
    """Its window holds two pages on the return: both of the visit under `hkv`, one under `random`; none else."""

    def fork(self, config=None):
        other = super().fork(config)
        other.__class__ = Recalling
        return other

    def step(self, prompt, cancel=None):
        result = super().step(prompt, cancel)
        visit = 3 * SMALL.prologue_blocks
        absence = visit + 3 * SMALL.visit_blocks
        first_frames = {"hkv": (visit, absence - 1), "random": (absence, visit)}
        spans = [
            WindowSpan("page", first_frame, 1, slot, slot)
            for slot, first_frame in enumerate(first_frames.get(self.config.cache.retrieval, ()))
        ]
        return BlockResult(result.frames, replace(result.telemetry, window=tuple(spans)))


def test_the_share_of_recalled_pages_that_are_of_the_visit():
    report = evaluate_recall(Recalling(), read, SMALL)
    expected = {"hkv": 1.0, "random": 0.5} | dict.fromkeys(("chunk", "recent", "mismatched", "none"))
    assert report.right_pages == report.to_json()["about"]["right_pages"] == expected
    ends = {line.split(" | ")[0]: line.split(" | ")[-1] for line in report.to_markdown().splitlines()}
    assert (ends["| hkv"], ends["| random"], ends["| none"]) == ("1.00 |", "0.50 |", " |")


def test_widths_are_more_ways_to_come_back():
    settings = replace(SMALL, policies=("hkv", "none"), widths=(1, 2))
    world, configs = Remembering(), []
    fork = world.fork
    world.fork = lambda config: (configs.append(config.cache), fork(config))[1]
    report = evaluate_recall(world, read, settings)
    assert [(c.retrieval, c.stage1_width) for c in configs[:4]] == [
        *(("hkv", 3), ("none", 3), ("hkv", 1), ("hkv", 2)),
    ]
    assert {"hkv, 1 chunk", "hkv, 2 chunks"} <= set(report.estimates)
    assert world.ledger["steps"] == settings.blocks
    assert {len(hits) for hits in report.hits.values()} == {SMALL.episodes}
    assert 0.7 < report.variety < 1.3


def test_variety_is_one_for_the_renderer_and_nothing_for_one_fixed_house():
    rng = random.Random(4)
    drawn = [{"cabin": rng.randrange(8), "layout": rng.randrange(4)} for _ in range(400)]
    assert variety(drawn) == pytest.approx(1, abs=0.02)
    assert variety([{"cabin": 3, "layout": 1}] * 20) == 0
    simulated = [entropy([rng.randrange(8) for _ in range(6)]) for _ in range(4000)]
    assert expected_entropy(6, 8) == pytest.approx(sum(simulated) / 4000, rel=0.02)
    assert variety([]) == variety([{"cabin": 1}]) == 1


def test_history_is_made_once_and_forked_for_each_policy():
    world, seen = Remembering(), []
    evaluate_recall(world, read, SMALL, progress=lambda done, total: seen.append((done, total)))
    history = 1 + SMALL.visit_blocks * (1 + SMALL.absences)
    assert world.ledger["steps"] == SMALL.blocks == SMALL.episodes * (history + 3 * len(POLICIES))
    assert seen == [(done, SMALL.blocks) for done in range(1, SMALL.blocks + 1)]
    assert world.ledger["forks"] == [(history, policy) for policy in POLICIES] * SMALL.episodes
    assert world.ledger["closed"] == SMALL.episodes * len(POLICIES)
    assert len(set(world.ledger["resets"])) == SMALL.episodes
    assert evaluate_recall(Remembering(), read, SMALL).pages_min == history


def test_equal_seeds_give_equal_reports_and_others_do_not():
    first, second = (evaluate_recall(Remembering(), read, SMALL) for _ in range(2))
    assert first == second
    assert evaluate_recall(Remembering(), read, replace(SMALL, seed=1)).to_json() != first.to_json()


def test_the_shipped_sizes_put_thirty_pages_before_the_return():
    """13 blocks of 3 latent frames make 5 pages of at most 8 frames; a prompt change closes the last one short."""
    settings = RecallSettings()
    pages = 1 + -(-3 * settings.visit_blocks // 8) * (1 + settings.absences)
    assert pages - 1 >= 30  # the last one is still open when the return is recalled
    assert 3 * settings.visit_blocks <= 40  # one chunk
    assert settings.visit_blocks * 12 / 16 == pytest.approx(10, abs=0.5)  # seconds


def test_the_prologue_fills_the_sink():
    settings = RecallSettings()
    assert 3 * settings.prologue_blocks >= CacheConfig().sink_frames
    world, seen = Remembering(), []
    step = world.step
    world.step = lambda prompt, cancel=None: (seen.append(parse(prompt).place), step(prompt, cancel))[1]
    evaluate_recall(world, read, replace(SMALL, episodes=1))
    assert seen[0] != 0
    assert seen[1] == 0


def test_plans_leave_the_place_and_return_in_other_words():
    rng = random.Random(1)
    for index in [*range(12), rng.randrange(1000)]:
        plan = plan_episode(index, 7, 5)
        place = index % 4
        assert plan.visit != plan.comeback
        shared = set(plan.visit.lower().split()) & set(plan.comeback.lower().split())
        assert len(shared) < 0.75 * len(plan.visit.split())
        assert len(plan.absence) == 5
        assert parse(plan.visit).place == parse(plan.comeback).place == place
        assert all(parse(prompt).place != place for prompt in (plan.prologue, *plan.absence))
        first, last = parse(plan.visit), parse(plan.comeback)
        for name in ("shirt", "action"):
            assert getattr(first, name) == getattr(last, name)
        assert plan == plan_episode(index, 7, 5)
        assert plan != plan_episode(index, 8, 5)


def test_cancel_stops_between_blocks():
    world = Remembering()
    with pytest.raises(Cancelled):
        evaluate_recall(world, read, SMALL, cancel=lambda: world.ledger["steps"] >= 5)
    assert world.ledger["steps"] == 5


def test_nothing_to_read_is_a_user_error():
    with pytest.raises(UserError, match="hidden attribute"):
        evaluate_recall(Remembering(), lambda frames, plan: [{} for _ in frames], SMALL)


def test_one_episode_has_no_chance_row():
    report = evaluate_recall(Remembering(), read, replace(SMALL, episodes=1))
    assert "chance" not in report.to_json()
    assert report.to_json()["hkv"]["n"] == 1


def test_majority_and_agreement():
    assert majority([{"a": 1, "b": 2}, {"a": 1}, {"a": 3, "b": 4}]) == {"a": 1, "b": 2}
    assert majority([]) == {}
    assert agreement({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 9}) == Hits(1, 3)


def test_who_and_what_moves_is_reported_apart_from_the_place():
    first = {"layout": 1, "house_1": 2, "skin": 0, "hair": 1, "trousers": 2, "kite": 5}
    about = {"what": "recall", "attention": "hsa", "seed": 0, "place": 0, "pages": 35, "recalled": [3, 3]}
    back = {"layout": 1, "house_1": 3, "skin": 0, "hair": 1, "trousers": 0, "kite": 5}
    records = [
        {**about, "index": 0, "variant": "hkv", "first": first, "earlier": first, "back": back},
        {
            **about,
            "index": 0,
            "variant": "none",
            "first": first,
            "earlier": first,
            "back": {"layout": 1, "kite": 4},
        },
    ]
    report = report_of_records(records)
    assert report.estimates["hkv"].accuracy == 1 / 2, "two of the place are asked, not six"
    assert report.moving["person"]["hkv"].accuracy == 2 / 3
    assert report.moving["prop"]["hkv"].accuracy == 1
    assert report.moving["person"]["none"].accuracy == report.moving["prop"]["none"].accuracy == 0
    assert report.moving["person"]["ceiling"].accuracy == 1
    assert report.by_attribute["hkv"]["trousers"] == 0
    assert "| person | 0.667 | 0.000 | 1.000 |" in report.to_markdown()
    places = [{**record, "first": {"layout": 1}, "earlier": {"layout": 1}} for record in records]
    assert report_of_records(places).moving == {}
