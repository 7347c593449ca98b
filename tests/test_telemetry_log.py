"""The log of a sitting gives every record back, and a block costs it what changed, not what there is (case_07)."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, fields, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.telemetry import BlockTelemetry, PageRecord
from worldattention.core.telemetry_log import PAGES_ANEW_BLOCKS, TelemetryLog

TIERS = ("device", "dram", "disk", "dropped")


def record(block: int, pages: tuple[PageRecord, ...]) -> BlockTelemetry:
    heads = np.full((2, 3), round(0.001 * block, 5), np.float32)
    said = {"prompt": f"공 {block}", "prompt_hash": "0", "seed": 1, "preset": "playground"}
    modes = {"attention": "hsa", "retrieval": "hkv"}
    shown = {"gini": heads, "threshold": heads, "density": heads, "window": (), "tiers": ()}
    return BlockTelemetry(
        block, 0, 12 * block, 12, **said, **modes, **shown, pages=pages, stage_ms={"total": 1.0 + block}
    )


def page(number: int, draw: random.Random) -> PageRecord:
    score = draw.choice([None, round(draw.random(), 5)])
    return PageRecord(number, number // 5, 8 * number, draw.randint(1, 8), draw.choice(TIERS), score, score)


class World:
    """Random blocks as an engine makes them: unchanged pages stay the same objects."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.pages: list[tuple[PageRecord, ...]] = []  # by block

    def next(self, most_changes: int = 3) -> BlockTelemetry:
        pages = list(self.pages[-1]) if self.pages else []
        for number in self.draw.sample(
            range(len(pages)), min(len(pages), self.draw.randint(0, most_changes))
        ):
            pages[number] = page(number, self.draw)
        pages += [page(len(pages) + more, self.draw) for more in range(self.draw.randint(0, 2))]
        self.pages.append(tuple(pages))
        return record(len(self.pages) - 1, self.pages[-1])


def same(got, expected) -> bool:
    return [one.to_json() for one in got] == [one.to_json() for one in expected]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(st.sampled_from(["block", "all", "rewind", "leave"]), max_size=9),
)
def test_every_record_comes_back_whatever_changed(seed, steps):
    log, world, kept = TelemetryLog(), World(seed), []
    branches = []
    for step in ["block", *steps, "block"]:
        if step in ("block", "all"):
            for _ in range(world.draw.randint(1, PAGES_ANEW_BLOCKS)):
                kept.append(world.next(100 if step == "all" else 3))
                log.append(kept[-1])
            continue
        branches.append((log.spans(), list(kept), list(world.pages)))
        blocks = world.draw.randint(0, len(kept))
        if step == "leave":
            spans, kept, world.pages = world.draw.choice(branches)
            kept, world.pages = list(kept), list(world.pages)
            blocks = min(blocks, len(kept))
            log.take_up(spans, blocks)
        del kept[blocks:], world.pages[blocks:]  # else the next block replaces those
    del kept[len(log) :]
    assert same(log.records(), kept)
    first = world.draw.randint(0, 12 * len(kept))
    parts = [one for one in kept if one.first_frame >= first]
    assert same(log.records(-(-first // 12) * 12), parts)
    for block in world.draw.sample(range(len(kept)), min(3, len(kept))):
        assert same([log.at(12 * block + world.draw.randint(0, 11))], [kept[block]])
    assert log.at(12 * len(kept)) is None
    log.close()
    assert list(log.records()) == []


def test_case_07_a_block_costs_what_changed_however_long_the_world_is():
    draw = random.Random()
    for count in (100, 10_000):
        pages = tuple(page(number, draw) for number in range(count))
        with_log = TelemetryLog()
        for block in range(2 * PAGES_ANEW_BLOCKS):
            moved = pages[block]
            pages = (*pages[:block], replace(moved, recalled=not moved.recalled), *pages[block + 1 :])
            with_log.append(record(block, pages))
        spans = with_log.spans()
        assert [span.anew for span in spans] == [0] * PAGES_ANEW_BLOCKS + [
            PAGES_ANEW_BLOCKS
        ] * PAGES_ANEW_BLOCKS
        changes = [span.pages_size for block, span in enumerate(spans) if span.anew != block]
        assert max(changes) < 100
        assert spans[0].pages_size > 3 * count
        assert with_log.at(12 * 40 + 3).pages[40].recalled
        with_log.close()


def test_a_line_names_every_page_with_all_its_fields():
    draw = random.Random()
    pages = tuple(page(number, draw) for number in range(30))
    shown = json.loads(record(3, pages).to_json())
    assert list(shown) == [one.name for one in fields(BlockTelemetry)]
    assert shown["pages"] == [asdict(one) for one in pages]
