"""What the frames of a training sequence see: the planned windows against their rules."""

import pytest
import torch
from torch import Tensor

from tests.shots import CPU, new_planner
from worldattention.core.pocket.training.data import CLIPS, ClipTable
from worldattention.core.pocket.training.windows import (
    BLOCK,
    BUDGET,
    MEMORY_LAYOUT,
    MEMORY_MIXTURE,
    PAGE,
    PAGES,
    SCENES_LAYOUT,
    SINK,
    Plan,
    Planner,
)

MEMORY, CLEAN = MEMORY_LAYOUT.memory, MEMORY_LAYOUT.clean


@pytest.fixture
def planner() -> Planner:
    return new_planner()


def clip_names(source: Tensor) -> Tensor:
    return ClipTable.of(CLIPS, CPU).clip_of[source]


def noisy(block: int) -> slice:
    start = MEMORY_LAYOUT.noisy_from + BLOCK * block
    return slice(start, start + BLOCK)


def seen(plan: Plan, sample: int, block: int) -> set[int]:
    """Frames that a noisy block sees beside itself; its three frames must agree."""
    rows = plan.visible[sample, noisy(block)]
    assert (rows == rows[0]).all()
    own = set(range(noisy(block).start, noisy(block).stop))
    frames = set(rows[0].nonzero()[:, 0].tolist())
    assert own <= frames
    return frames - own


def test_scenes_from_nothing_see_their_own_block_only(planner: Planner) -> None:
    plan = planner.nothing(5)
    assert plan.noisy.all()
    expected = torch.block_diag(*[torch.ones(BLOCK, BLOCK)] * (MEMORY_LAYOUT.frames // BLOCK)).bool()
    assert (plan.visible == expected).all()
    shots = plan.source.unflatten(1, (-1, BLOCK))
    assert (shots.diff(dim=-1) == 1).all()
    names = clip_names(plan.source).unflatten(1, (-1, BLOCK))
    assert (names == names[..., :1]).all()


def test_a_continued_shot_sees_at_most_the_budget_directly_before_it(planner: Planner) -> None:
    plan = planner.continued(6, torch.full((6,), MEMORY))
    time = torch.cat([torch.arange(MEMORY + CLEAN), torch.arange(MEMORY, MEMORY + CLEAN)])
    for sample in range(6):
        assert (plan.source[sample] - plan.source[sample, 0] == time).all()
        assert (plan.position[sample] == time).all()
        for block in range(CLEAN // BLOCK):
            first = MEMORY + BLOCK * block
            assert seen(plan, sample, block) == set(range(max(0, first - BUDGET), first))


def test_hidden_history_is_not_seen(planner: Planner) -> None:
    plan = planner.continued(4, torch.tensor([0, 3, 9, MEMORY]))
    for sample, history in enumerate((0, 3, 9, MEMORY)):
        assert seen(plan, sample, 0) == set(range(MEMORY - history, MEMORY))


def test_a_switch_cuts_to_another_scene(planner: Planner) -> None:
    plan = planner.switched(8, torch.full((8,), 2))
    names = clip_names(plan.source)[:, MEMORY : MEMORY + CLEAN]
    assert (names[:, :6] == names[:, :1]).all()
    assert (names[:, 6:] == 1 - names[:, :1]).all()


@pytest.mark.parametrize("pages", [1, 2, 3])
def test_recall_is_the_window_of_the_design(planner: Planner, pages: int) -> None:
    """Sink, pages, recent frames and the current block lie in that order and next to each other."""
    batch, exact = 40, 0
    plan = planner.recall(batch, None, None, torch.full((batch,), pages))
    for sample in range(batch):
        for block in range(1, CLEAN // BLOCK):
            frames = seen(plan, sample, block)
            memory = sorted(frame for frame in frames if frame < MEMORY)
            recent = sorted(frame for frame in frames if frame >= MEMORY)
            shown = [frame for frame in memory if frame >= SINK]
            assert len(shown) == PAGE * pages
            assert shown == list(range(MEMORY - PAGE * pages, MEMORY))
            sink = [frame for frame in memory if frame < SINK]
            assert sink in ([], [0, 1, 2])
            # Recent frames end right before the current block and are no more than the budget leaves.
            assert recent == list(range(MEMORY + BLOCK * block - len(recent), MEMORY + BLOCK * block))
            assert len(recent) <= BUDGET - SINK - PAGE * pages
            slots = plan.position[sample]
            assert slots[memory].tolist() == list(range(len(memory)))
            assert (slots[recent].diff() == 1).all()
            current = slots[noisy(block)]
            if recent:
                assert current[0] == slots[recent[-1]] + 1
                assert slots[recent[0]] >= len(memory)
                exact += int(slots[recent[0]] == len(memory))
    assert exact > batch


def test_recall_shows_the_first_scene_again_and_pages_as_told(planner: Planner) -> None:
    right = torch.tensor([[True, False, True], [True, True, True]]).repeat(10, 1)
    plan = planner.recall(20, torch.full((20,), 2), right, torch.full((20,), PAGES))
    names = clip_names(plan.source)
    assert (names[:, MEMORY : MEMORY + 6] == 1).all()
    assert (names[:, MEMORY + 6 : MEMORY + CLEAN] == 2).all()
    shown = names[:, SINK:MEMORY].unflatten(1, (PAGES, PAGE))
    assert (shown == shown[..., :1]).all()
    assert ((shown[..., 0] == 0) == right).all()
    starts = plan.source[1::2, SINK:MEMORY:PAGE]
    assert (starts.diff(dim=1) >= 0).all(), "pages of one scene are in the order of time"


def test_no_noisy_frame_is_seen_from_outside_its_block(planner: Planner) -> None:
    plan = planner.draw(60, MEMORY_MIXTURE)
    blocks = torch.arange(MEMORY_LAYOUT.frames) // BLOCK
    outside = plan.visible & (blocks[:, None] != blocks)
    leaks = outside & plan.noisy[:, None, :]
    assert not leaks.any()
    assert plan.visible.diagonal(dim1=1, dim2=2).all()
    noisy_blocks = plan.noisy.unflatten(1, (-1, BLOCK))
    assert (noisy_blocks == noisy_blocks[..., :1]).all()
    kinds = {bool(row.all()) for row in plan.noisy}
    assert kinds == {True, False}


def test_a_layout_without_memory_never_recalls() -> None:
    plan = new_planner(SCENES_LAYOUT).draw(12, MEMORY_MIXTURE)
    assert plan.source.shape == (12, SCENES_LAYOUT.frames)
