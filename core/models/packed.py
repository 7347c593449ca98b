"""Linear layers whose weights lie as a CPU's matrix units read them: torch would bring them there in every call."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class PackedLinear(nn.Linear):
    """A linear layer that infers with packed bfloat16 weights: the same numbers, bit for bit, sooner.

    Its weights must not change. It stays differentiable, by the plain ones.
    """

    packed: Tensor

    def __init__(self, linear: nn.Linear, rows: int) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._rows = rows
        packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), rows)
        self.register_buffer("packed", packed, persistent=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> PackedLinear:
        """Torch cannot copy what is packed."""
        plain = nn.Linear(self.in_features, self.out_features, device="meta")
        plain.weight, plain.bias = deepcopy(self.weight, memo), deepcopy(self.bias, memo)
        return PackedLinear(plain, self._rows)

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] -> [..., N]."""
        if torch.is_grad_enabled():
            return F.linear(x, self.weight, self.bias)
        return self._multiply(x, "none", "")

    def gelu(self, x: Tensor) -> Tensor:
        """GELU by tanh of the layer, before anything is rounded to bfloat16."""
        if torch.is_grad_enabled():
            return F.gelu(self(x), approximate="tanh")
        return self._multiply(x, "gelu", "tanh")

    def _multiply(self, x: Tensor, then: str, how: str) -> Tensor:
        multiply = torch.ops.mkldnn._linear_pointwise
        return cast(Tensor, multiply(x, self.packed, self.bias, then, [], how))


def can_pack(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a model of this kind multiplies sooner with packed weights, and this torch can pack them."""
    if device.type != "cpu" or dtype != torch.bfloat16 or not torch.backends.mkldnn.is_available():
        return False
    names = ("_is_mkldnn_bf16_supported", "_reorder_linear_weight", "_linear_pointwise")
    known = all(hasattr(torch.ops.mkldnn, name) for name in names)
    return known and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def pack_linears(transformer: Any, rows: int) -> None:
    """Packs what every pass multiplies by, for inputs of about `rows` tokens."""
    for block in transformer.blocks:
        for parent, name in pass_linears(block):
            parent.register_module(name, PackedLinear(cast(nn.Linear, parent.get_submodule(name)), rows))


def pass_linears(block: Any) -> list[tuple[nn.Module, str]]:
    """The linear layers that every pass runs, as (parent, name)."""
    own = "to_qkv" if block.attn1.fused_projections else None
    projections = [own] if own else ["to_q", "to_k", "to_v"]
    return [
        *((block.attn1, name) for name in projections),
        (block.attn1.to_out, "0"),
        (block.attn2, "to_q"),
        (block.attn2.to_out, "0"),
        (block.ffn.net[0], "proj"),
        (block.ffn.net, "2"),
    ]
