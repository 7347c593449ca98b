"""fp8 linear layers: rounded as they should be, used by every pass, and their error reported."""

import json

import pytest
import torch
from torch import nn

from tests.toy import toy_model
from worldattention.app.cli import main
from worldattention.core.evaluation.bench_linears import psnr
from worldattention.core.evaluation.made_up import SIZES, made_up_model
from worldattention.core.models.fp8 import Fp8Linear, rounded, with_fp8_linears


def test_rounding_keeps_three_bits_of_every_rows_own_scale():
    x = torch.randn(5, 64) * torch.tensor([1e-3, 1.0, 50.0, 1e4, 0.0])[:, None]
    eight, scale = rounded(x)
    back = eight.float() * scale
    assert ((back - x).abs() <= x.abs() / 16 + x.abs().amax(-1, keepdim=True) / 448 / 512).all()
    assert (back[4] == 0).all()


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_is_the_product_of_the_rounded_numbers(bias):
    linear = nn.Linear(32, 48, bias=bias)
    x = torch.randn(2, 7, 32)
    exact, got = linear(x), Fp8Linear(linear)(x)
    assert got.shape == exact.shape
    (a, sa), (b, sb) = rounded(x.flatten(0, 1)), rounded(linear.weight.detach())
    expected = ((a.double() * sa) @ (b.double() * sb).T).view(2, 7, 48)
    expected = expected + linear.bias.double() if bias else expected
    torch.testing.assert_close(got.double(), expected, atol=1e-5, rtol=1e-5)
    assert 0 < (got - exact).norm() / exact.norm() < 0.06


def test_every_pass_uses_them_and_the_model_is_left_alone():
    model = made_up_model(SIZES["toy"], torch.device("cpu"))
    coarse = with_fp8_linears(model)
    found = [module for module in coarse.transformer.modules() if isinstance(module, Fp8Linear)]
    assert len(found) == 2 * 6
    assert not any(isinstance(module, Fp8Linear) for module in model.transformer.modules())
    with pytest.raises(ValueError, match="multiples of 16"):
        with_fp8_linears(toy_model())


def test_the_error_is_reported(capsys):
    assert (
        main(["bench", "linears", "--random-weights", "toy", "--device", "cpu", "--repeats", "2", "--json"])
        == 0
    )
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(record["psnr_db"]) == 2
    assert all(5 < value < 60 for value in record["psnr_db"])
    assert record["ms"] > 0
    assert psnr(torch.zeros(1).numpy(), torch.zeros(1).numpy()) is None
