"""HSA warm-up on any loaded model: each layer's linear branch and gate learn from its own dense attention.

The world is rolled out with dense attention, and every attention of every pass is a lesson for its layer: only E_K,
E_V, W and b learn, from the relative squared error of hybrid attention against dense. No data is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from worldattention.core.config import AttentionConfig
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.hsa import AttentionWindow, HSAParameters, attend
from worldattention.core.tensor_files import write_tensors
from worldattention.kernels import ops

LEARNING_RATE = 3e-3
BLOCKS_A_PROMPT = 6
PROMPTS = (
    "A man in a red shirt throws and catches a red ball in a village street on a bright day.",
    "A woman in a yellow shirt flies a kite on the beach at sunset.",
    "A man in a blue shirt walks through a city street in the rain at night.",
    "A woman in a green shirt waves hello in the mountains in the snow.",
    "A man with a red top plays with a red ball in a small village in daylight.",
    "A woman in yellow lets a kite rise over the beach in the evening.",
)
"""Scenes; the last two ask for earlier ones again, so that pages are recalled."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Relative squared error of hybrid against dense attention, one number a layer, on rollouts not learnt from."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    sparse_alone: tuple[float, ...]
    """The same without the linear branch."""
    density: float
    """Share of key blocks that the sparse branch read."""
    blocks: int
    parameters: tuple[HSAParameters, ...]


def calibrate(
    engine: Engine,
    blocks: int,
    held_out_blocks: int = 12,
    fresh: bool = False,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Calibration:
    """Learn for `blocks` blocks of the engine's world, and measure before and after on another seed's.

    The engine's world is lost: it is rolled out with dense attention. Starts from the model's own parameters, or with
    `fresh` (and for a model without any) from block averages and half-open gates.

    Raises:
        Cancelled: `cancel` said so.
    """
    attention, seed = engine.config.attention, engine.config.seed
    engine.reset()
    attention = replace(attention, statistics=False)
    engine.configure(replace(engine.config, attention=replace(attention, mode="dense")))
    total, report = 2 * held_out_blocks + blocks, progress or _silent
    lessons = _Lessons(_start(engine, fresh), attention)

    def roll(count: int, number: int, done: int, stage: str) -> None:
        engine.reset(number)
        for block in range(count):
            report(done + block, total, stage)
            lessons.rate = LEARNING_RATE * max(0.02, 1 - block / count)
            engine.step(PROMPTS[block // BLOCKS_A_PROMPT % len(PROMPTS)], cancel)

    engine.attention_observer = lessons
    try:
        roll(held_out_blocks, seed + 1, 0, "error before")
        before, alone, density = lessons.take_errors()
        lessons.learning = True
        roll(blocks, seed, held_out_blocks, "learning")
        lessons.take_errors()
        lessons.learning = False
        roll(held_out_blocks, seed + 1, held_out_blocks + blocks, "error after")
        after, _, _ = lessons.take_errors()
    finally:
        engine.attention_observer = None
    report(total, total, "done")
    return Calibration(before, after, alone, density, blocks, tuple(lessons.parameters))


def save_parameters(parameters: tuple[HSAParameters, ...], path: Path) -> None:
    """Write `blocks.N.attn1.hsa.*` as fp32 safetensors. Raises UserError when that fails."""
    tensors = {
        f"blocks.{layer}.attn1.hsa.{name}": value.float().cpu().contiguous()
        for layer, module in enumerate(parameters)
        for name, value in module.state_dict().items()
    }
    write_tensors(tensors, path, "the HSA parameters")


def _start(engine: Engine, fresh: bool) -> list[HSAParameters]:
    model = engine.model
    modules = []
    for own in model.hsa:
        module = HSAParameters(model.geometry.frame_tokens, model.head_dim)
        if own is not None and not fresh:
            module.load_state_dict({name: value.float() for name, value in own.state_dict().items()})
        modules.append(module.to(model.device))
    return modules


@dataclass(slots=True)
class _Lessons:
    """An attention observer that measures hybrid against dense attention, and lets the layer learn."""

    parameters: list[HSAParameters]
    config: AttentionConfig
    learning: bool = False
    rate: float = LEARNING_RATE
    _errors: list[list[Tensor]] = field(init=False)
    _optimisers: list[torch.optim.Optimizer] = field(init=False)

    def __post_init__(self) -> None:
        self._errors = [[] for _ in self.parameters]
        self._optimisers = [
            torch.optim.AdamW(module.parameters(), LEARNING_RATE, (0.9, 0.98), weight_decay=0.0)
            for module in self.parameters
        ]

    def __call__(self, layer: int, q: Tensor, window: AttentionWindow, own: HSAParameters | None) -> None:
        """One attention of one pass; `own` are the parameters that the model runs with."""
        routing = self._route(q, window)
        exact = attend(q, window, own, self.config, "dense")[0]
        with torch.inference_mode(False), torch.set_grad_enabled(self.learning):
            # Clones, since tensors of the engine's passes cannot be saved for a backward pass.
            q, keys, values, dense = (x.clone().float() for x in (q, window.keys, window.values, exact))
            with torch.no_grad():
                sparse = ops.sparse_attention(q, keys, values, routing.selected.clone(), window.block)
                scale = dense.square().mean()
                alone = (sparse - dense).square().mean() / scale
            error = self._hybrid_error(self.parameters[layer], q, keys, values, sparse, dense) / scale
            if self.learning:
                self._learn(layer, error)
        self._errors[layer].append(torch.stack([error.detach(), alone, routing.density.mean().clone()]))

    def _route(self, q: Tensor, window: AttentionWindow) -> ops.Routing:
        pooled, config = ops.block_means(q, window.block), self.config
        return ops.route(pooled, window.pooled, config.tau_min, config.tau_max, config.density)

    @staticmethod
    def _hybrid_error(
        parameters: HSAParameters, q: Tensor, keys: Tensor, values: Tensor, sparse: Tensor, dense: Tensor
    ) -> Tensor:
        coarse_keys = ops.coarse_rows(keys, parameters.k_proj)
        coarse_values = ops.coarse_rows(values, parameters.v_proj)
        linear = ops.linear_attention(q, coarse_keys, coarse_values)
        gate = parameters.gate
        return (ops.gated_sum(q, sparse, linear, gate.weight, gate.bias) - dense).square().mean()

    def _learn(self, layer: int, error: Tensor) -> None:
        optimiser = self._optimisers[layer]
        for group in optimiser.param_groups:
            group["lr"] = self.rate
        optimiser.zero_grad(set_to_none=True)
        error.backward()
        optimiser.step()

    def take_errors(self) -> tuple[tuple[float, ...], tuple[float, ...], float]:
        """Mean error a layer, that of the sparse branch alone, and the density, since the last call.

        Raises UserError when an error is no number.
        """
        means = torch.stack([torch.stack(errors).float().mean(0) for errors in self._errors]).cpu()
        self._errors = [[] for _ in self.parameters]
        if not means.isfinite().all():
            raise UserError(
                "The model's attention is not finite, so nothing can be learnt from it: check its weights."
            )
        hybrid, alone, density = (tuple(round(float(x), 6) for x in column) for column in means.T)
        return hybrid, alone, sum(density) / len(density)


def _silent(done: int, total: int, stage: str) -> None:
    """No progress is shown."""
