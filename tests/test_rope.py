"""Rotary positions against complex numbers and against diffusers."""

import cmath
import math

import numpy as np
import pytest
import torch
from diffusers.models.transformers.transformer_wan import WanRotaryPosEmbed
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.kernels.reference.rope import rotary_table, rotate, spatial_table


def channel_angles(position: float, row: int, column: int, head_dim: int) -> list[float]:
    """The angle of every pair of channels of one token, written from Wan's split."""
    space = 2 * (head_dim // 6)
    angles = []
    for place, size in ((position, head_dim - 2 * space), (row, space), (column, space)):
        angles += [place / 10000 ** (2 * pair / size) for pair in range(size // 2)]
    return angles


@settings(deadline=None, max_examples=30)
@given(
    positions=st.lists(st.integers(0, 2000), min_size=1, max_size=4),
    grid=st.tuples(st.integers(1, 4), st.integers(1, 5)),
    head_dim=st.sampled_from([12, 16, 64, 128]),
)
def test_is_a_complex_rotation(positions: list[int], grid: tuple[int, int], head_dim: int) -> None:
    cos, sin = rotary_table(torch.tensor(positions), grid, head_dim)
    tokens = len(positions) * grid[0] * grid[1]
    x = torch.randn(2, tokens, 3, head_dim)
    got = rotate(x, cos, sin).numpy()
    token = 0
    for position in positions:
        for row in range(grid[0]):
            for column in range(grid[1]):
                turns = [cmath.exp(1j * a) for a in channel_angles(position, row, column, head_dim)]
                pairs = x[:, token].numpy().astype(np.float64)
                expected = (pairs[..., 0::2] + 1j * pairs[..., 1::2]) * np.array(turns)
                np.testing.assert_allclose(got[:, token, :, 0::2], expected.real, atol=2e-6)
                np.testing.assert_allclose(got[:, token, :, 1::2], expected.imag, atol=2e-6)
                token += 1


@pytest.mark.parametrize(
    ("head_dim", "frames", "grid"), [(64, 7, (8, 16)), (128, 3, (5, 7)), (16, 2, (1, 3))]
)
def test_equals_diffusers(head_dim: int, frames: int, grid: tuple[int, int]) -> None:
    theirs = WanRotaryPosEmbed(head_dim, (1, 2, 2), 1024)
    cos, sin = theirs(torch.empty(1, 4, frames, 2 * grid[0], 2 * grid[1]))
    ours = rotary_table(torch.arange(frames), grid, head_dim)
    torch.testing.assert_close(ours[0], cos[0, :, 0, 0::2].float(), atol=1e-7, rtol=0)
    torch.testing.assert_close(ours[1], sin[0, :, 0, 1::2].float(), atol=1e-7, rtol=0)


def test_tables_of_several_samples_are_their_own_tables() -> None:
    positions = torch.randint(0, 500, (3, 4))
    cos, sin = rotary_table(positions, (2, 3), 16)
    x = torch.randn(3, 24, 2, 16)
    together = rotate(x, cos, sin)
    for sample in range(3):
        alone = rotate(x[sample], *rotary_table(positions[sample], (2, 3), 16))
        torch.testing.assert_close(together[sample], alone)


def test_scores_depend_on_distance_only() -> None:
    q, k = torch.randn(2, 1, 1, 64)

    def score(query_at: int, key_at: int) -> torch.Tensor:
        turned_q = rotate(q, *rotary_table(torch.tensor([query_at]), (1, 1), 64))
        turned_k = rotate(k, *rotary_table(torch.tensor([key_at]), (1, 1), 64))
        return (turned_q * turned_k).sum()

    torch.testing.assert_close(score(40, 33), score(1007, 1000), atol=1e-3, rtol=0)
    assert not torch.isclose(score(40, 33), score(40, 30), atol=1e-3)


def test_spatial_table_leaves_time_alone() -> None:
    x = torch.randn(2 * 12, 2, 64)
    spatial = rotate(x, *spatial_table(2, (3, 4), 64))
    time = 64 - 4 * (64 // 6)
    assert torch.equal(spatial[..., :time], x[..., :time])
    placed = rotate(x, *rotary_table(torch.tensor([5, 900]), (3, 4), 64))
    torch.testing.assert_close(spatial[..., time:], placed[..., time:])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounds_once(dtype: torch.dtype) -> None:
    cos, sin = rotary_table(torch.tensor([3, 77]), (2, 2), 32)
    x = torch.randn(1, 8, 2, 32).to(dtype)
    got = rotate(x, cos, sin)
    assert got.dtype is dtype
    assert torch.equal(got, rotate(x.float(), cos, sin).to(dtype))


def test_writes_into_out() -> None:
    cos, sin = rotary_table(torch.tensor([3]), (2, 2), 32)
    x = torch.randn(1, 4, 2, 32)
    room = torch.full((1, 9, 2, 32), math.nan, dtype=torch.bfloat16)
    assert rotate(x, cos, sin, out=room[:, 2:6]).data_ptr() == room[:, 2:6].data_ptr()
    assert torch.equal(room[:, 2:6], rotate(x, cos, sin).to(torch.bfloat16))
    assert room[:, :2].isnan().all()
    assert room[:, 6:].isnan().all()


def test_strided_queries_are_rotated_too() -> None:
    cos, sin = rotary_table(torch.tensor([3]), (2, 2), 16)
    wide = torch.randn(1, 2, 4, 33)
    x = wide.transpose(1, 2)[..., 1:17]
    assert torch.equal(rotate(x, cos, sin), rotate(x.contiguous(), cos, sin))


def test_gradients_turn_back() -> None:
    cos, sin = rotary_table(torch.tensor([3]), (2, 2), 16)
    x = torch.randn(1, 4, 2, 16, requires_grad=True)
    upstream = torch.randn(1, 4, 2, 16)
    rotate(x, cos, sin).backward(upstream)
    torch.testing.assert_close(x.grad, rotate(upstream, cos, -sin))


def test_odd_heads_are_refused() -> None:
    with pytest.raises(ValueError, match="even head size"):
        rotary_table(torch.arange(2), (1, 1), 15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_strides_by_pairs(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 10, 3, 24).to(dtype)
    cos, sin = rotary_table(torch.arange(5), (1, 2), 24)
    even, odd = x.double()[..., ::2], x.double()[..., 1::2]
    c, s = cos[:, None].double(), sin[:, None].double()
    pairs = torch.stack((even * c - odd * s, even * s + odd * c), dim=-1).flatten(-2)
    whole = rotate(x, cos, sin)
    torch.testing.assert_close(whole, pairs.to(dtype))
    transposed = x.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    assert torch.equal(rotate(transposed, cos, sin), whole)
    torch.testing.assert_close(rotate(x[:, 1:, ::2], cos[::2], sin[::2]), whole[:, 1:, ::2])
