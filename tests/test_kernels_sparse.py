"""Block-sparse attention against fp64 attention over the selected tokens only."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.kernels import ops
from worldattention.kernels.reference.sparse import gathered_attention, masked_attention
from worldattention.kernels.testing import (
    AttentionInputs,
    assert_as_exact_as,
    attention_inputs,
    random_selection,
)


def exact(inputs: AttentionInputs, selected: torch.Tensor, block: int) -> torch.Tensor:
    """fp64, query by query, over a list of the tokens that may be read."""
    q, k, v = inputs.double()
    out = torch.zeros_like(q)
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            for i in range(q.shape[1]):
                tokens = [t for t in range(k.shape[1]) if selected[b, h, i // block, t // block]]
                weights = torch.softmax(k[b, tokens, h] @ q[b, i, h] / math.sqrt(q.shape[3]), dim=0)
                out[b, i, h] = weights @ v[b, tokens, h]
    return out


def selection_for(inputs: AttentionInputs, block: int) -> torch.Tensor:
    batch, q_tokens, heads, _ = inputs.q.shape
    return random_selection(batch, heads, -(-q_tokens // block), -(-inputs.k.shape[1] // block))


@settings(deadline=None, max_examples=25)
@given(
    q_tokens=st.integers(1, 20),
    k_tokens=st.integers(1, 40),
    block=st.sampled_from([1, 4, 7, 16]),
    batch=st.integers(1, 2),
    heads=st.integers(1, 3),
)
def test_reads_the_selected_tokens_only(
    q_tokens: int, k_tokens: int, block: int, batch: int, heads: int
) -> None:
    inputs = attention_inputs(q_tokens, k_tokens, batch=batch, heads=heads, channels=8, block=block)
    selected = selection_for(inputs, block)
    expected = exact(inputs, selected, block).float()
    for attention in (gathered_attention, masked_attention, ops.sparse_attention):
        torch.testing.assert_close(attention(*inputs, selected, block), expected, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("q_tokens", "k_tokens", "block"), [(96, 320, 32), (50, 161, 32), (48, 200, 64)])
def test_is_as_exact_as_torch(q_tokens: int, k_tokens: int, block: int, dtype: torch.dtype) -> None:
    inputs = attention_inputs(q_tokens, k_tokens, heads=3, channels=64, block=block, dtype=dtype)
    selected = selection_for(inputs, block)
    assert_as_exact_as(
        gathered_attention(*inputs, selected, block),
        masked_attention(*inputs, selected, block),
        masked_attention(*inputs.double(), selected, block),
    )


def test_everything_selected_is_dense() -> None:
    inputs = attention_inputs(70, 300, heads=2, block=64)
    selected = torch.ones(1, 2, 2, 5, dtype=torch.bool)
    dense = ops.dense_attention(*inputs)
    torch.testing.assert_close(ops.sparse_attention(*inputs, selected, 64), dense)
    # And so it is for one head beside a sparse one, which takes the other path.
    selected[0, 1, :, 1:] = False
    got = ops.sparse_attention(*inputs, selected, 64)
    torch.testing.assert_close(got[:, :, 0], dense[:, :, 0], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(got[:, :, 1], dense[:, :, 1], atol=1e-2)


def test_keys_may_be_a_part_of_a_longer_cache() -> None:
    inputs = attention_inputs(32, 96, batch=2, block=16)
    room = [torch.full((2, 200, 2, 32), math.nan) for _ in range(2)]
    keys, values = (cache[:, 50:146] for cache in room)
    keys.copy_(inputs.k)
    values.copy_(inputs.v)
    selected = selection_for(inputs, 16)
    got = ops.sparse_attention(inputs.q, keys, values, selected, 16)
    torch.testing.assert_close(got, ops.sparse_attention(*inputs, selected, 16))


def test_a_selection_of_another_shape_is_refused() -> None:
    inputs = attention_inputs(32, 96, block=16)
    with pytest.raises(ValueError, match="does not fit"):
        ops.sparse_attention(*inputs, torch.ones(1, 2, 2, 5, dtype=torch.bool), 16)
