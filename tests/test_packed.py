"""Packed linear layers: torch's private operations that they rely on, held to the plain ones."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.toy import toy_model
from worldattention.core.models import packed
from worldattention.core.models.packed import PackedLinear, can_pack, pack_linears, pass_linears

BF16 = torch.bfloat16
CPU = torch.device("cpu")
PACKS = can_pack(CPU, BF16)


def layer(rows=384):
    linear = nn.Linear(96, 160).to(BF16).requires_grad_(False)
    return linear, PackedLinear(linear, rows) if PACKS else linear


@pytest.mark.parametrize("rows", [1, 7, 384, 500])
def test_packed_products_are_the_plain_ones_bit_for_bit(rows):
    linear, quick = layer()
    x = torch.randn(2, rows, 96, dtype=BF16)
    with torch.inference_mode():
        assert torch.equal(quick(x), linear(x))


def test_its_gelu_is_nearer_to_the_truth_than_one_of_rounded_numbers():
    linear, quick = layer()
    if not PACKS:
        return
    x = 3 * torch.randn(384, 96, dtype=BF16)
    with torch.inference_mode():
        true = F.gelu(F.linear(x.double(), linear.weight.double(), linear.bias.double()), approximate="tanh")
        plain = F.gelu(linear(x), approximate="tanh")
        error, usual = ((out.double() - true).square().mean().sqrt() for out in (quick.gelu(x), plain))
    assert error <= 1.02 * usual


def test_it_is_differentiable_and_can_be_copied():
    linear, quick = layer()
    x = torch.randn(5, 96, dtype=BF16, requires_grad=True)
    quick(x).float().square().sum().backward()
    mine, x.grad = x.grad, None
    linear(x).float().square().sum().backward()
    assert torch.equal(mine, x.grad)
    with torch.inference_mode():
        assert torch.equal(deepcopy(quick)(x), linear(x))


def test_a_world_packs_what_every_pass_multiplies_by():
    model = toy_model()
    transformer = model.transformer.to(BF16)
    layers = [pair for block in transformer.blocks for pair in pass_linears(block)]
    before = [parent.get_submodule(name).weight for parent, name in layers]
    if PACKS:
        pack_linears(transformer, 24)
        assert all(isinstance(parent.get_submodule(name), PackedLinear) for parent, name in layers)
    assert [parent.get_submodule(name).weight for parent, name in layers] == before
    own = {id(parameter) for parameter in transformer.parameters()}
    assert own >= {id(weight) for weight in before}


@pytest.mark.parametrize(
    ("device", "dtype", "there"),
    [("cuda", BF16, True), ("cpu", torch.float32, True), ("cpu", BF16, False)],
)
def test_nothing_is_packed_elsewhere(monkeypatch, device, dtype, there):
    monkeypatch.setattr(packed.torch.backends.mkldnn, "is_available", lambda: there)
    assert not can_pack(torch.device(device), dtype)
