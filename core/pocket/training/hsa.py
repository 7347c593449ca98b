"""Hybrid sparse attention's stage: a warm-up against dense attention layer by layer, then a short tune of all.

Warm-up: each layer computes dense attention, which goes on, and hybrid attention beside it; only the linear
branch and the gate learn, from the difference. Tune: the model attends as it will be shipped, and its teacher is
itself with dense attention, at the steps of inference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from worldattention.core.config import AttentionConfig
from worldattention.core.hsa import HSAParameters
from worldattention.core.models.transformer import before_attention, run_block
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.denoiser import (
    SequenceAttention,
    SequenceTransformer,
    compiled,
    masked_attention,
)
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.transformer import Source, make_example
from worldattention.core.pocket.training.windows import MEMORY_LAYOUT, MEMORY_MIXTURE
from worldattention.kernels.reference.rope import rotate
from worldattention.kernels.reference.training import (
    Projections,
    RoutingRule,
    hsa_training_attention,
    route_visible,
)

WARM_UP_RATE = 3e-3


def rule_for(tokens: int) -> RoutingRule:
    """The default routing rule for frames of `tokens`: blocks of 128, or a frame where that is smaller."""
    config = AttentionConfig()
    return RoutingRule(min(config.block, tokens), config.tau_min, config.tau_max, config.density)


def projections(parameters: HSAParameters) -> Projections:
    """The learnt parts as the training attention takes them."""
    return Projections(parameters.k_proj, parameters.v_proj, parameters.gate.weight, parameters.gate.bias)


def hybrid_block(
    block: nn.Module,
    hidden: Tensor,
    modulation: Tensor,
    text: tuple[Tensor, Tensor],
    frame_text: Tensor | None,
    cos: Tensor,
    sin: Tensor,
    visible: Tensor,
    rule: RoutingRule,
    eps: float,
) -> Tensor:
    """One layer over whole sequences [B, L, dim] with hybrid sparse attention."""
    parts = projections(block.attn1.hsa)  # type: ignore[union-attr, arg-type]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return hsa_training_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, visible, parts, rule)

    return run_block(block, hidden, modulation, text, attend, frame_text, eps)


class HybridTransformer(SequenceTransformer):
    """A `SequenceTransformer` with HSA parameters (`attach_hsa`) that attends through them."""

    @property
    def rule(self) -> RoutingRule:
        """How its layers route."""
        return rule_for(self.blocks[0].attn1.hsa.segment)

    def _block(
        self,
        layer: int,
        hidden: Tensor,
        modulation: Tensor,
        text: tuple[Tensor, Tensor],
        attend: Any,
        frame_text: Tensor | None,
    ) -> Tensor:
        if not isinstance(attend, SequenceAttention):
            return super()._block(layer, hidden, modulation, text, attend, frame_text)
        run = compiled(hybrid_block, hidden.device.type)
        return run(
            self.blocks[layer], hidden, modulation, text, frame_text, attend.cos, attend.sin, attend.visible,
            self.rule, self.config.eps,
        )  # fmt: skip


def hybrid_error(
    parameters: HSAParameters, q: Tensor, k: Tensor, v: Tensor, attend: SequenceAttention, rule: RoutingRule
) -> tuple[Tensor, Tensor]:
    """Dense attention [B, L, H, D] of rotated q, k, v, and hybrid attention's relative squared error to it."""
    dense = masked_attention(q, k, v, attend.mask)
    hybrid = hsa_training_attention(q, k, v, attend.visible, projections(parameters), rule)
    error = (hybrid.float() - dense.float()).square().mean() / dense.float().square().mean()
    return dense, error


def distil_block(
    block: nn.Module,
    hidden: Tensor,
    modulation: Tensor,
    text: tuple[Tensor, Tensor],
    frame_text: Tensor | None,
    cos: Tensor,
    sin: Tensor,
    mask: Any,
    visible: Tensor,
    rule: RoutingRule,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """One dense layer, detached, and the error of its hybrid attention, which only HSA parameters learn from."""
    attend = SequenceAttention(cos, sin, visible, mask)
    errors: list[Tensor] = []

    def both(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = rotate(q, cos, sin).detach(), rotate(k, cos, sin).detach()
        dense, error = hybrid_error(block.attn1.hsa, q, k, v.detach(), attend, rule)  # type: ignore[union-attr, arg-type]
        errors.append(error)
        return dense

    out = run_block(block, hidden, modulation, text, both, frame_text, eps)
    return out.detach(), errors[0]


@dataclass(slots=True)
class WarmUp:
    """A model's layers in turn, errors kept; used as the model's `_block` during the warm-up."""

    model: SequenceTransformer
    rule: RoutingRule
    errors: list[Tensor] = field(default_factory=list)

    def block(
        self,
        layer: int,
        hidden: Tensor,
        modulation: Tensor,
        text: tuple[Tensor, Tensor],
        attend: SequenceAttention,
        frame_text: Tensor | None,
    ) -> Tensor:
        """One layer of `predict`."""
        run: Any = compiled(distil_block, hidden.device.type)
        out, error = run(
            self.model.blocks[layer], hidden.detach(), modulation, text, frame_text, attend.cos, attend.sin,
            attend.mask, attend.visible, self.rule, self.model.config.eps,
        )  # fmt: skip
        self.errors.append(error)
        return out


@torch.no_grad()
def layer_density(model: SequenceTransformer, latents_velocity: Any, rule: RoutingRule) -> list[float]:
    """Share of the visible blocks that tau selects, a layer; `latents_velocity(model)` runs one forward pass."""
    densities: list[float] = []
    inner = model._block

    def watched(
        layer: int, hidden: Tensor, modulation: Tensor, text: Any, attend: SequenceAttention, frame_text: Any
    ) -> Tensor:
        # Not `run_block`: on a GPU that would compile a layer for these shapes, for one pass.
        q, k, _ = before_attention(model.blocks[layer], hidden, modulation, model.config.eps)
        turned = rotate(q, attend.cos, attend.sin), rotate(k, attend.cos, attend.sin)
        densities.append(float(route_visible(*turned, attend.visible, rule).density.mean()))
        return inner(layer, hidden, modulation, text, attend, frame_text)

    model._block = watched  # type: ignore[method-assign]
    try:
        latents_velocity(model)
    finally:
        del model._block
    return densities


def warm_up(model: HybridTransformer, source: Source, group: Group, clock: StageClock) -> list[float]:
    """Distil dense attention into the linear branch and the gate; returns each layer's relative squared error."""
    own = {name for name, _ in model.named_parameters() if ".hsa." in name}
    parameters = [parameter for name, parameter in model.named_parameters() if name in own]
    group.share(parameter.data for parameter in parameters)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in own)
    adam = torch.optim.AdamW(parameters, WARM_UP_RATE, (0.9, 0.98), weight_decay=0.0)
    planner = source.planner(MEMORY_LAYOUT)
    warm = WarmUp(model, model.rule)
    model._block = warm.block  # type: ignore[method-assign]

    def descend(rate: float) -> Tensor:
        example = make_example(
            source, planner, MEMORY_MIXTURE, MEMORY_LAYOUT, model.config.attention_head_dim
        )
        warm.errors.clear()
        example.sequences.velocity(model, example.latents, example.levels)
        adam.zero_grad(set_to_none=True)
        torch.stack(warm.errors).mean().backward()
        group.average_gradients(parameters)
        for settings in adam.param_groups:
            settings["lr"] = rate
        adam.step()
        return torch.stack(warm.errors).detach()

    errors = [descend(0.0)]
    try:
        while (progress := clock.progress()) < 1:
            errors.append(descend(WARM_UP_RATE * max(0.02, 1 - progress)))
            if clock.step % 20 == 0 or progress == 0:
                clock.report(float(errors[-1].mean()), before=float(errors[0].mean()))
    finally:
        del model._block
        model.requires_grad_(True)
    return [round(float(error), 4) for error in torch.stack(errors[-20:]).mean(0)]
