"""The Triton kernels against the reference: in Triton's interpreter where there is no GPU, at small sizes.

Outputs are poisoned before they are written, inputs are fresh, sizes are odd.
"""

import math

import pytest
import torch
from torch import Tensor

from worldattention.kernels import ops
from worldattention.kernels.reference import codec, rope
from worldattention.kernels.reference.gate import gated_sum
from worldattention.kernels.reference.linear import linear_attention
from worldattention.kernels.reference.lists import block_lists
from worldattention.kernels.reference.pool import block_means
from worldattention.kernels.reference.routing import Routing, block_map, select
from worldattention.kernels.reference.sparse import masked_attention
from worldattention.kernels.testing import (
    AttentionInputs,
    assert_as_exact_as,
    attention_inputs,
    random_selection,
)
from worldattention.kernels.triton import backward, linear, pages, pool, routing, sparse, support

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh memory holds NaN, or the largest whole number: what is not written shows."""
    empty = torch.empty

    def poison(*arguments, **options):
        made = empty(*arguments, **options)
        return (
            made.fill_(math.nan if made.is_floating_point() else torch.iinfo(made.dtype).max)
            if (made.dtype not in (torch.bool, torch.float8_e4m3fn))
            else made
        )

    monkeypatch.setattr(torch, "empty", poison)


def on_device(inputs: AttentionInputs) -> AttentionInputs:
    return AttentionInputs(*(x.to(DEVICE) for x in inputs))


def selection_for(inputs: AttentionInputs, block: int) -> Tensor:
    batch, q_tokens, heads, _ = inputs.q.shape
    return random_selection(batch, heads, -(-q_tokens // block), -(-inputs.k.shape[1] // block)).to(DEVICE)


SHAPES = [
    # batch, q tokens, k tokens, heads, channels, block, dtype
    (1, 48, 161, 2, 32, 32, torch.float32),
    (2, 37, 90, 1, 16, 16, torch.float32),
    (1, 128, 200, 1, 64, 64, torch.float16),
    (1, 130, 300, 1, 128, 128, torch.float16),
]


@pytest.mark.parametrize(("batch", "q_tokens", "k_tokens", "heads", "channels", "block", "dtype"), SHAPES)
def test_sparse_attention(batch, q_tokens, k_tokens, heads, channels, block, dtype):
    inputs = attention_inputs(
        q_tokens, k_tokens, batch=batch, heads=heads, channels=channels, block=block, dtype=dtype
    )
    inputs = on_device(inputs)
    selected = selection_for(inputs, block)
    out, lse = sparse.sparse_attention(*inputs, block_lists(selected), block, save=True)
    exact = masked_attention(*inputs.double(), selected, block)
    own = masked_attention(*inputs, selected, block)
    assert_as_exact_as(out, own, exact, atol=2e-3 if dtype is torch.float16 else 1e-5)
    q, k, _ = inputs.double()
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(channels)
    mask = selected.repeat_interleave(block, 2)[:, :, :q_tokens].repeat_interleave(block, 3)[..., :k_tokens]
    expected = logits.masked_fill(~mask, -torch.inf).logsumexp(-1) / math.log(2)
    torch.testing.assert_close(lse.double(), expected, atol=1e-2, rtol=1e-3)


def test_the_window_is_read_as_it_lies():
    """Keys and values are views of a longer cache with other strides; what lies around them is NaN."""
    inputs = on_device(attention_inputs(32, 90, batch=2, heads=2, channels=16, block=16))
    room = [torch.full((2, 3, 120, 16), math.nan, device=DEVICE) for _ in range(2)]
    keys, values = (cache[:, 1:, 7:97].transpose(1, 2) for cache in room)
    keys.copy_(inputs.k)
    values.copy_(inputs.v)
    selected = selection_for(inputs, 16)
    out, _ = sparse.sparse_attention(inputs.q, keys, values, block_lists(selected), 16)
    torch.testing.assert_close(out, masked_attention(*inputs, selected, 16), atol=1e-5, rtol=1e-4)


def test_channels_apart_are_refused():
    q, k, v = attention_inputs(16, 16, heads=2, channels=16, block=16)
    lists = block_lists(torch.ones(1, 2, 1, 1, dtype=torch.bool))
    with pytest.raises(ValueError, match="side by side"):
        sparse.sparse_attention(q.transpose(2, 3).contiguous().transpose(2, 3), k, v, lists, 16)


def test_lists_hold_the_selection():
    selected = random_selection(2, 3, 4, 9)
    indices, counts, _ = block_lists(selected)
    for place in torch.ones(2, 3, 4).nonzero().tolist():
        chosen = selected[tuple(place)].nonzero().flatten().tolist()
        assert indices[tuple(place)][: counts[tuple(place)]].tolist() == chosen


@pytest.mark.parametrize("tiles", [1, 33, 150])
def test_densest_tiles_come_first(tiles):
    counts = torch.randint(1, 6, (tiles,), dtype=torch.int32, device=DEVICE)
    order = support.densest_first(counts)
    assert order.tolist() == sorted(range(tiles), key=lambda tile: (-int(counts[tile]), tile))


@pytest.mark.parametrize(("tokens", "block", "channels"), [(50, 16, 16), (70, 64, 12), (5, 7, 3)])
def test_pooling(tokens, block, channels):
    x = torch.randn(2, tokens, 2, channels, device=DEVICE)
    room = torch.full((2, 9, 2, channels), math.nan, device=DEVICE)
    blocks = -(-tokens // block)
    pool.block_means(x, block, out=room[:, 1 : 1 + blocks])
    torch.testing.assert_close(room[:, 1 : 1 + blocks], block_means(x, block))
    assert room[:, 1 + blocks :].isnan().all()
    torch.testing.assert_close(pool.block_means(x, block), block_means(x, block))


def same_selection(got: Routing, expected: Tensor, probabilities: Tensor) -> bool:
    """Whether selections agree but for rows where the border is a matter of rounding."""
    different = (got.selected != expected).any(-1)
    gap = (got.selected.float() * probabilities).sum(-1) - (expected * probabilities).sum(-1)
    sizes = (got.selected.sum(-1) - expected.sum(-1)).abs()
    return bool((~different | ((sizes <= 1) & (gap.abs() < probabilities.amax(-1)))).all()) and int(
        different.sum()
    ) <= max(1, different.numel() // 20)


@pytest.mark.parametrize(
    ("batch", "q_blocks", "k_blocks", "heads", "channels"),
    [(2, 3, 35, 2, 16), (1, 2, 64, 1, 12), (1, 1, 1, 1, 64)],
)
@pytest.mark.parametrize("density", [None, 0.2])
def test_routing(batch, q_blocks, k_blocks, heads, channels, density):
    q = 2 * torch.randn(batch, q_blocks, heads, channels, device=DEVICE)
    k = 2 * torch.randn(batch, k_blocks, heads, channels, device=DEVICE)
    probabilities = block_map(q, k)
    expected = select(probabilities, 0.35, 1.0, density)
    got = routing.route(q, k, 0.35, 1.0, density)
    torch.testing.assert_close(got.gini, expected.gini, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(got.threshold, expected.threshold, atol=1e-5, rtol=1e-4)
    assert same_selection(got, expected.selected, probabilities)
    torch.testing.assert_close(got.density, got.selected.float().mean(dim=(0, 2, 3)))
    lists = block_lists(got.selected)
    assert torch.equal(got.lists.counts, lists.counts)
    in_order = got.lists.counts.flatten()[got.lists.order.flatten().long()]
    assert torch.equal(in_order, in_order.sort(descending=True).values)
    assert got.lists.order.flatten().sort().values.tolist() == list(range(batch * heads * q_blocks))
    real = torch.arange(k_blocks, device=DEVICE) < lists.counts[..., None]
    assert torch.equal(got.lists.indices[real], lists.indices[real])


def test_equal_masses_are_taken_in_order():
    q = torch.zeros(1, 2, 1, 16, device=DEVICE)
    k = torch.randn(1, 8, 1, 16, device=DEVICE)
    got = routing.route(q, k, 0.35, 1.0)
    assert got.selected[0, 0, 0].tolist() == [True] * 3 + [False] * 5
    assert routing.route(q, k, 1.0, 1.0).selected.sum(-1).min() >= 7  # all, but for rounding of the sum


@pytest.mark.parametrize(
    ("q_tokens", "rows", "channels", "dtype"), [(37, 21, 16, torch.float32), (70, 75, 64, torch.float16)]
)
def test_linear_branch_and_gate(q_tokens, rows, channels, dtype):
    q, k, v = on_device(attention_inputs(q_tokens, rows, batch=2, heads=2, channels=channels, dtype=dtype))
    apart = torch.randn(2, 2, q_tokens, channels, device=DEVICE, dtype=dtype).transpose(1, 2)
    weight = torch.randn(channels, channels, device=DEVICE) / math.sqrt(channels)
    bias = torch.randn(channels, device=DEVICE)
    got = linear.add_linear_branch(q, apart, k, v, weight.to(dtype), bias.to(dtype))
    own = gated_sum(q, apart, linear_attention(q, k, v), weight.to(dtype), bias.to(dtype))
    wide = [x.to(dtype).double() for x in (q, apart, k, v, weight, bias)]
    exact = gated_sum(wide[0], wide[1], linear_attention(wide[0], *wide[2:4]), *wide[4:])
    assert_as_exact_as(got, own, exact, atol=4e-3 if dtype is torch.float16 else 2e-5)


@pytest.mark.parametrize("name", ["bf16", "int8"])
@pytest.mark.parametrize("turned", [True, False])
def test_install_decodes_and_rotates_into_the_window(name, turned):
    x = torch.randn(2, 45, 2, 16, device=DEVICE)
    encoded = codec.encode(x, name)
    table = rope.rotary_table(torch.arange(5, device=DEVICE), (3, 3), 16)
    window = torch.full((2, 60, 2, 16), math.nan, device=DEVICE)
    part = window[:, 9:54]
    pages.install(encoded, part, table if turned else None)
    decoded = codec.decode(encoded, torch.float32)
    expected = rope.rotate(decoded, *table) if turned else decoded
    torch.testing.assert_close(part, expected, atol=1e-5, rtol=1e-5)
    assert window[:, :9].isnan().all()
    assert window[:, 54:].isnan().all()


def test_encoding_equals_the_reference():
    x = torch.randn(2, 37, 2, 16, device=DEVICE) * torch.rand(2, 37, 2, 1, device=DEVICE).exp2()
    x[0, 3] = 0
    got, expected = pages.encode(x, "int8"), codec.encode(x, "int8")
    torch.testing.assert_close(got.scale, expected.scale)
    assert (got.data.int() - expected.data.int()).abs().max() <= 1  # a half rounds either way
    assert (got.data != expected.data).float().mean() < 1e-2
    assert pages.encode(x, "bf16") == (x, None)


@pytest.mark.parametrize("name", ["fp8", "int8"])
def test_the_codec_errs_by_its_step(name):
    x = torch.randn(2, 30, 2, 64)
    decoded = codec.decode(codec.encode(x, name), torch.float32)
    largest = x.abs().amax(-1, keepdim=True)
    bound = largest / 254 * 1.001 if name == "int8" else (x.abs() / 16 + largest / 448 / 512) * 1.001
    assert ((decoded - x).abs() <= bound).all()
    assert (codec.decode(codec.encode(torch.zeros(1, 4, 1, 8), name), torch.float32) == 0).all()


def gradients(attention, inputs: AttentionInputs, weight: Tensor) -> list[Tensor]:
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    (attention(*leaves) * weight.to(leaves[0].dtype)).sum().backward()
    return [leaf.grad for leaf in leaves]


@pytest.mark.parametrize(("q_tokens", "k_tokens", "channels", "block"), [(37, 70, 16, 16), (48, 100, 32, 32)])
def test_gradients_of_the_sparse_branch(q_tokens, k_tokens, channels, block):
    inputs = on_device(attention_inputs(q_tokens, k_tokens, heads=2, channels=channels, block=block))
    selected = selection_for(inputs, block)
    selected[:, :, :, 1] = False  # a key block that nobody reads has no gradient
    selected[:, :, :, 0] = True
    weight = torch.randn_like(inputs.q)
    got = gradients(
        lambda q, k, v: backward.differentiable_sparse_attention(q, k, v, selected, block), inputs, weight
    )
    exact = gradients(lambda q, k, v: masked_attention(q, k, v, selected, block), inputs.double(), weight)
    for mine, right in zip(got, exact, strict=True):
        torch.testing.assert_close(mine.double(), right, atol=2e-5, rtol=1e-4)
    assert (got[1][:, block : 2 * block] == 0).all()


def test_gradients_of_the_linear_branch():
    inputs = on_device(attention_inputs(37, 21, heads=2, channels=16))
    weight = torch.randn_like(inputs.q)
    got = gradients(backward.differentiable_linear_attention, inputs, weight)
    exact = gradients(linear_attention, inputs.double(), weight)
    for mine, right in zip(got, exact, strict=True):
        torch.testing.assert_close(mine.double(), right, atol=2e-5, rtol=1e-4)


def test_gradients_pass_through_the_public_ops():
    """The whole hybrid, as HSA training runs it, against the reference's gradients."""
    inputs = on_device(attention_inputs(32, 64, heads=1, channels=16, block=16))
    selected = selection_for(inputs, 16)
    rows = [torch.randn(1, 5, 1, 16, device=DEVICE) for _ in range(2)]
    gate = [torch.randn(16, 16, device=DEVICE) / 4, torch.randn(16, device=DEVICE)]

    def run(use: str) -> list[Tensor]:
        leaves = [x.detach().clone().requires_grad_() for x in (*inputs, *rows, *gate)]
        out = ops.sparse_attention(*leaves[:3], selected, 16, use=use)
        ops.add_linear_branch(leaves[0], out, *leaves[3:], use=use).sin().sum().backward()
        return [leaf.grad for leaf in leaves]

    for mine, right in zip(run("triton"), run("torch"), strict=True):
        torch.testing.assert_close(mine, right, atol=2e-5, rtol=1e-4)
