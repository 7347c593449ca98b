"""Distribution matching, guided teachers, and the figures that weights are chosen by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.test_training_rollouts import LAYOUT, Drift, example_of
from worldattention.core.errors import UserError
from worldattention.core.pocket.reader import Reader
from worldattention.core.pocket.training import noise
from worldattention.core.pocket.training.autoencoder import mean_energies
from worldattention.core.pocket.training.fidelity import frechet_distance, reader_features
from worldattention.core.pocket.training.matching import MATCHED_STEPS, DistributionMatching
from worldattention.core.pocket.training.options import TrainOptions
from worldattention.core.pocket.training.rollouts import STEPS, FirstBlockDistillation, walk
from worldattention.core.pocket.training.transformer import Teacher


class Gaussian:
    """The velocity of blocks that are normal with a standard deviation `spread`: all that a critic has to learn."""

    def __init__(self, spread: float) -> None:
        self.spread = torch.nn.Parameter(torch.tensor(spread))

    @property
    def model(self) -> Gaussian:
        return self

    def step(self, loss: Tensor, rate: float) -> None:
        (gradient,) = torch.autograd.grad(loss, [self.spread])
        with torch.no_grad():
            self.spread -= rate * gradient.clamp(-1, 1)


class Normal(Drift):
    """Sequences over which `Drift` students and `Gaussian` models predict."""

    def velocity(
        self, model: Drift | Gaussian, latents: Tensor, levels: Tensor, blank: bool = False
    ) -> Tensor:  # type: ignore[override]
        if isinstance(model, Drift):
            return super().velocity(model, latents, levels)
        s, variance = noise.per_frame(levels), model.spread.square()
        return latents * (s - (1 - s) * variance) / ((1 - s).square() * variance + s.square())


def test_matching_gives_blocks_the_spread_of_the_teachers() -> None:
    """Blocks that are too quiet become as loud as true ones: nothing but their distribution says so."""
    torch.manual_seed(4)
    generator = torch.Generator().manual_seed(4)
    student, critic = Drift(0.9), Gaussian(0.5)
    objective = DistributionMatching(
        Teacher(Gaussian(1.0), 1),  # type: ignore[arg-type]
        critic,  # type: ignore[arg-type]
        lambda model, example: 0 * model.pull,  # type: ignore[attr-defined]
        generator,
        critic_rate=0.2,
    )
    adam = torch.optim.Adam([student.pull], 0.02)

    def spread() -> float:
        example = example_of(64)
        noisy = example.noisy.repeat_interleave(3, 1)
        return float(walk(student, example, STEPS)[noisy].std())  # type: ignore[arg-type]

    before = spread()
    for _ in range(150):
        example = replace(example_of(16), sequences=Normal())  # type: ignore[arg-type]
        loss = objective(student, example)  # type: ignore[arg-type]
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert before < 0.5
    assert 0.8 < spread() < 1.25
    assert float(critic.spread.detach()) == pytest.approx(spread(), abs=0.2), "the critic followed"


def test_every_second_call_holds_the_first_steps() -> None:
    held: list[int] = []
    student = Drift(0.5)

    def hold(model: Drift, example: object) -> Tensor:
        held.append(objective.calls)
        return 0 * model.pull

    objective = DistributionMatching(
        Teacher(Gaussian(1.0), 1),  # type: ignore[arg-type]
        Gaussian(1.0),  # type: ignore[arg-type]
        hold,  # type: ignore[arg-type]
        torch.Generator().manual_seed(0),
    )
    for _ in range(4):
        objective(student, replace(example_of(), sequences=Normal()))  # type: ignore[arg-type]
    assert held == [2, 4]
    first = FirstBlockDistillation(
        Teacher(Drift(0.5), 1),  # type: ignore[arg-type]
        LAYOUT,
        torch.Generator().manual_seed(0),
        1.0,
        STEPS - MATCHED_STEPS,
    )
    seen: set[float] = set()
    for _ in range(40):
        student.levels.clear()
        first(student, example_of())  # type: ignore[arg-type]
        seen.add(student.levels[-1])
    assert sorted(seen) == pytest.approx([0.9375, 1.0]), "never the last steps"


def test_a_guided_teacher_goes_beyond_the_prompt() -> None:
    class Two(Drift):
        def velocity(self, model: object, latents: Tensor, levels: Tensor, blank: bool = False) -> Tensor:  # type: ignore[override]
            return latents.new_full(latents.shape, 1.0 if blank else 3.0)

    sequences, latents, levels = Two(), torch.zeros(1, 3, 2, 4, 4), torch.ones(1, 1)
    for guidance, expected in ((1.0, 3.0), (1.5, 4.0), (2.0, 5.0)):
        velocity = Teacher(Drift(), 1, guidance).velocity(sequences, latents, levels)  # type: ignore[arg-type]
        assert velocity.unique().tolist() == [expected]


def test_frechet_distance_is_that_of_gaussians() -> None:
    generator = torch.Generator().manual_seed(2)
    one = torch.randn(4000, 3, generator=generator)
    scale, shift = torch.tensor([1.0, 2.0, 0.5]), torch.tensor([0.0, 1.0, -2.0])
    other = torch.randn(4000, 3, generator=generator) * scale + shift
    expected = float(shift.square().sum() + (1 - scale).square().sum())
    assert frechet_distance(one, other) == pytest.approx(expected, rel=0.05)
    assert frechet_distance(one, one) == pytest.approx(0, abs=1e-6)


def test_energies_and_features_of_clips() -> None:
    ramp = torch.arange(6.0).expand(4, 6)[None, None, :, :, None].expand(1, 2, 4, 6, 3)
    moving = torch.stack([ramp[0, 0], ramp[0, 0] + 2])[None]
    across, motion = mean_energies(moving).tolist()
    assert across == pytest.approx(0.5)
    assert motion == pytest.approx(4.0)
    reader = Reader().eval()
    clips = torch.rand(2, 3, 128, 256, 3)
    assert reader_features(reader, clips).shape == (2, 3, 512)


def test_rates_of_stages_are_checked() -> None:
    with pytest.raises(UserError, match="polish"):
        TrainOptions(Path("x"), rates={"polish": 1.0}).checked()
    with pytest.raises(UserError, match="learning rates"):
        TrainOptions(Path("x"), rates={"whole": -1.0}).checked()
