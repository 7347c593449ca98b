"""Every kernel on a GPU at real sizes, by the tolerance rule: twice the error of torch's own op against fp64.

One command on a machine with a GPU runs these and the engine's: `pytest -m gpu`.
"""

import math

import pytest
import torch
from torch import Tensor

from worldattention.kernels import ops
from worldattention.kernels.backends import interpreting
from worldattention.kernels.reference import codec, rope
from worldattention.kernels.reference.gate import gated_sum
from worldattention.kernels.reference.linear import linear_attention
from worldattention.kernels.reference.lists import block_lists
from worldattention.kernels.reference.pool import block_means
from worldattention.kernels.reference.routing import block_map, select
from worldattention.kernels.reference.sparse import masked_attention
from worldattention.kernels.testing import (
    AttentionInputs,
    assert_as_exact_as,
    attention_inputs,
    random_selection,
)
from worldattention.kernels.uses import Use

pytestmark = pytest.mark.gpu

WAN = {"q_tokens": 4680, "heads": 12, "channels": 128}
POCKET = {"q_tokens": 384, "heads": 6, "channels": 64}


def inputs_on_gpu(dtype: torch.dtype = torch.bfloat16, **shape: int) -> AttentionInputs:
    return AttentionInputs(*(x.cuda() for x in attention_inputs(dtype=dtype, **shape)))


def poison_memory(gigabytes: float = 1.0) -> None:
    """Memory that is given out next holds NaN."""
    torch.full((int(gigabytes * 2**28),), math.nan, device="cuda")


def selection_on_gpu(inputs: AttentionInputs, block: int, density: float) -> Tensor:
    rows, columns = -(-inputs.q.shape[1] // block), -(-inputs.k.shape[1] // block)
    selected = torch.rand(1, inputs.q.shape[2], rows, columns) < density
    selected |= random_selection(1, inputs.q.shape[2], rows, columns) & (torch.rand(rows, 1) < 0.1)
    selected[..., 0] = True
    return selected.cuda()


def exact_heads(inputs: AttentionInputs, selected: Tensor, block: int) -> Tensor:
    """fp64, head by head: the mask of all heads at once would not fit."""
    heads = []
    for head in range(inputs.q.shape[2]):
        part = AttentionInputs(*(x[:, :, head : head + 1].double() for x in inputs))
        heads.append(masked_attention(*part, selected[:, head : head + 1], block).float())
    return torch.cat(heads, dim=2)


def backends() -> list[Use]:
    hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
    return ["triton", "gluon"] if hopper else ["triton"]


def test_kernels_are_compiled_here():
    assert not interpreting()


@pytest.mark.parametrize("block", [64, 128])
@pytest.mark.parametrize(
    ("shape", "k_tokens"), [(WAN, 10_923), (WAN, 54_600), (POCKET, 4480), ({**POCKET, "q_tokens": 301}, 1001)]
)
@pytest.mark.parametrize("use", backends())
def test_sparse_attention(shape, k_tokens, block, use):
    inputs = inputs_on_gpu(k_tokens=k_tokens, block=block, **shape)
    selected = selection_on_gpu(inputs, block, 0.05)
    poison_memory()
    out = ops.sparse_attention(*inputs, selected, block, use=use)
    own = ops.sparse_attention(*inputs, selected, block, use="torch")
    assert_as_exact_as(out, own, exact_heads(inputs, selected, block), atol=1e-3)
    again = ops.sparse_attention(*inputs, selected, block, block_lists(selected), use=use)
    assert torch.equal(out, again)  # a moving result is a race


@pytest.mark.parametrize(("heads", "kept"), [(12, 21), (3, 9), (8, 33)])
@pytest.mark.parametrize("use", backends())
def test_equally_long_tiles(use, heads, kept):
    """As at a forced density: whole tiles fill all multiprocessors first, what is left is cut into shares."""
    inputs = inputs_on_gpu(k_tokens=10_923, block=128, **{**WAN, "heads": heads})
    scores = torch.rand(1, heads, 37, 86, device="cuda")
    selected = scores >= scores.topk(kept, dim=-1).values[..., -1:]
    poison_memory()
    out = ops.sparse_attention(*inputs, selected, 128, use=use)
    own = ops.sparse_attention(*inputs, selected, 128, use="torch")
    assert_as_exact_as(out, own, exact_heads(inputs, selected, 128), atol=1e-3)
    assert torch.equal(out, ops.sparse_attention(*inputs, selected, 128, use=use))


@pytest.mark.parametrize("use", backends())
def test_the_window_is_read_as_it_lies(use):
    """Keys and values are the front of a longer window; behind it lies NaN."""
    inputs = inputs_on_gpu(k_tokens=4999, block=128, **POCKET)
    room = torch.full((2, 1, 6000, 6, 64), math.nan, device="cuda", dtype=torch.bfloat16)
    keys, values = room[0, :, :4999], room[1, :, :4999]
    keys.copy_(inputs.k)
    values.copy_(inputs.v)
    selected = selection_on_gpu(inputs, 128, 0.3)
    out = ops.sparse_attention(inputs.q, keys, values, selected, 128, use=use)
    own = masked_attention(*inputs, selected, 128)
    assert_as_exact_as(out, own, exact_heads(inputs, selected, 128), atol=1e-3)


@pytest.mark.parametrize("density", [None, 0.05])
@pytest.mark.parametrize(
    ("q_blocks", "k_blocks", "heads", "channels"), [(37, 427, 12, 128), (3, 35, 6, 64), (256, 853, 12, 128)]
)
def test_routing(q_blocks, k_blocks, heads, channels, density):
    q, k = (torch.randn(1, n, heads, channels, device="cuda") for n in (q_blocks, k_blocks))
    probabilities = block_map(q, k)
    expected = select(probabilities, 0.35, 1.0, density)
    poison_memory(0.1)
    got = ops.route(q, k, 0.35, 1.0, density, use="triton")
    torch.testing.assert_close(got.gini, expected.gini, atol=1e-4, rtol=1e-4)
    counts, right = got.selected.sum(-1), expected.selected.sum(-1)
    assert (counts - right).abs().max() <= 1  # the border may be a matter of rounding
    assert (got.selected != expected.selected).any(-1).float().mean() < 0.05
    assert got.lists is not None
    assert torch.equal(got.lists.counts, counts.int())
    real = torch.arange(k_blocks, device="cuda") < counts[..., None]
    assert torch.equal(got.lists.indices[real], block_lists(got.selected).indices[real])


def test_pooling():
    x = torch.randn(1, 54_601, 12, 128, device="cuda", dtype=torch.bfloat16)
    torch.testing.assert_close(
        ops.block_means(x, 128, use="triton"), block_means(x, 128), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize(("shape", "rows"), [(WAN, 875), (POCKET, 70)])
def test_linear_branch_and_gate(shape, rows):
    q, k, v = inputs_on_gpu(k_tokens=rows, **shape)
    sparse = torch.randn_like(q)
    channels = q.shape[-1]
    weight = (torch.randn(channels, channels, device="cuda") / math.sqrt(channels)).bfloat16()
    bias = torch.randn(channels, device="cuda").bfloat16()
    got = ops.add_linear_branch(q, sparse, k, v, weight, bias, use="triton")
    own = ops.add_linear_branch(q, sparse, k, v, weight, bias, use="torch")
    wide = [x.double() for x in (q, sparse, k, v, weight, bias)]
    exact = gated_sum(wide[0], wide[1], linear_attention(wide[0], *wide[2:4]), *wide[4:])
    assert_as_exact_as(got, own, exact, atol=1e-3)


@pytest.mark.parametrize("name", ["bf16", "fp8", "int8"])
@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_install_from_pinned_memory(name, pinned, turned):
    x = torch.randn(3, 8 * 1560, 12, 128).bfloat16()
    encoded = codec.encode(x, name)
    moved = codec.Encoded(
        *(None if part is None else (part.pin_memory() if pinned else part.cuda()) for part in encoded)
    )
    table = rope.rotary_table(torch.arange(8, device="cuda"), (30, 52), 128)
    out = torch.full((3, 9 * 1560, 12, 128), math.nan, device="cuda", dtype=torch.bfloat16)
    part = out[:, 1560:]
    ops.install_page(moved, part, table if turned else None, use="triton")
    decoded = codec.decode(encoded, torch.float32).cuda()
    expected = rope.rotate(decoded, *table) if turned else decoded
    torch.testing.assert_close(part.float(), expected, atol=0.04, rtol=0.01)
    assert out[:, :1560].isnan().all()


@pytest.mark.parametrize("name", ["fp8", "int8"])
def test_encoding(name):
    x = torch.randn(3, 1001, 12, 128, device="cuda", dtype=torch.bfloat16)
    got, expected = ops.encode_page(x, name, use="triton"), codec.encode(x, name)
    torch.testing.assert_close(got.scale, expected.scale)
    step = expected.scale[..., None] * (1.01 if name == "int8" else 32.0)
    assert ((codec.decode(got, torch.float32) - codec.decode(expected, torch.float32)).abs() <= step).all()
    assert (got.data.float() != expected.data.float()).float().mean() < 1e-2


@pytest.mark.parametrize(("channels", "block"), [(64, 128), (128, 128), (128, 64)])
def test_gradients(channels, block):
    from worldattention.kernels.triton.backward import differentiable_sparse_attention

    inputs = inputs_on_gpu(q_tokens=700, k_tokens=1900, heads=3, channels=channels, block=block)
    selected = selection_on_gpu(inputs, block, 0.3)
    weight = torch.randn_like(inputs.q)

    def gradients(attention, leaves):
        leaves = [x.detach().clone().requires_grad_() for x in leaves]
        (attention(*leaves, selected, block) * weight.to(leaves[0].dtype)).sum().backward()
        return [leaf.grad for leaf in leaves]

    poison_memory(0.1)
    got = gradients(differentiable_sparse_attention, inputs)
    own = gradients(masked_attention, inputs)
    exact = gradients(masked_attention, inputs.double())
    for mine, torchs, right in zip(got, own, exact, strict=True):
        assert_as_exact_as(mine, torchs, right, atol=2e-3 * right.abs().max().item())


@pytest.mark.parametrize("channels", [64, 128])
def test_fp8_queries_and_keys(channels):
    """The error against fp64 of the rounded inputs is attention's own; that of the rounding is reported."""
    if "gluon" not in backends():
        pytest.fail("fp8 queries and keys are written for Hopper")
    from worldattention.kernels.gluon.sparse import sparse_attention

    inputs = inputs_on_gpu(q_tokens=700, k_tokens=4999, heads=3, channels=channels, block=128)
    selected = selection_on_gpu(inputs, 128, 0.2)
    # Powers of two: bf16 then holds the rounded inputs exactly. By other scales the reference itself errs by 0.05.
    scales = [2.0 ** (448.0 / x.abs().amax().float()).log2().floor() for x in inputs[:2]]
    q, k = ((x.float() * scale).to(torch.float8_e4m3fn) for x, scale in zip(inputs[:2], scales, strict=True))
    out = sparse_attention(
        q, k, inputs.v, block_lists(selected), 128, float(channels**-0.5 / (scales[0] * scales[1]))
    )
    rounded = AttentionInputs(
        *((x.float() / scale).bfloat16() for x, scale in zip((q, k), scales, strict=True)), inputs.v
    )
    own = masked_attention(*rounded, selected, 128)
    assert_as_exact_as(out, own, exact_heads(rounded, selected, 128), atol=4e-3)
    loss = (out.float() - exact_heads(inputs, selected, 128)).norm() / out.float().norm()
    print(f"fp8 queries and keys, heads of {channels}: relative error {loss:.2e}")
