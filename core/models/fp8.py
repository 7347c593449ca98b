"""Linear layers in fp8 (e4m3), an option: weights scaled by output row, inputs by token, products in fp32.

On a GPU `torch._scaled_mm` multiplies (not yet run); elsewhere the same rounded numbers are multiplied in fp32, so
that the error can be measured anywhere.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from worldattention.core.models.packed import pass_linears
from worldattention.core.models.world import WorldModel

LARGEST = 448.0
MULTIPLE = 16
"""Sizes that the tensor cores multiply in fp8."""


class Fp8Linear(nn.Module):
    """A linear layer whose weight is kept in fp8."""

    weight: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, scale = rounded(linear.weight.detach())
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] -> [..., N] in the input's dtype."""
        flat, scale = rounded(x.flatten(0, -2))
        if x.is_cuda:
            bias = None if self.bias is None else self.bias.to(x.dtype)
            out = torch._scaled_mm(
                flat, self.weight.t(), scale_a=scale, scale_b=self.scale.t(), bias=bias, out_dtype=x.dtype,
                use_fast_accum=True,
            )  # fmt: skip
        else:
            bias = None if self.bias is None else self.bias.float()
            out = F.linear(flat.float() * scale, self.weight.float() * self.scale, bias).to(x.dtype)
        return out.unflatten(0, x.shape[:-1])


def rounded(x: Tensor) -> tuple[Tensor, Tensor]:
    """x [R, K] as fp8 [R, K] and its scale a row [R, 1] fp32: x is about fp8 * scale."""
    scale = (x.float().abs().amax(dim=-1, keepdim=True) / LARGEST).clamp_min(1e-12)
    return (x.float() / scale).to(torch.float8_e4m3fn), scale


def with_fp8_linears(model: WorldModel) -> WorldModel:
    """A copy of the model whose transformer blocks multiply in fp8; what is computed once a prompt stays as it is.

    Raises:
        ValueError: a layer's sizes are no multiples of 16.
    """
    transformer = deepcopy(model.transformer)
    for block in transformer.blocks:
        for parent, name in pass_linears(block):
            linear: Any = parent.get_submodule(name)
            if linear.in_features % MULTIPLE or linear.out_features % MULTIPLE:
                raise ValueError(f"{linear} is no layer for fp8: its sizes must be multiples of {MULTIPLE}")
            parent.register_module(name, Fp8Linear(linear))
    return replace(model, name=f"{model.name}, fp8 linears", transformer=transformer)
