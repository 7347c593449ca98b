"""Block map, Gini, threshold and selection against loops written from DESIGN section 3."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.kernels import ops
from worldattention.kernels.reference.routing import block_map, kept_blocks, select


def gini_of_row(row: np.ndarray) -> float:
    """(1/N) sum over m of (N + 1 - 2m) p_(m), p sorted descending."""
    ordered = sorted(row.tolist(), reverse=True)
    count = len(ordered)
    return sum((count + 1 - 2 * m) * p for m, p in enumerate(ordered, start=1)) / count


def smallest_set(row: np.ndarray, threshold: float) -> int:
    """Size of the smallest subset whose mass reaches the threshold, over all subsets."""
    for size in range(1, len(row) + 1):
        if any(math.fsum(subset) >= threshold for subset in itertools.combinations(row.tolist(), size)):
            return size
    return len(row)


def random_map(batch: int, heads: int, q_blocks: int, k_blocks: int, sharpness: float) -> torch.Tensor:
    return torch.softmax(sharpness * torch.randn(batch, heads, q_blocks, k_blocks), dim=-1)


@settings(deadline=None, max_examples=40)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.integers(1, 9)),
    sharpness=st.floats(0.0, 6.0),
    tau_min=st.floats(0.05, 0.9),
    seed=st.integers(0, 2**31),
)
def test_selection_is_the_smallest_that_reaches_the_threshold(
    shape: tuple[int, int, int, int], sharpness: float, tau_min: float, seed: int
) -> None:
    torch.manual_seed(seed)
    probabilities = random_map(*shape, sharpness)
    routing = select(probabilities, tau_min, 1.0)
    maps = probabilities.double().numpy()
    for head in range(shape[1]):
        rows = [maps[b, head, i] for b in range(shape[0]) for i in range(shape[2])]
        gini = sum(map(gini_of_row, rows)) / len(rows)
        threshold = tau_min + gini * (1.0 - tau_min)
        assert math.isclose(routing.gini[head], gini, abs_tol=2e-6)
        assert math.isclose(routing.threshold[head], threshold, abs_tol=2e-6)
        chosen = routing.selected[:, head].flatten(0, 1).numpy()
        for row, mask in zip(rows, chosen, strict=True):
            # Rounding may move the border by one block only where two answers are equally right.
            assert smallest_set(row, threshold - 4e-6) <= mask.sum() <= smallest_set(row, threshold + 4e-6)
            if not mask.all():
                assert row[mask].min() >= row[~mask].max()
        density = chosen.sum() / chosen.size
        assert math.isclose(routing.density[head], density, abs_tol=1e-6)


def test_the_block_that_crosses_is_included() -> None:
    row = torch.tensor([0.1, 0.4, 0.3, 0.2]).view(1, 1, 1, 4)
    # G = (3 * 0.4 + 0.3 - 0.2 - 3 * 0.1) / 4 = 0.25; tau = 0.45 + 0.25 * 0.2 = 0.5
    routing = select(row, 0.45, 0.65)
    assert routing.selected.flatten().tolist() == [False, True, True, False]
    torch.testing.assert_close(routing.gini, torch.tensor([0.25]))


def test_gini_spans_its_range() -> None:
    one_hot = torch.zeros(1, 1, 1, 5)
    one_hot[..., 3] = 1.0
    torch.testing.assert_close(select(one_hot, 0.35, 1.0).gini, torch.tensor([4 / 5]))
    assert select(one_hot, 0.35, 1.0).selected.flatten().tolist() == [False, False, False, True, False]
    uniform = torch.full((1, 1, 1, 5), 0.2)
    torch.testing.assert_close(select(uniform, 0.35, 1.0).gini, torch.tensor([0.0]), atol=1e-6, rtol=0)


def test_equal_masses_are_taken_in_order() -> None:
    uniform = torch.full((2, 3, 4, 8), 1 / 8)
    selected = select(uniform, 0.35, 1.0).selected
    assert (selected == torch.tensor([True] * 3 + [False] * 5)).all()
    assert torch.equal(selected, select(uniform, 0.35, 1.0).selected)


def test_a_threshold_of_one_reads_everything() -> None:
    assert select(random_map(1, 2, 3, 50, 1.0), 1.0, 1.0).selected.all()


@settings(deadline=None, max_examples=30)
@given(blocks=st.integers(1, 40), percent=st.integers(1, 100))
def test_a_density_keeps_the_top_share(blocks: int, percent: int) -> None:
    probabilities = random_map(1, 2, 3, blocks, 2.0)
    routing = select(probabilities, 0.35, 1.0, density=percent / 100)
    kept = max(1, -(-percent * blocks // 100))
    assert kept_blocks(percent / 100, blocks) == kept
    assert (routing.selected.sum(dim=-1) == kept).all()
    for row, mask in zip(probabilities.view(-1, blocks), routing.selected.view(-1, blocks), strict=True):
        if not mask.all():
            assert row[mask].min() >= row[~mask].max()
    torch.testing.assert_close(routing.density, torch.full((2,), kept / blocks))


def test_block_map_is_a_scaled_softmax() -> None:
    q, k = torch.randn(2, 3, 4, 16), torch.randn(2, 5, 4, 16)
    got = block_map(q.bfloat16(), k.bfloat16()).numpy()
    q64, k64 = q.bfloat16().double().numpy(), k.bfloat16().double().numpy()
    for batch, head, i in itertools.product(range(2), range(4), range(3)):
        logits = np.array([q64[batch, i, head] @ k64[batch, j, head] / 4.0 for j in range(5)])
        weights = np.exp(logits - logits.max())
        np.testing.assert_allclose(got[batch, head, i], weights / weights.sum(), atol=1e-6)


def test_route_is_map_then_selection() -> None:
    q, k = torch.randn(1, 3, 2, 16), torch.randn(1, 7, 2, 16)
    routing = ops.route(q, k, 0.35, 1.0)
    expected = select(block_map(q, k), 0.35, 1.0)
    assert torch.equal(routing.selected, expected.selected)
    assert torch.equal(routing.gini, expected.gini)


@pytest.mark.parametrize("k_blocks", [1, 35, 840])
def test_large_maps_agree_with_fp64(k_blocks: int) -> None:
    probabilities = random_map(1, 2, 3, k_blocks, 3.0)
    expected = [
        sum(gini_of_row(probabilities[0, h, i].double().numpy()) for i in range(3)) / 3 for h in range(2)
    ]
    torch.testing.assert_close(
        select(probabilities, 0.35, 1.0).gini.double(), torch.tensor(expected).double(), atol=2e-5, rtol=0
    )
