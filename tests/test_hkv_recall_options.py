"""What widens a recall: several events in a prompt, recency, diversity, and ten thousand pages."""

import time
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.banks import SHAPE, fill, make_bank
from tests.toy import toy_engine
from worldattention.app.commandline.options import Options
from worldattention.core.config import live, memory_shape, preset_config
from worldattention.core.hkv.events import MAX_EVENTS, split_events
from worldattention.core.hkv.retrieval import Limits, Memory, retrieve, score_pages
from worldattention.core.project import ProjectSettings
from worldattention.core.records import PageRecords


@pytest.mark.parametrize(
    ("prompt", "events"),
    [
        ("He throws the ball, then juggles torches.", ("He throws the ball", "juggles torches")),
        ("He waves and then flies a kite", ("He waves", "flies a kite")),
        ("A. Then, B; C, and after that D", ("A", "B", "C", "D")),
        ("공을 던지고, 그 다음에 횃불을 돌린다", ("공을 던지고", "횃불을 돌린다")),
        ("He throws and catches a ball", ("He throws and catches a ball",)),
        ("more than then", ("more than then",)),
        ("Then he waves", ("Then he waves",)),
        (", then ", (", then ",)),
        ("", ("",)),
    ],
)
def test_events_of_a_prompt(prompt, events):
    assert split_events(prompt) == events


@given(st.lists(st.text("abc d", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=9))
def test_joined_events_come_apart_again(parts):
    events = split_events(", then ".join(parts))
    assert len(events) <= MAX_EVENTS
    assert events[: MAX_EVENTS - 1] == tuple(parts[: MAX_EVENTS - 1])


def two_worlds():
    """Six chunks of four pages; prompts are the axes; the query likes later pages better."""
    prompts = torch.eye(6)
    spans = torch.tensor([(8 * page, 8, page // 4) for page in range(24)])
    means = torch.randn(24, 1, 1, 4) * 0.01
    means[:, 0, 0, 0] = torch.arange(24) / 10
    return Memory(prompts, means, spans), torch.tensor([1.0, 0, 0, 0]).reshape(1, 1, 4)


def test_every_event_gets_its_best_page_first():
    memory, query = two_worlds()
    events = torch.nn.functional.one_hot(torch.tensor([1, 4]), 6).float()
    result = retrieve("hkv", memory, query, events)
    assert set(result.chunks) >= {1, 4}
    assert {7, 19} <= set(result.chosen)  # the best page of chunk 1, though chunk 4's are all better
    alone = retrieve("hkv", memory, query, events[1], limits=Limits(width=1))
    assert alone.chosen == (17, 18, 19)
    assert result.similarities.tolist() == [0, 1, 0, 0, 1, 0]


def test_a_page_of_a_less_similar_chunk_has_to_be_better_by_what_its_prompt_lacks():
    memory, query = two_worlds()
    prompt = torch.nn.functional.normalize(torch.tensor([[1.0, 0.9, 0.6, 0, 0, 0]]), dim=1)
    cosines = prompt[0]
    plain = retrieve("hkv", memory, query, prompt)
    assert plain.chosen == (9, 10, 11), "the best pages of all three chunks"
    for weight in torch.rand(20) * 20:
        result = retrieve("hkv", memory, query, prompt, limits=Limits(similarity=float(weight)))
        assert torch.equal(result.scores[:12], plain.scores[:12])
        wanted = [float(plain.scores[p] - weight * (cosines[0] - cosines[p // 4])) for p in range(12)]
        assert result.chosen == tuple(sorted(sorted(range(12), key=lambda p: -wanted[p])[:3]))
    assert result.candidates == plain.candidates
    assert retrieve("hkv", memory, query, prompt, limits=Limits(similarity=1e3)).chosen == (1, 2, 3)
    few = replace(memory, spans=memory.spans[2:], means=memory.means[2:])
    filled = retrieve("hkv", few, query, prompt, limits=Limits(similarity=1e3))
    assert filled.chosen == (0, 1, 5), "two pages of the best chunk, the third of the next"


def test_the_best_chunks_of_all_events_are_equally_similar():
    memory, query = two_worlds()
    events = torch.nn.functional.normalize(
        torch.tensor([[0, 0.7, 0, 0, 0, 0.1], [0, 0.3, 0.1, 0, 0.2, 0]]), dim=1
    )
    memory = replace(memory, prompts=torch.eye(6)[[0, 1, 1, 3, 4, 5]])
    result = retrieve("hkv", memory, query, events, limits=Limits(similarity=1e3, width=6))
    assert {int(memory.spans[page, 2]) for page in result.chosen} == {1, 2}, "the same prompt, told twice"


def test_recency_prefers_young_pages_and_changes_no_score():
    memory, query = two_worlds()
    query = -query  # old pages score best
    prompt = torch.full((6,), 6**-0.5)
    plain = retrieve("hkv", memory, query, prompt, limits=Limits(width=6))
    assert plain.chosen == (0, 1, 2)
    aged = retrieve("hkv", memory, query, prompt, limits=Limits(width=6, recency=30.0))
    assert aged.chosen == (21, 22, 23)
    assert torch.equal(aged.scores, plain.scores)
    minute = 240 / 8  # pages a minute: what a page gains in score it loses by age, at exactly this weight
    even = (0.1 / 2) * minute
    assert retrieve("hkv", memory, query, prompt, limits=Limits(width=6, recency=0.9 * even)).chosen == (
        0,
        1,
        2,
    )
    assert retrieve("hkv", memory, query, prompt, limits=Limits(width=6, recency=1.1 * even)).chosen == (
        21,
        22,
        23,
    )


def greedy(scores, means, weight, count):
    """Maximal marginal relevance, transcribed with loops."""
    chosen = []
    unit = [row.flatten() / row.norm() for row in means]
    while len(chosen) < count:
        rest = [page for page in range(len(scores)) if page not in chosen]
        value = {
            p: scores[p] - weight * max([0.0] + [float(unit[p] @ unit[c]) for c in chosen]) for p in rest
        }
        chosen.append(max(rest, key=lambda page: value[page]))
    return sorted(chosen)


@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
def test_diversity_is_maximal_marginal_relevance(weight):
    means, query = torch.randn(30, 2, 2, 4), torch.randn(2, 2, 4)
    memory = Memory(torch.ones(1, 1), means, torch.tensor([(8 * p, 8, 0) for p in range(30)]))
    result = retrieve("hkv", memory, query, torch.ones(1), limits=Limits(diversity=weight))
    scores = [float((query * row).sum() / (4 * 4**0.5)) for row in means]
    assert list(result.chosen) == greedy(scores, means, weight, 3)
    copies = means.clone()
    copies[:] = means[score_pages(query, means).argmax()]
    copies[7] = torch.randn(2, 2, 4)
    twins = retrieve("hkv", replace(memory, means=copies), query, torch.ones(1), limits=Limits(diversity=1e6))
    assert 7 in twins.chosen


def test_a_world_recalls_for_every_event_of_its_prompt():
    engine = toy_engine()
    for prompt, blocks in (("red ball", 4), ("blue house", 4), ("green tree", 4), ("old road", 4)):
        for _ in range(blocks):
            engine.step(prompt)
    preview = engine.preview("red ball, then green tree")
    assert {(chunk.prompt, chunk.event) for chunk in preview.chunks[:2]} == {
        ("red ball", "red ball"),
        ("green tree", "green tree"),
    }
    assert {chunk.event for chunk in engine.preview("red ball").chunks} == {""}
    recall = engine.step("red ball, then green tree").telemetry.recall
    pages = {page.id: page.chunk_id for page in engine._memory.bank.pages}
    assert {0, 2} <= {pages[page] for page in recall.chosen}
    engine.close()


def test_ten_thousand_pages_are_scored_in_time(tmp_path):
    """10 ms are the goal; the least of many tries counts, since the machine has other work as well.

    `random` scores all ten thousand, which takes as long as reading their mean keys once: that is allowed for.
    """
    bank = make_bank(tmp_path, device=2, disk=0, begin=False)
    for page in range(10_000):
        if page % 5 == 0:
            bank.begin_chunk(torch.randn(384), f"prompt {page}")
        bank._index.add(info_of(bank, page), torch.randn(2, 2, 4))
        bank._there.append(torch.tensor(True))
    for chunk in range(2000):
        bank._prompts.add(torch.nn.functional.normalize(torch.randn(384), dim=0), f"{chunk}", f"{chunk}")
    bank._index._means._buffer = torch.randn(16384, 3, 6, 64)  # as wide as the pocket world's
    query, times = torch.randn(3, 6, 64), []
    for policy in ("hkv", "random"):
        for _ in range(20):
            start = time.thread_time()
            result = bank.retrieve(query, torch.randn(384), ((0, 3), (79_995, 5)), policy)
            times.append(1000 * (time.thread_time() - start))
        assert len(result.chosen) == 3
    means, bare = bank._index.means.flatten(1), []
    for _ in range(20):
        start = time.thread_time()
        means @ query.flatten()
        bare.append(1000 * (time.thread_time() - start))
    assert min(times[:20]) < 10
    assert min(times[20:]) < 10 + min(bare)
    bank._index.pages.clear()
    bank.close()


def info_of(bank, page):
    from worldattention.core.hkv.page import PageInfo

    return PageInfo(page, 8 * page, 8, page // 5, page)


def test_records_look_only_at_pages_that_moved(tmp_path, monkeypatch):
    bank = make_bank(tmp_path, device=2, dram=300, disk=0)
    fill(bank, 200)
    records = PageRecords()
    first = records.records(bank, set(), None)
    asked = []
    real = type(bank).tier_of
    monkeypatch.setattr(type(bank), "tier_of", lambda self, page: asked.append(page) or real(self, page))
    fill(bank, 1)
    second = records.records(bank, {5}, None)
    assert len(asked) <= 4
    assert (
        sum(a is not b for a, b in zip(first, second, strict=False)) == 2
    )  # page 5, and the one that made way
    assert [record.tier for record in second] == [real(bank, page) for page in range(201)]
    assert second[5].recalled
    scored = bank.retrieve(torch.randn(2, *SHAPE.tensor(1)[2:]), torch.ones(4))
    third = records.records(bank, set(), scored)
    assert {record.similarity for record in third} == {1.0}
    assert {record.similarity for record in records.records(bank, set(), None)} == {None}
    bank.close()


def test_a_recall_looks_only_at_pages_that_are_kept(tmp_path, monkeypatch):
    bank = make_bank(tmp_path, device=2, dram=5, disk=0)
    for _ in range(300):
        bank.add_lost(8, torch.randn(2, *SHAPE.tensor(1)[2:]))
    fill(bank, 20)
    records = PageRecords()
    records.records(bank, set(), None)
    asked = []
    real = type(bank).tier_of
    monkeypatch.setattr(type(bank), "tier_of", lambda self, page: asked.append(page) or real(self, page))
    scored = bank.retrieve(torch.randn(2, *SHAPE.tensor(1)[2:]), torch.ones(4))
    kept = {page for page in range(320) if real(bank, page) != "dropped"}
    assert len(kept) == 7
    for retrieval, wanted in ((scored, kept), (None, set())):
        told = records.records(bank, set(), retrieval)
        assert asked == []
        assert {record.page for record in told if record.similarity is not None} == wanted
        assert {record.page for record in told if record.score is not None} == wanted
    bank.close()


def test_options_reach_the_cache():
    config = Options(
        codec="fp8",
        write_through=True,
        recall_every_blocks=4,
        recency=0.5,
        diversity=0.25,
        similarity=3.0,
        device_quota_bytes=7,
    ).engine_config(ProjectSettings())
    cache = config.cache
    assert (cache.codec, cache.write_through, cache.recall_every_blocks) == ("fp8", True, 4)
    assert (cache.recency, cache.diversity, cache.similarity) == (0.5, 0.25, 3.0)
    assert cache.device_quota_bytes == 7
    assert Options().engine_config(ProjectSettings()) == preset_config("playground")
    assert live(config).cache.read_deadline_ms is not None
    assert memory_shape(live(config)) == memory_shape(config)
    assert memory_shape(config) != memory_shape(preset_config("playground"))
