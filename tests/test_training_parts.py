"""Parts of the training recipe: pairs of shots, stages with a deadline, matrices in int8."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from tests.shots import CPU, new_planner
from worldattention.core.models.checkpoint import read_weights
from worldattention.core.models.row_int8 import ROW_SCALE, from_rows, to_rows
from worldattention.core.pocket.training import transformer as training
from worldattention.core.pocket.training.checkpoint import load_weights, save_weights
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.windows import (
    BLOCK,
    MEMORY_LAYOUT,
    WHOLE_MIXTURE,
    Planner,
)

GROUP = Group(0, 1, CPU)


@pytest.fixture
def planner() -> Planner:
    return new_planner()


def test_paired_shots_do_not_see_each_other(planner: Planner) -> None:
    """Two shots of 12 noisy and 12 clean frames, then a block from nothing."""
    plan = planner.paired(12)
    span = torch.tensor([0] * 24 + [1] * 24 + [2] * 3)
    assert plan.source.shape == (12, MEMORY_LAYOUT.frames)
    assert not (plan.visible & (span[:, None] != span)).any()
    assert plan.visible[:, 48:, 48:].all()
    for start in (0, 24):
        noisy, clean = slice(start, start + 12), slice(start + 12, start + 24)
        assert plan.noisy[:, noisy].all()
        assert not plan.noisy[:, clean].any()
        assert (plan.source[:, noisy] == plan.source[:, clean]).all(), "the same frames, noisy and clean"
        assert (plan.position[:, noisy] == torch.arange(12)).all()
        for block in range(4):
            rows = plan.visible[:, start + BLOCK * block]
            before = rows[:, clean].sum(1)
            assert (before == BLOCK * block).all(), "all earlier blocks, clean"
            assert rows[:, noisy].sum(1).eq(BLOCK).all(), "and its own frames, noisy"
    assert plan.noisy[:, 48:].all()


def test_the_whole_mixture_leaks_nothing_and_trains_on_more(planner: Planner) -> None:
    plan = planner.draw(200, WHOLE_MIXTURE)
    blocks = torch.arange(MEMORY_LAYOUT.frames) // BLOCK
    outside = plan.visible & (blocks[:, None] != blocks)
    assert not (outside & plan.noisy[:, None, :]).any()
    assert plan.visible.diagonal(dim1=1, dim2=2).all()
    assert plan.noisy.float().mean() > 0.45
    counts = {int(row.sum()) for row in plan.noisy}
    assert counts == {12, 27, MEMORY_LAYOUT.frames}
    group = MEMORY_LAYOUT.memory // BLOCK  # what `own_context` looks at to leave a sample alone
    alone = plan.noisy[:, ::BLOCK][:, group]
    assert (alone == (plan.noisy.sum(1) != 12)).all()


def test_a_stage_ends_before_the_deadline_and_cools_down_on_the_way() -> None:
    clock = StageClock("toy", 1000.0, GROUP, deadline=time.time() + 0.4)
    started, shares = time.monotonic(), []
    while (share := clock.progress()) < 1:
        shares.append(share)
        time.sleep(0.002)
    clock.close()
    assert time.monotonic() - started < 5
    assert max(shares) > 0.6, "the stage was shortened as a whole, not cut"
    late = StageClock("late", 1000.0, GROUP, deadline=time.time() - 10)
    late.progress()
    steps = 0
    while late.progress() < 1:
        steps += 1
    late.close()
    assert steps < 30
    assert training.settling(0.3) == 1
    assert training.settling(1.0) == pytest.approx(0.05)


def test_a_loss_that_is_not_finite_ends_the_stage() -> None:
    clock = StageClock("toy", 0.0, GROUP, steps=3)
    run = training.Run.__new__(training.Run)
    run.clock, run.objective = clock, training.flow_loss
    run._report([torch.tensor(0.5)])
    with pytest.raises(RuntimeError, match="not finite"):
        run._report([torch.tensor(0.5), torch.tensor(float("nan"))])
    clock.close()


def test_matrices_in_rows_of_int8(tmp_path: Path) -> None:
    matrix = torch.randn(40, 24) * torch.rand(40, 1) * 10
    stored = to_rows("m", matrix) | {"other": torch.randn(3)}
    assert stored["m"].dtype == torch.int8
    whole = from_rows(stored)
    assert whole.keys() == {"m", "other"}
    step = matrix.abs().amax(1, keepdim=True) / 127
    assert ((whole["m"].float() - matrix).abs() <= 0.51 * step + 1e-3 * matrix.abs()).all()
    name, other = "blocks.3.attn2.to_q.weight", "blocks.3.attn1.to_q.weight"
    save_weights(tmp_path, "model", {name: matrix, other: matrix})
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        assert set(file.keys()) == {name, name + ROW_SCALE, other}
    for read in (read_weights(tmp_path), load_weights(tmp_path, "model")):
        assert read.keys() == {name, other}
        torch.testing.assert_close(read[name].float(), whole["m"].float())
        torch.testing.assert_close(read[other].float(), matrix.half().float())
    again = load_weights(tmp_path, "model")
    save_weights(tmp_path, "model", again)
    torch.testing.assert_close(load_weights(tmp_path, "model")[name], again[name], rtol=2e-3, atol=0)
