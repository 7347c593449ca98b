"""Lines of telemetry: whole worlds come back from them, and a line is as short in a long world as in a new one."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes_window import FakeEngine, Script
from tests.test_telemetry_log import World, page, record, same
from tests.toy import toy_engine
from worldattention.core import telemetry_lines
from worldattention.core.config import EngineConfig
from worldattention.core.telemetry import RecallRecord, WindowSpan, telemetry_from_json
from worldattention.core.telemetry_lines import lines_of, records_of


def told(draw: random.Random, one):
    """The record with a recall and a window of some pages, which may say what the pages say or something else."""
    some = [page.page for page in one.pages if draw.random() < 0.4]
    scores = tuple(round(draw.random(), 5) for _ in some)
    recall = RecallRecord(
        one.block, "hkv", "0", tuple(draw.random() for _ in range(3)), tuple(some), scores, ()
    )
    spans = tuple(WindowSpan("page", 0, 8, 0, number) for number in some[:3])
    return replace(one, recall=recall if draw.random() < 0.5 else None, window=spans)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.lists(st.integers(0, 12), max_size=8))
def test_whole_worlds_come_back_over_rewinds_and_restarts(seed, steps):
    world, kept = World(seed), []
    for blocks in steps:
        kept += [told(world.draw, world.next()) for _ in range(blocks)]
        del world.pages[world.draw.randint(0, len(world.pages)) :]
    assert same(records_of(lines_of(kept)), kept)


@pytest.mark.parametrize("quota", [1 << 30, 5 * 8 * 6144])
def test_a_line_names_the_pages_that_are_new_or_moved_and_no_score_twice(quota, tmp_path):
    engine = toy_engine(folder=tmp_path, device_quota_bytes=quota, recalled_pages=2)
    kept = [
        engine.step(f"a {('red', 'blue', 'tall')[block // 6 % 3]} house").telemetry for block in range(40)
    ]
    engine.close()
    lines = list(lines_of(kept))
    assert any(one.recall for one in kept)
    assert same(records_of(lines), kept)
    for line, before, after in zip(lines[1:], kept, kept[1:], strict=False):
        tiers = {page.page: page.tier for page in before.pages}
        moved = [page.page for page in after.pages if tiers.get(page.page) != page.tier]
        assert [page["page"] for page in json.loads(line)["page_changes"]] == moved


def test_case_07_a_line_is_as_short_after_a_thousand_blocks_as_in_the_beginning():
    draw, pages, kept = random.Random(), (), []
    for block in range(1000):
        fresh = [page(len(pages), draw)] * (block % 2)
        pages = (*pages, *(replace(one, similarity=None, score=None) for one in fresh))
        kept.append(record(block, pages))
    sizes = [len(line) for line in lines_of(kept)]
    assert max(sizes[900:]) < 1.2 * max(sizes[1:100])
    assert len(kept[-1].to_json()) > 20 * max(sizes)


def test_lines_that_name_every_page_are_read_as_they_always_were():
    engine = FakeEngine(Script(step_s=0), EngineConfig())
    kept = [engine.step("a ball").telemetry for _ in range(9)]
    lines = [one.to_json() for one in kept]
    assert same(records_of(lines), kept)
    assert same([telemetry_from_json(line) for line in lines], kept)
    mixed = [lines[0], *list(lines_of(kept))[1:5], *lines[5:]]
    assert same(records_of(mixed), kept)


def test_changes_without_what_they_change_and_endless_pages_are_refused(monkeypatch):
    world = World(5)
    lines = list(lines_of([world.next() for _ in range(6)]))
    with pytest.raises(ValueError, match="first line"):
        list(records_of(lines[1:]))
    with pytest.raises(ValueError, match="changes only"):
        telemetry_from_json(lines[1])
    monkeypatch.setattr(telemetry_lines, "MOST_PAGES", 0)
    with pytest.raises(ValueError, match="more pages"):
        list(records_of(lines))


@pytest.mark.parametrize("time", ["NaN", "Infinity", "-Infinity", "null"])
def test_a_line_whose_block_took_no_time_that_can_be_is_none(time):
    line = record(0, ()).to_json()
    assert '"total":1.0' in line
    with pytest.raises(ValueError, match=r"telemetry|valid"):
        telemetry_from_json(line.replace('"total":1.0', f'"total":{time}'))
