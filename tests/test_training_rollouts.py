"""Stages that train on the model's own walk: which blocks are first, where steps end, what the adversary learns."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.models.vae import PocketAutoencoder
from worldattention.core.pocket.training import noise
from worldattention.core.pocket.training.autoencoder import AutoencoderRun, ClipSource
from worldattention.core.pocket.training.checkpoint import load_weights, save_weights
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.data import CLIPS, ClipTable, LatentPool
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.options import RECIPE, STAGES, TrainOptions
from worldattention.core.pocket.training.recipe import begin_with, train_pocket
from worldattention.core.pocket.training.rollouts import (
    Adversary,
    Discriminator,
    FirstBlockDistillation,
    first_blocks,
    lived_context,
    walk,
)
from worldattention.core.pocket.training.session import Session
from worldattention.core.pocket.training.transformer import Example, Teacher
from worldattention.core.pocket.training.windows import BLOCK, MEMORY_LAYOUT, Batch, Layout, Plan, Planner

CPU = torch.device("cpu")
ALONE = Group(0, 1, CPU)
LAYOUT = Layout(0, 6)
CHANNELS, SIZE = 2, (4, 4)


class _Pool(LatentPool):
    def __init__(self) -> None:
        self.clips = ClipTable.of(CLIPS, CPU)


class Drift:
    """Stands for model and sequences: a velocity that is linear in the latents, slower for `pull` below 1."""

    def __init__(self, pull: float = 1.0) -> None:
        self.pull = torch.nn.Parameter(torch.tensor(pull))
        self.levels: list[float] = []

    def velocity(self, model: "Drift", latents: Tensor, levels: Tensor) -> Tensor:
        model.levels.append(float(levels.max()))
        return model.pull * latents


def example_of(batch: int = 3, noisy: Tensor | None = None) -> Example:
    frames = LAYOUT.frames
    marks = torch.arange(frames)[::BLOCK] >= LAYOUT.noisy_from if noisy is None else noisy
    marks = marks.expand(batch, -1)
    shape = (batch, frames, CHANNELS, *SIZE)
    plan = Plan(
        torch.zeros(batch, frames),
        marks.repeat_interleave(BLOCK, 1),
        torch.zeros(batch, frames),
        torch.zeros(0),
    )
    shot = torch.arange(frames) % LAYOUT.clean // BLOCK % 2
    prompts = torch.arange(2).expand(batch, -1)
    data = Batch(plan, torch.arange(batch), torch.randn(shape), prompts, shot.expand(batch, -1))
    levels = 0.1 * torch.rand(batch, frames // BLOCK)
    return Example(data, Drift(), levels, torch.randn(shape), torch.randn(shape), marks)  # type: ignore[arg-type]


def test_a_lived_context_is_what_the_model_itself_makes_of_noise() -> None:
    torch.manual_seed(11)
    example, student = example_of(64), Drift(0.5)
    generator = torch.Generator().manual_seed(3)
    lived = lived_context(student, example, LAYOUT, generator)  # type: ignore[arg-type]
    clean, noisy = slice(0, LAYOUT.clean), slice(LAYOUT.clean, None)
    left = 1.0
    for now, then in zip(noise.STEPS[:-1], noise.STEPS[1:], strict=True):
        left *= 1 - 0.5 * (now - then)
    levels = example.levels[:, : LAYOUT.clean // BLOCK].repeat_interleave(BLOCK, 1)[:, :, None, None, None]
    rest = (lived.latents[:, clean] - (1 - levels) * left * example.noise[:, noisy]) / levels
    replaced = (lived.latents[:, clean] != example.latents[:, clean]).flatten(1).any(1)
    assert 0.85 < replaced.float().mean() < 1, "of five, four in each of two passes"
    assert rest[replaced].std() == pytest.approx(1, abs=0.1), (
        "the walk's end, and fresh noise of the context's level"
    )
    assert (lived.latents[:, noisy] == example.latents[:, noisy]).all()
    alone = example_of(8, torch.ones(LAYOUT.frames // BLOCK, dtype=torch.bool))
    same = lived_context(student, alone, LAYOUT, generator)  # type: ignore[arg-type]
    assert (same.latents == alone.latents).all(), "who is all noise has no context"


def test_first_blocks_are_those_from_nothing_and_after_a_switch() -> None:
    planner = Planner(_Pool(), MEMORY_LAYOUT, torch.Generator().manual_seed(2))
    blocks = MEMORY_LAYOUT.clean // BLOCK
    for plan, expected in (
        (planner.nothing(2), None),
        (planner.continued(2), ()),
        (planner.switched(2, torch.full((2,), 2)), (2,)),
        (planner.recall(2, torch.full((2,), 3)), (3,)),
    ):
        shots = ClipTable.of(CLIPS, CPU).clip_of[plan.source]
        batch = Batch(plan, torch.zeros(2), torch.zeros(0), torch.zeros(0), shots)
        first = first_blocks(batch, MEMORY_LAYOUT)
        if expected is None:
            assert first.all()
            continue
        tail = [block in expected for block in range(blocks)]
        assert first[:, -blocks:].tolist() == [tail, tail]
        assert not first[:, :-blocks].any()


def test_a_walk_goes_from_noise_through_the_steps_of_inference() -> None:
    example, model = example_of(), Drift(0.5)
    made = walk(model, example, 4)  # type: ignore[arg-type]
    scale = 1.0
    for now, then in zip(noise.STEPS[:-1], noise.STEPS[1:], strict=True):
        scale *= 1 + (then - now) * 0.5
    noisy = example.noisy.repeat_interleave(BLOCK, 1)
    torch.testing.assert_close(made[noisy], scale * example.noise[noisy])
    torch.testing.assert_close(made[~noisy], example.latents[~noisy])
    assert model.levels == pytest.approx(list(noise.STEPS[:-1]))
    torch.testing.assert_close(walk(model, example, 0)[noisy], example.noise[noisy])  # type: ignore[arg-type]


def test_first_block_distillation_reaches_the_teacher_of_many_steps() -> None:
    """A decay goes further in one step than in many small ones: the student has to learn to slow down."""
    generator = torch.Generator().manual_seed(1)
    student, teacher = Drift(1.0), Drift(1.0)
    teacher.pull.requires_grad_(False)
    loss = FirstBlockDistillation(Teacher(teacher, 16), LAYOUT, generator)  # type: ignore[arg-type]
    before = [float(loss(student, example_of()).detach()) for _ in range(8)]  # type: ignore[arg-type]
    adam = torch.optim.Adam([student.pull], 0.02)
    for _ in range(150):
        value = loss(student, example_of())  # type: ignore[arg-type]
        adam.zero_grad()
        value.backward()
        adam.step()
    after = [float(loss(student, example_of()).detach()) for _ in range(8)]  # type: ignore[arg-type]
    assert sum(after) < sum(before)
    assert 0.6 < float(student.pull.detach()) < 0.95
    same = FirstBlockDistillation(Teacher(copy.deepcopy(teacher), 1), LAYOUT, generator)  # type: ignore[arg-type]
    assert float(same(teacher, example_of()).detach()) == pytest.approx(0, abs=1e-9)  # type: ignore[arg-type]


def test_the_adversary_tells_made_blocks_and_pulls_them_to_true_ones() -> None:
    torch.manual_seed(3)
    student = Drift(0.2)  # leaves its blocks far louder than the true ones
    adversary = Adversary(
        Discriminator(CHANNELS, 5, 16),
        lambda model, example: 0 * model.pull,  # type: ignore[attr-defined]
        lambda rows: torch.ones(len(rows), 3, 5),
        ALONE,
    )
    for settings in adversary._adam.param_groups:
        settings["lr"] = 2e-3
    adam = torch.optim.Adam([student.pull], 0.02)
    told, last = [], example_of()
    for _ in range(60):
        last = example_of(8)
        last = replace(last, batch=replace(last.batch, latents=0.2 * last.batch.latents))
        value = adversary(student, last)  # type: ignore[arg-type]
        told.append(adversary.told_apart)
        adam.zero_grad()
        value.backward()
        adam.step()
    assert max(told) > 0.9
    assert float(student.pull.detach()) > 0.4
    assert all(p.requires_grad for p in adversary.discriminator.parameters())


def test_the_decoder_alone_leaves_what_latents_mean() -> None:
    torch.manual_seed(0)
    model = PocketAutoencoder().eval()
    before = copy.deepcopy(model.state_dict())
    clips = ClipSource(2, 1, 2, torch.Generator().manual_seed(0), (32, 64))
    run = AutoencoderRun(model, clips, 2, ALONE, StageClock("toy", 0, ALONE, steps=2), 1, decoder_only=True)
    after = run.train().state_dict()
    changed = {name.split(".")[0] for name, value in after.items() if not torch.equal(value, before[name])}
    assert changed == {"decoder"}


def test_a_folder_begins_with_the_weights_of_a_model(tmp_path: Path) -> None:
    begin_with("pocket", tmp_path / "new")
    shipped = load_weights(tmp_path / "new" / "autoencoder", "model")
    assert (tmp_path / "new" / "transformer" / "config.json").is_file()
    own = tmp_path / "own"
    save_weights(own / "autoencoder", "model", {"w": torch.ones(1)})
    begin_with(str(tmp_path / "new"), own)
    assert load_weights(own / "autoencoder", "model").keys() == {"w"}, "what is there stays"
    options = TrainOptions(tmp_path / "new", device="cpu", start="pocket")
    started = Session(options, ALONE).new_autoencoder().state_dict()
    torch.testing.assert_close(started["decoder.enter.weight"], shipped["decoder.enter.weight"])
    fresh = Session(replace(options, start=None), ALONE).new_autoencoder().state_dict()
    assert not torch.equal(fresh["decoder.enter.weight"], shipped["decoder.enter.weight"])
    with pytest.raises(UserError, match="no model folder"):
        train_pocket(replace(options, start=str(tmp_path / "nothing")))


def test_stages_that_need_a_transformer_say_so(tmp_path: Path) -> None:
    session = Session(TrainOptions(tmp_path, device="cpu", toy=True), ALONE)
    with pytest.raises(UserError, match="no transformer"):
        session.last_transformer()


def test_curves_outlive_the_run(tmp_path: Path) -> None:
    clock = StageClock("toy", 0, ALONE, steps=4, done=0.0, curve=tmp_path / "loss.jsonl")
    for loss in (0.5, 0.25):
        clock.progress()
        clock.report(loss, extra=1.0)
        lines = [json.loads(line) for line in (tmp_path / "loss.jsonl").read_text().splitlines()]
        assert lines[-1]["loss"] == loss
        assert lines[-1]["extra"] == 1.0
    assert [line["progress"] for line in lines] == [0.0, 0.25]
    clock.close()
    again = StageClock("later", 0, ALONE, steps=4, curve=tmp_path / "loss.jsonl")
    again.progress()
    again.report(1.0)
    again.close()
    assert len((tmp_path / "loss.jsonl").read_text().splitlines()) == 3


def test_what_runs_when_no_stage_is_named_is_what_the_shipped_weights_went_through() -> None:
    assert TrainOptions(Path("x")).stages == RECIPE
    assert [stage for stage in STAGES if stage in RECIPE] == list(RECIPE)
