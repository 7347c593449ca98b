"""Retrieval: every policy against an independent transcription, in plain Python loops."""

import math
import random
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.config import RETRIEVAL_POLICIES
from worldattention.core.hkv.retrieval import Limits, Memory, Retrieval, retrieve, score_pages


def make_memory(seed, chunks=None, short=True):
    """A random bank: unit prompts [C, E], means [P, S, H, D], spans [P, 3], chunk by chunk."""
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    chunks = rng.randint(1, 7) if chunks is None else chunks
    prompts = torch.nn.functional.normalize(torch.randn(chunks, 5, generator=generator), dim=1)
    spans, frame = [], 0
    for chunk in range(chunks):
        for _ in range(rng.randint(0, 5)):
            frames = rng.randint(1, 8) if short and rng.random() < 0.4 else 8
            spans.append((frame, frames, chunk))
            frame += frames
    table = torch.tensor(spans, dtype=torch.int64).reshape(-1, 3)
    means = torch.randn(len(spans), 3, 2, 4, generator=generator)
    query = torch.randn(3, 2, 4, generator=generator)
    prompt = torch.nn.functional.normalize(torch.randn(5, generator=generator), dim=0)
    return Memory(prompts, means, table), query, prompt, frame


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def expected(policy, memory, query, prompt, excluded, limits, preset, available):
    """Candidates and choice as DESIGN 3 words them (not for `random`)."""
    cosines = [dot(row, prompt.tolist()) for row in memory.prompts.tolist()]
    window = {f for first, count in excluded for f in range(first, first + count)}
    free = [
        page
        for page, (first, frames, _) in enumerate(memory.spans.tolist())
        if available[page] and not window & set(range(first, first + frames))
    ]
    chunk_of = [chunk for _, _, chunk in memory.spans.tolist()]
    chunks = sorted({chunk_of[page] for page in free}, key=lambda c: -cosines[c])

    def affinity(page):
        layers, heads, dim = query.shape
        if preset == "authors":
            return dot(query[0].flatten().tolist(), memory.means[page, 0].flatten().tolist()) / math.sqrt(
                heads * dim
            )
        values = [
            dot(query[s, h].tolist(), memory.means[page, s, h].tolist()) / math.sqrt(dim)
            for s in range(layers)
            for h in range(heads)
        ]
        return sum(values) / len(values)

    if policy == "none":
        return cosines, {}, []
    if policy == "hkv":
        chosen_chunks = chunks[: limits.width]
    elif policy == "chunk":
        chosen_chunks = chunks[:1]
    elif policy == "mismatched":
        chosen_chunks = chunks[-1:]
    else:
        chosen_chunks = chunks
    pool = [page for page in free if chunk_of[page] in chosen_chunks]
    scores = {page: affinity(page) for page in pool}
    if policy in ("recent", "chunk"):
        order = sorted(pool, reverse=True)
    else:
        order = sorted(pool, key=lambda page: -scores[page])
    chosen, frames_left = [], limits.frames if limits.frames is not None else 10**9
    for page in order:
        if len(chosen) < limits.pages and memory.spans[page, 1] <= frames_left:
            chosen.append(page)
            frames_left -= int(memory.spans[page, 1])
    return cosines, scores, sorted(chosen)


@pytest.mark.parametrize("preset", ["playground", "authors"])
@pytest.mark.parametrize("policy", [p for p in RETRIEVAL_POLICIES if p != "random"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), data=st.data())
def test_policy_by_transcription(policy, preset, seed, data):
    memory, query, prompt, frames = make_memory(seed)
    pages = len(memory.spans)
    limits = Limits(
        data.draw(st.integers(0, 5)),
        data.draw(st.sampled_from([None, 0, 9, 24])),
        data.draw(st.integers(1, 4)),
    )
    excluded = [(0, data.draw(st.integers(0, 4))), (max(0, frames - 5), data.draw(st.integers(0, 5)))]
    available = data.draw(st.lists(st.booleans(), min_size=pages, max_size=pages))
    memory = Memory(memory.prompts, memory.means, memory.spans, torch.tensor(available, dtype=torch.bool))
    result = retrieve(policy, memory, query, prompt, excluded=excluded, limits=limits, preset=preset)
    cosines, scores, chosen = expected(policy, memory, query, prompt, excluded, limits, preset, available)
    assert torch.allclose(result.similarities, torch.tensor(cosines), atol=1e-5)
    assert result.candidates == tuple(sorted(scores))
    for page in range(pages):
        if page in scores:
            assert float(result.scores[page]) == pytest.approx(scores[page], abs=1e-4)
        else:
            assert math.isnan(float(result.scores[page]))
    assert result.chosen == tuple(chosen)


def test_authors_scale_differs_from_playground():
    query, means = torch.ones(3, 2, 4), torch.ones(1, 3, 2, 4)
    assert float(score_pages(query, means)) == pytest.approx(4 / 2)
    assert float(score_pages(query, means, "authors")) == pytest.approx(8 / math.sqrt(8))


def test_stage_one_pools_before_the_top_k():
    """The best pages of three chunks win, not the pages of the best chunk."""
    prompts = torch.eye(4)
    spans = torch.tensor([(8 * p, 8, p // 2) for p in range(8)])
    means = torch.arange(8.0).reshape(8, 1, 1, 1)
    prompt = torch.nn.functional.normalize(torch.tensor([0.9, 0.5, 0.4, 0.0]), dim=0)
    result = retrieve("hkv", Memory(prompts, means, spans), torch.ones(1, 1, 1), prompt)
    assert result.chunks == (0, 1, 2)
    assert result.chosen == (3, 4, 5)
    narrow = retrieve(
        "hkv", Memory(prompts, means, spans), torch.ones(1, 1, 1), prompt, limits=Limits(width=1)
    )
    assert narrow.chosen == (0, 1)


def test_choice_is_chronological_not_by_score():
    spans = torch.tensor([(8 * p, 8, 0) for p in range(5)])
    means = torch.tensor([3.0, 9.0, 1.0, 7.0, 8.0]).reshape(5, 1, 1, 1)
    result = retrieve("hkv", Memory(torch.ones(1, 1), means, spans), torch.ones(1, 1, 1), torch.ones(1))
    assert result.chosen == (1, 3, 4)


def test_over_budget_cuts_by_score():
    spans = torch.tensor([(8 * p, 8, 0) for p in range(4)])
    means = torch.tensor([1.0, 4.0, 2.0, 3.0]).reshape(4, 1, 1, 1)
    memory = Memory(torch.ones(1, 1), means, spans)
    result = retrieve("hkv", memory, torch.ones(1, 1, 1), torch.ones(1), limits=Limits(frames=17))
    assert result.chosen == (1, 3)


def test_equal_scores_prefer_the_older():
    spans = torch.tensor([(8 * p, 8, p) for p in range(6)])
    memory = Memory(torch.ones(6, 1), torch.ones(6, 1, 1, 1), spans)
    result = retrieve("hkv", memory, torch.ones(1, 1, 1), torch.ones(1), limits=Limits(pages=2))
    assert (result.chunks, result.chosen) == ((0, 1, 2), (0, 1))


def test_chunks_inside_the_window_take_no_place():
    prompts = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]])
    spans = torch.tensor([(0, 8, 1), (8, 8, 2), (16, 8, 0)])
    memory = Memory(prompts, torch.ones(3, 1, 1, 1), spans)
    result = retrieve(
        "hkv",
        memory,
        torch.ones(1, 1, 1),
        torch.tensor([1.0, 0.0]),
        excluded=[(19, 5)],
        limits=Limits(width=1),
    )
    assert result.chunks == (1,)
    assert result.chosen == (0,)


@pytest.mark.parametrize("policy", RETRIEVAL_POLICIES)
def test_empty_bank_and_all_excluded(policy):
    empty = Memory(torch.empty(0, 0), torch.empty(0, 3, 2, 4), torch.empty(0, 3, dtype=torch.int64))
    result = retrieve(policy, empty, torch.ones(3, 2, 4), torch.ones(5))
    assert (result.chosen, result.candidates, result.chunks) == ((), (), ())
    memory, query, prompt, frames = make_memory(3, chunks=6)
    result = retrieve(policy, memory, query, prompt, excluded=[(0, frames)])
    assert (result.chosen, result.candidates, result.chunks) == ((), (), ())
    assert bool(torch.isnan(result.scores).all())


def test_random_is_seeded_uniform_and_whole():
    memory = Memory(
        torch.ones(1, 1), torch.ones(12, 1, 1, 1), torch.tensor([(8 * p, 8, 0) for p in range(12)])
    )

    def draw(seed, block) -> Retrieval:
        return retrieve(
            "random", memory, torch.ones(1, 1, 1), torch.ones(1), seed=seed, block=block, excluded=[(0, 3)]
        )

    assert draw(5, 9).chosen == draw(5, 9).chosen
    assert len({draw(5, block).chosen for block in range(20)}) > 5
    assert len({draw(seed, 0).chosen for seed in range(20)}) > 5
    counts = [0] * 12
    for block in range(1100):
        for page in draw(0, block).chosen:
            counts[page] += 1
    assert counts[0] == 0
    assert min(counts[1:]) > 230  # 300 each are expected; six standard deviations are 88
    assert max(counts[1:]) < 390


def test_unknown_policy_is_refused():
    memory, query, prompt, _ = make_memory(0)
    with pytest.raises(ValueError, match="policy"):
        retrieve("best", memory, query, prompt)


def test_ten_thousand_pages_are_scored_at_once():
    """A loose bound (the goal is 10 ms on an idle machine), so that a loop over pages cannot pass."""
    pages = 10_000
    spans = torch.stack([torch.arange(pages) * 8, torch.full((pages,), 8), torch.arange(pages) // 5], dim=1)
    prompts = torch.nn.functional.normalize(torch.randn(pages // 5, 384), dim=1)
    memory = Memory(prompts, torch.randn(pages, 3, 6, 64), spans)
    query, prompt = torch.randn(3, 6, 64), prompts[7]
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        score_pages(query, memory.means)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.1
    assert retrieve("hkv", memory, query, prompt).chunks[0] == 7
