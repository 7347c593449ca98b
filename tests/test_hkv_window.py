"""The window's slots by brute force, its buffers by direct rotation, the ring against a plain list."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.ring import FrameRing
from worldattention.core.hkv.window import (
    Window,
    kept_frames,
    plan_window,
    plan_window_authors,
)
from worldattention.kernels.reference.rope import rotary_table

SHAPE = KVShape(layers=2, frame_tokens=3, heads=2, head_dim=12, dtype=torch.float32)


def slots_of(plan):
    """Frames by slot, checking that slots are dense and ascending."""
    frames, slot = [], 0
    for span in plan.spans:
        assert span.first_slot == slot
        assert span.frames > 0
        frames.extend(range(span.first_frame, span.first_frame + span.frames))
        slot += span.frames
    assert slot == plan.frames
    return frames


def cut_into_pages(draw, frames_done):
    pages, first = [], 0
    while first < frames_done:
        frames = min(draw(st.integers(1, 8)), frames_done - first)
        pages.append(PageInfo(len(pages), first, frames, 0, 0))
        first += frames
    return pages


@settings(max_examples=200, deadline=None)
@given(data=st.data(), frames_done=st.integers(0, 90), budget=st.integers(8, 40), sink=st.integers(0, 4))
def test_plan_by_brute_force(data, frames_done, budget, sink):
    min_recent = data.draw(st.integers(0, 5))
    pages = cut_into_pages(data.draw, frames_done)
    kept = {f for first, n in kept_frames(frames_done, sink, min_recent) for f in range(first, first + n)}
    free = [page for page in pages if not kept & set(range(page.first_frame, page.end_frame))]
    chosen, room = [], budget - sink - min_recent
    for page in data.draw(st.permutations(free)):
        if page.frames <= room and len(chosen) < 4:
            chosen.append(page)
            room -= page.frames
    plan = plan_window(frames_done, budget, sink, chosen, min_recent)
    frames = slots_of(plan)
    assert len(set(frames)) == len(frames)
    assert frames == sorted(frames)
    if not chosen:
        assert frames == list(range(frames_done))[-budget:]
        assert [span.kind for span in plan.spans] == ["recent"] * bool(frames_done)
        return
    present = list(range(min(sink, frames_done)))
    for page in sorted(chosen, key=lambda page: page.first_frame):
        present += range(page.first_frame, page.end_frame)
    recent = []  # one by one, newest first, until the budget is full or a frame is there already
    while len(present) + len(recent) < budget and frames_done - 1 - len(recent) > max(present):
        recent.append(frames_done - 1 - len(recent))
    assert frames == present + recent[::-1]
    assert set(range(max(0, frames_done - min_recent), frames_done)) <= set(frames)
    assert plan.page_ids == tuple(sorted(page.id for page in chosen))


def test_the_design_window():
    pages = [PageInfo(4, 35, 8, 0, 0), PageInfo(2, 19, 8, 0, 0), PageInfo(3, 27, 5, 0, 0)]
    plan = plan_window(100, recalled=pages)
    assert [(s.kind, s.first_frame, s.frames, s.page, s.first_slot) for s in plan.spans] == [
        ("sink", 0, 3, None, 0),
        ("page", 19, 8, 2, 3),
        ("page", 27, 5, 3, 11),
        ("page", 35, 8, 4, 16),
        ("recent", 92, 8, None, 24),
    ]


def test_a_page_under_the_sink_gives_its_other_frames():
    plan = plan_window(40, recalled=[PageInfo(0, 0, 8, 0, 0)])
    assert [(s.kind, s.first_frame, s.frames) for s in plan.spans][:2] == [("sink", 0, 3), ("page", 3, 5)]
    assert slots_of(plan) == [*range(8), *range(16, 40)]


@pytest.mark.parametrize(
    "pages",
    [
        [PageInfo(0, 10, 8, 0, 0), PageInfo(1, 14, 8, 0, 0)],
        [PageInfo(0, 96, 8, 0, 0)],
        [PageInfo(k, 8 * k + 8, 8, 0, 0) for k in range(4)],
    ],
)
def test_impossible_recalls_are_refused(pages):
    with pytest.raises(ValueError, match="page"):
        plan_window(100, recalled=pages)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), budget=st.integers(1, 40), switch=st.integers(0, 60), later=st.integers(0, 50))
def test_authors_window_rolls(data, budget, switch, later):
    pages = cut_into_pages(data.draw, switch)[: data.draw(st.integers(0, 4))]
    plan = plan_window_authors(switch + later, budget, pages, switch)
    if pages:
        queue = [f for page in pages for f in range(page.first_frame, page.end_frame)][:budget]
        queue += range(switch, switch + later)
    else:
        queue = list(range(switch + later))
    assert slots_of(plan) == queue[-budget:]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), capacity=st.integers(1, 9), sink=st.integers(0, 4))
def test_ring_against_a_list(data, capacity, sink):
    ring = FrameRing(SHAPE, capacity, sink)
    history = torch.randn(2, *SHAPE.tensor(40))
    done = 0
    for _ in range(data.draw(st.integers(1, 8))):
        count = data.draw(st.integers(1, 5))
        part = slice(done * 3, (done + count) * 3)
        ring.append(history[0][:, part], history[1][:, part])
        done += count
        there = [f for f in range(done) if f < sink or f >= done - capacity]
        first = data.draw(st.sampled_from(there))
        frames = 1
        while first + frames in there and data.draw(st.booleans()):
            frames += 1
        frame = first
        for at, keys, values in ring.pieces(first, frames):
            assert at == frame
            part = slice(frame * 3, frame * 3 + keys.shape[1])
            assert torch.equal(keys, history[0][:, part])
            assert torch.equal(values, history[1][:, part])
            frame += keys.shape[1] // 3
        assert frame == first + frames
        gone = set(range(done)) - set(there)
        for frame in gone:
            with pytest.raises(KeyError):
                list(ring.pieces(frame, 1))
    with pytest.raises(KeyError):
        list(ring.pieces(done, 1))


def direct(key, slot, token):
    """One key [D] rotated to a slot by Wan's rule for a 1 x 3 grid, pair by pair, in fp64."""
    out = key.double().clone()
    dim = key.shape[0]
    space = 2 * (dim // 6)
    axes = [(0, dim - 2 * space, slot), (dim - 2 * space, space, 0), (dim - space, space, token)]
    for start, size, position in axes:
        for pair in range(size // 2):
            angle = torch.tensor(position * 10000.0 ** (-2 * pair / size), dtype=torch.float64)
            a, b = key[start + 2 * pair].double(), key[start + 2 * pair + 1].double()
            out[start + 2 * pair] = a * angle.cos() - b * angle.sin()
            out[start + 2 * pair + 1] = a * angle.sin() + b * angle.cos()
    return out


def make_window(budget=12, block=3):
    return Window(SHAPE, budget, block, rotary_table(torch.arange(budget + block), (1, 3), 12))


def test_install_rotates_to_the_slot_and_keeps_values():
    history = torch.randn(2, *SHAPE.tensor(30))
    ring = FrameRing(SHAPE, 6, 2)
    for start in range(0, 30, 3):
        ring.append(history[0][:, start * 3 : start * 3 + 9], history[1][:, start * 3 : start * 3 + 9])
    info = PageInfo(1, 8, 4, 0, 0)
    page = PageData(info, history[0][:, 24:36], history[1][:, 24:36])
    plan = plan_window(30, 12, 2, [info], 2)
    window = make_window()
    window.install(plan, ring, {1: page})
    frames = slots_of(plan)
    assert window.tokens == len(frames) * 3 == 36
    keys, values = window.context(1)
    for slot, frame in enumerate(frames):
        for token in range(3):
            source = history[0][1, frame * 3 + token, 1]
            assert torch.allclose(
                keys[0, slot * 3 + token, 1].double(), direct(source, slot, token), atol=1e-5
            )
    expected = torch.cat([history[1][1, f * 3 : f * 3 + 3] for f in frames])
    assert torch.equal(values[0], expected)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_installing_step_by_step_equals_installing_at_once(data):
    history = torch.randn(2, *SHAPE.tensor(40))
    ring = FrameRing(SHAPE, 20, 2)
    window = make_window()
    pages = {p: PageInfo(p, 2 + 4 * p, 4, 0, 0) for p in range(3)}
    sources = {
        p: PageData(
            info,
            history[0][:, info.first_frame * 3 : info.end_frame * 3],
            history[1][:, info.first_frame * 3 : info.end_frame * 3],
        )
        for p, info in pages.items()
    }
    done = 0
    while done < 36:
        part = slice(done * 3, done * 3 + 9)
        ring.append(history[0][:, part], history[1][:, part])
        done += 3
        recalled = [pages[p] for p in data.draw(st.sets(st.sampled_from([0, 1, 2]), max_size=2))]
        recalled = [page for page in recalled if page.end_frame <= done - 2]
        plan = plan_window(done, 12, 2, recalled, 2)
        written = window.install(plan, ring, sources)
        fresh = make_window()
        fresh.install(plan, ring, sources)
        for layer in range(2):
            for ours, theirs in zip(window.context(layer), fresh.context(layer), strict=True):
                assert torch.equal(ours, theirs)
        assert window.install(plan, ring, sources) == ()
        assert sum(frames for _, frames in written) <= plan.frames
        keys, values = window.context(0, 9)
        keys[:, window.tokens :] = torch.nan  # the current block overwrites the slots behind the window
        values[:, window.tokens :] = torch.nan


def test_current_block_comes_last():
    window = make_window()
    ring = FrameRing(SHAPE, 6, 2)
    ring.append(*torch.randn(2, *SHAPE.tensor(4)))
    window.install(plan_window(4, 12, 2), ring, {})
    cos, sin = window.current_table(9)
    whole = rotary_table(torch.arange(4, 7), (1, 3), 12)
    assert torch.equal(cos, whole[0])
    assert torch.equal(sin, whole[1])
    assert window.context(0, 9)[0].shape == (1, 21, 2, 12)
