"""How much of the window must be read: what tau selects by layer and head, and where the picture holds.

Attention outputs are compared with dense attention on the queries and windows of a world that has just recalled;
whole rollouts are compared by PSNR with the dense rollout of the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from worldattention.core.config import AttentionConfig, EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.evaluation.attention_samples import PROMPTS, samples_of
from worldattention.core.evaluation.bench_attention import AttentionSample
from worldattention.core.hsa.attention import attend

DENSITIES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
HOLDS = 0.98
"""Cosine to dense attention from which a head's output counts as held."""
Story = tuple[tuple[str, int], ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class DensityReport:
    """`cosine` [densities, layers, heads] to dense attention, `tau_cosine` and `tau_density` [layers, heads];
    `psnr` in dB of rollouts against dense, by density, 'tau' for the threshold's own choice."""

    mode: str
    densities: tuple[float, ...]
    cosine: Tensor
    tau_cosine: Tensor
    tau_density: Tensor
    psnr: dict[str, float]

    @property
    def holding(self) -> Tensor:
        """[layers, heads], the smallest density whose cosine holds; 1 where none does."""
        holds = self.cosine >= HOLDS
        values = torch.tensor([*self.densities, 1.0])
        index = torch.where(holds.any(0), holds.float().argmax(0), len(self.densities))
        return values[index]

    def to_json(self) -> dict[str, Any]:
        """Lists by layer and head."""
        return {
            "mode": self.mode,
            "densities": list(self.densities),
            "cosine": _rounded(self.cosine),
            "tau": {"cosine": _rounded(self.tau_cosine), "density": _rounded(self.tau_density)},
            "holding": _rounded(self.holding),
            "psnr": self.psnr,
        }

    def to_markdown(self) -> str:
        """A row a layer, means over heads; then the rollouts."""
        shares = [f"{density:g}" for density in self.densities]
        lines = [
            f"Attention `{self.mode}` against dense, cosine by density (mean over heads)",
            "",
            f"| layer | {' | '.join(shares)} | tau | density of tau | holds {HOLDS:g} from |",
            "|---" * (len(shares) + 4) + "|",
        ]
        for layer in range(self.cosine.shape[1]):
            row = [*(float(x) for x in self.cosine[:, layer].mean(1)), float(self.tau_cosine[layer].mean())]
            row += [float(self.tau_density[layer].mean()), float(self.holding[layer].mean())]
            lines.append(f"| {layer + 1} | {' | '.join(f'{value:.3f}' for value in row)} |")
        lines += ["", "| rollout at density | PSNR to the dense rollout, dB |", "|---|---|"]
        lines += [f"| {name} | {value:.1f} |" for name, value in self.psnr.items()]
        return "\n".join(lines)


def measure_density(
    engine: Engine,
    densities: tuple[float, ...] = DENSITIES,
    story: Story = PROMPTS,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> DensityReport:
    """Samples of one recall, and one rollout of `story` for each density. The engine is reset.

    Raises:
        UserError: the last prompt of `story` recalls no page.
        Cancelled: `cancel` said so.
    """
    config = engine.config
    runs, length = len(densities) + 3, sum(blocks for _, blocks in story)
    done = 0

    def advance(*_: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, runs * length)

    samples = samples_of(engine, story, advance, cancel)
    mode = config.attention.mode if config.attention.mode != "dense" else "sparse"
    rows = [attention_cosine(samples, replace(config.attention, density=d), mode)[0] for d in densities]
    tau = attention_cosine(samples, replace(config.attention, density=None), mode)

    def frames(attention: AttentionConfig) -> np.ndarray:
        return _rollout(engine, replace(config, attention=attention), story, advance, cancel)

    dense = frames(replace(config.attention, mode="dense"))
    psnr = {"tau": _psnr(dense, frames(replace(config.attention, mode=mode, density=None)))}
    for density in densities:
        psnr[f"{density:g}"] = _psnr(dense, frames(replace(config.attention, mode=mode, density=density)))
    return DensityReport(mode, densities, torch.stack(rows), tau[0], tau[1], psnr)


@torch.inference_mode()
def attention_cosine(
    samples: list[AttentionSample], config: AttentionConfig, mode: str
) -> tuple[Tensor, Tensor]:
    """Cosine to dense attention, mean over queries, and density; both [layers, heads]."""
    cosines, shares = [], []
    for sample in samples:
        dense = attend(sample.q, sample.window, sample.parameters, config, "dense")[0]
        out, statistics = attend(sample.q, sample.window, sample.parameters, config, mode)  # type: ignore[arg-type]
        cosine = torch.cosine_similarity(out.float(), dense.float(), dim=-1)
        cosines.append(cosine.mean((0, 1)).cpu())
        shares.append(statistics.density.float().cpu())
    return torch.stack(cosines), torch.stack(shares)


def _rollout(
    engine: Engine,
    config: EngineConfig,
    story: Story,
    advance: Callable[[], None],
    cancel: Callable[[], bool] | None,
) -> np.ndarray:
    engine.reset()
    engine.configure(config)
    frames = []
    for prompt, blocks in story:
        for _ in range(blocks):
            frames.append(engine.step(prompt, cancel).frames)
            advance()
    return np.concatenate(frames)


def _psnr(reference: np.ndarray, frames: np.ndarray) -> float:
    """In dB; 99 where nothing differs."""
    error = float(np.square(reference.astype(np.float32) - frames.astype(np.float32)).mean())
    return 99.0 if error == 0 else round(min(99.0, 10 * math.log10(255**2 / error)), 2)


def _rounded(values: Tensor) -> Any:
    return torch.round(values.double(), decimals=4).tolist()
