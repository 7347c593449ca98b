"""Pooling, the linear branch and the gate against loops written from DESIGN section 3."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.hsa.parameters import block_average
from worldattention.kernels import ops
from worldattention.kernels.reference.linear import coarse_rank
from worldattention.kernels.testing import assert_as_exact_as


@settings(deadline=None, max_examples=40)
@given(tokens=st.integers(1, 40), block=st.integers(1, 12), heads=st.integers(1, 3))
def test_partial_blocks_are_pooled_over_their_real_tokens(tokens: int, block: int, heads: int) -> None:
    x = torch.randn(2, tokens, heads, 5)
    got = ops.block_means(x, block).numpy()
    assert got.shape == (2, math.ceil(tokens / block), heads, 5)
    for index in range(got.shape[1]):
        members = [x[:, t].double().numpy() for t in range(index * block, min(tokens, (index + 1) * block))]
        np.testing.assert_allclose(got[:, index], sum(members) / len(members), atol=1e-6)


def test_pooling_of_bf16_is_in_fp32() -> None:
    x = (100 + torch.randn(1, 300, 2, 8)).bfloat16()
    got = ops.block_means(x, 128)
    assert got.dtype is torch.float32
    torch.testing.assert_close(got[:, 2], x[:, 256:].double().mean(dim=1).float())


def test_pooling_writes_into_out() -> None:
    x = torch.randn(2, 10, 2, 4)
    room = torch.full((2, 6, 2, 4), math.nan)
    ops.block_means(x, 4, out=room[:, 2:5])
    assert torch.equal(room[:, 2:5], ops.block_means(x, 4))
    assert room[:, :2].isnan().all()
    assert room[:, 5:].isnan().all()


@pytest.mark.parametrize(("segment", "rank"), [(1, 1), (64, 1), (65, 2), (128, 2), (1560, 25)])
def test_rank_is_a_row_for_64_tokens(segment: int, rank: int) -> None:
    assert coarse_rank(segment) == rank


def coarse_by_loops(x: torch.Tensor, projection: torch.Tensor) -> np.ndarray:
    rank, segment = projection.shape
    values, rows = x.double().numpy(), projection.double().numpy()
    out = np.zeros((x.shape[0], x.shape[1] // segment * rank, *x.shape[2:]))
    for s in range(x.shape[1] // segment):
        for r in range(rank):
            for t in range(segment):
                out[:, s * rank + r] += rows[r, t] * values[:, s * segment + t]
    return out


@pytest.mark.parametrize("segment", [3, 16, 70])
def test_coarse_rows_project_each_segment(segment: int) -> None:
    projection = torch.randn(coarse_rank(segment) + 1, segment)
    x = torch.randn(2, 3 * segment, 2, 5)
    got = ops.coarse_rows(x, projection)
    np.testing.assert_allclose(got.numpy(), coarse_by_loops(x, projection), atol=2e-5)
    # A part of a longer window, as the tail is, is not contiguous across samples.
    torch.testing.assert_close(ops.coarse_rows(x[:, segment:], projection), got[:, projection.shape[0] :])


def test_coarse_rows_are_independent_of_how_the_projection_lies() -> None:
    x, projection = torch.randn(1, 140, 2, 5), torch.randn(2, 70)
    torch.testing.assert_close(
        ops.coarse_rows(x, projection.T.contiguous().T), ops.coarse_rows(x, projection)
    )
    assert block_average(1560).is_contiguous()  # rows of 25 numbers cost a GPU's fast loads


def test_coarse_rows_want_whole_segments() -> None:
    with pytest.raises(ValueError, match="not whole segments"):
        ops.coarse_rows(torch.randn(1, 17, 1, 4), torch.randn(1, 8))


def attention_by_loops(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> np.ndarray:
    q64, k64, v64 = (x.double().numpy() for x in (q, k, v))
    out = np.zeros((q.shape[0], q.shape[1], q.shape[2], v.shape[3]))
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            for i in range(q.shape[1]):
                logits = k64[b, :, h] @ q64[b, i, h] / math.sqrt(q.shape[3])
                weights = np.exp(logits - logits.max())
                out[b, i, h] = weights @ v64[b, :, h] / weights.sum()
    return out


@pytest.mark.parametrize("rows", [1, 2, 6, 37, 70])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_linear_branch_is_softmax_attention_on_the_rows(rows: int, dtype: torch.dtype) -> None:
    q = torch.randn(2, 19, 3, 16).to(dtype)
    k, v = (torch.randn(2, rows, 3, 16).to(dtype) for _ in range(2))
    exact = torch.from_numpy(attention_by_loops(q, k, v))
    logits = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) / 4.0
    own = (logits.softmax(dim=-1) @ v.transpose(1, 2)).transpose(1, 2)
    assert_as_exact_as(ops.linear_attention(q, k, v), own, exact)
    assert_as_exact_as(ops.dense_attention(q, k, v), own, exact)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gate_is_per_token_and_channel_and_not_convex(dtype: torch.dtype) -> None:
    q, sparse, linear = (torch.randn(2, 7, 3, 8).to(dtype) for _ in range(3))
    weight, bias = torch.randn(8, 8), torch.randn(8)
    q64, sparse64, linear64 = (x.double().numpy() for x in (q, sparse, linear))
    weight64, bias64 = (x.to(dtype).double().numpy() for x in (weight, bias))
    expected = np.zeros(q64.shape)
    for index in np.ndindex(q64.shape):
        b, t, h, channel = index
        gate = 1 / (1 + math.exp(-(weight64[channel] @ q64[b, t, h] + bias64[channel])))
        expected[index] = sparse64[index] + gate * linear64[index]
    got = ops.gated_sum(q, sparse, linear, weight, bias)
    assert got.dtype is dtype
    own = sparse + torch.sigmoid(q @ weight.to(dtype).T + bias.to(dtype)) * linear
    assert_as_exact_as(got, own, torch.from_numpy(expected))


def test_explain_names_every_op() -> None:
    public = set(ops.OPS)
    for device in ("cpu", "cuda"):
        choices = ops.explain(device)
        assert {choice.op for choice in choices} == public
        assert all(choice.backend and choice.why for choice in choices)
    assert ops.explain("cpu")[0] != ops.explain("cuda")[0]
