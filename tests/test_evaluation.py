"""Prompt following, drift, density and the reader's accuracy, over scripted worlds whose truth is known."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.fakes_cli import FakeEngine
from tests.toy import toy_config, toy_model
from worldattention.core.config import AttentionConfig, with_choices
from worldattention.core.engine import Engine
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.evaluation import truth
from worldattention.core.evaluation.density import HOLDS, measure_density
from worldattention.core.evaluation.drift import DriftSettings, cycle_frames, drift_of, evaluate_drift
from worldattention.core.evaluation.following import FollowingSettings, evaluate_following
from worldattention.core.evaluation.following_report import FOLLOWED
from worldattention.core.evaluation.pictures import Energies, gradient_energy, motion_energy
from worldattention.core.evaluation.reading import measure_reader
from worldattention.core.evaluation.recall_plan import plan_scene
from worldattention.core.evaluation.statistics import estimate_mean, estimate_ratio
from worldattention.core.evaluation.worlds import OneWorld
from worldattention.core.geometry import FPS, POCKET_GEOMETRY
from worldattention.core.models.vae import AutoencoderConfig, PocketAutoencoder
from worldattention.core.pocket.mentions import parse
from worldattention.core.pocket.reader import Reader
from worldattention.core.pocket.render import render
from worldattention.core.pocket.scenes import Scene, sample_hidden
from worldattention.core.pocket.truth import ATTRIBUTES, PLACE_ATTRIBUTES
from worldattention.core.pocket.vocabulary import ACTIONS, PLACES
from worldattention.core.telemetry import BlockResult

SIZES = replace(POCKET_GEOMETRY, height=8, width=16)
STORY = (("a red house", 3), ("a green hill", 3), ("the red house", 1))


def painted(values, frames=12, contrast=100, step=0):
    """Frames whose first row holds values, above a checkerboard of `contrast` that moves by `step` a frame."""
    board = (np.indices((8, 16)).sum(0) % 2 * contrast).astype(np.uint8)
    clip = np.stack([np.roll(board, step * t, axis=1) for t in range(frames)])[..., None].repeat(3, 3)
    clip[:, 0, :, 0] = 0
    clip[:, 0, : len(values), 0] = values
    return clip


class Painter(FakeEngine):
    """Paints what the prompt names, but for the attributes in `wrong`; contrast fades by `fade` a block."""

    def __init__(self, wrong=(), fade=0, still=False):
        super().__init__(geometry=SIZES)
        self.wrong, self.fade, self.still, self.seed = wrong, fade, still, 0

    def reset(self, seed=None):
        super().reset(seed)
        self.seed = seed

    def step(self, prompt, cancel=None):
        result = super().step(prompt, cancel)
        named = parse(prompt)
        values = [getattr(named, name) or 0 for name in FOLLOWED]
        values = [v + 1 if name in self.wrong else v for name, v in zip(FOLLOWED, values, strict=True)]
        hidden = random.Random(self.seed).choices(range(8), k=5)
        contrast = 100 - self.fade * (self.block - 1)
        return BlockResult(
            painted(values + hidden, contrast=contrast, step=0 if self.still else 1), result.telemetry
        )


class PixelReader:
    """Reads what `Painter` painted."""

    def read(self, frames, names):
        columns = {name: index for index, name in enumerate(FOLLOWED)}
        hidden = [name for name in names if name not in columns]
        columns |= {name: len(FOLLOWED) + index for index, name in enumerate(hidden)}
        return [{name: int(frame[0, columns[name], 0]) for name in names} for frame in frames]


def true_scene(words, frames, seed):
    hidden = random.Random(seed).choices(range(8), k=5)
    return painted([getattr(words, name) for name in FOLLOWED] + hidden, frames, step=1)


def follow(world, **settings):
    chosen = FollowingSettings(**{"episodes": 8, "blocks": 2, "read_blocks": 1, **settings})
    return evaluate_following(OneWorld(world), PixelReader(), true_scene, chosen)


def test_a_world_that_obeys_is_at_its_ceiling():
    report = follow(Painter())
    for name in (*FOLLOWED, "prop present"):
        assert report.made[name].accuracy == report.true[name].accuracy == 1
        assert report.made[name].low < 1 or name == "prop present"
    for estimate in report.ratios.values():
        assert estimate.accuracy == pytest.approx(1, rel=1e-3)
    assert 0.6 < report.variety < 1.4


def test_what_is_disobeyed_soft_or_still_shows():
    report = follow(Painter(wrong=("shirt",)))
    assert report.made["shirt"].accuracy == 0
    assert report.made["action"].accuracy == 1
    report = follow(Painter(wrong=("action",), fade=50, still=True))
    assert report.made["prop present"].accuracy == 0
    assert report.true["prop present"].accuracy == 1
    ratios = report.to_json()
    assert ratios["gradient energy, made over true"]["accuracy"] == pytest.approx(0.25, abs=0.1)
    assert ratios["motion energy, made over true"]["accuracy"] == pytest.approx(0, abs=1e-6)


def test_following_stops_between_blocks():
    world = Painter()
    settings = FollowingSettings(episodes=2, blocks=3)
    with pytest.raises(Cancelled):
        evaluate_following(
            OneWorld(world), PixelReader(), true_scene, settings, cancel=lambda: world.block >= 2
        )


def true_parts(words, frames, seed):
    """The true scene in two uneven parts; its contrast ends lower than it begins."""
    yield true_scene(words, frames - 5, seed)
    yield true_scene(words, 5, seed) // 2


def test_a_world_that_fades_drifts():
    settings = DriftSettings(episodes=3, seconds=30, end_seconds=3)
    steady = evaluate_drift(OneWorld(Painter()), PixelReader(), true_parts, settings)
    fading = evaluate_drift(OneWorld(Painter(fade=2)), PixelReader(), true_parts, settings)
    assert fading.true == steady.true, "the truth is not of the world"
    assert 0 < steady.true["VDE of sharpness"].accuracy < 1, "five frames of 480, in the last chunk"
    assert "read-back, last over first" not in steady.true
    assert f"| {steady.true['VDE of motion'].accuracy:.3f} |" in steady.to_markdown()
    assert steady.to_json()["true"].keys() == steady.true.keys()
    for name in ("sharpness", "motion", "read-back"):
        assert steady.estimates[f"{name}, last over first"].accuracy == pytest.approx(1)
    assert steady.estimates["VDE of sharpness"].accuracy == pytest.approx(0, abs=1e-6)
    assert fading.estimates["sharpness, last over first"].accuracy < 0.2
    assert fading.estimates["motion, last over first"].accuracy < 0.2
    assert fading.estimates["read-back, last over first"].accuracy == 1
    assert fading.estimates["VDE of sharpness"].accuracy > 5


def test_drift_of_a_straight_decline_is_that_of_the_formula():
    values = np.repeat(np.arange(20, 10, -1.0), 6)
    expected = sum((10 - i + 1) * (i - 1) / 20 for i in range(2, 11))
    assert drift_of(np.append(values, [9.0] * 3)) == pytest.approx(expected, rel=0.2)
    assert drift_of(values) == pytest.approx(expected)
    assert drift_of(np.zeros(40)) == 0


def test_what_repeats_does_not_drift():
    """Chunks of 96 frames hold 2.4 cycles of 40: a metric that repeats is even over whole cycles only."""
    frames = np.arange(959)
    wave = 2 + np.sin(2 * np.pi * frames / 40)
    assert drift_of(wave) > 1
    assert drift_of(wave, 40) == pytest.approx(0, abs=1e-9)
    assert drift_of(wave[:99], 40) > 1, "chunks shorter than a cycle are taken whole"
    low = np.where(frames < 40, 0.5, 1.0) * wave
    assert drift_of(low, 40) == pytest.approx(45 * (1 / 0.75 - 1))


def test_true_scenes_move_alike_after_a_cycle():
    """Every action's motion, as drawn, one cycle later: the same but for the weather, which is clear here."""
    for action in range(len(ACTIONS)):
        words = replace(plan_scene(0, 0)[0], action=action, weather=0)
        cycle = cycle_frames(words)
        names = ("sex", "shirt", "action", "place", "time", "weather")
        scene = Scene(*(torch.tensor([[getattr(words, name)]]) for name in names))
        hidden = sample_hidden(1, torch.Generator().manual_seed(action), "cpu")
        times = torch.arange(3, 3 + cycle, 7)
        seconds = (torch.stack([times, times + 1, times + cycle, times + cycle + 1]).flatten() / FPS)[None]
        which = torch.zeros(seconds.shape, dtype=torch.long)
        frames = render(hidden, scene, which, seconds)[0].unflatten(0, (4, -1))
        moves = (255 * (frames[1::2] - frames[::2])).square().mean((-1, -2, -3))
        assert moves[0].sum() > 1
        torch.testing.assert_close(moves[0].sum(), moves[1].sum(), rtol=0.05, atol=0.1)


def test_energies_of_parts_are_those_of_the_whole():
    rng = np.random.default_rng()
    frames = rng.integers(0, 256, (40, 4, 5, 3), np.uint8)
    energies = Energies()
    for part in np.split(frames, sorted(rng.choice(np.arange(1, 40), 4, replace=False))):
        energies.add(part)
    gradient, motion = energies.values()
    np.testing.assert_allclose(gradient, gradient_energy(frames))
    np.testing.assert_allclose(motion, motion_energy(frames))


def test_true_scenes_come_in_parts_of_one_video(monkeypatch):
    torch.manual_seed(0)
    network = PocketAutoencoder(AutoencoderConfig(4, (8, 8, 8), (8, 8, 8))).eval()
    monkeypatch.setattr(truth, "PART_FRAMES", 8)
    scene, seed = plan_scene(2, 0)
    parts = list(truth.TrueScenes(network, "cpu").parts(scene, 18, seed % (1 << 31)))
    assert [len(part) for part in parts] == [8, 8, 4], "whole latents"
    monkeypatch.setattr(truth, "PART_FRAMES", 99)
    whole = truth.TrueScenes(network, "cpu")(scene, 18, seed % (1 << 31))
    assert np.abs(np.concatenate(parts).astype(int) - whole).max() <= 1
    assert motion_energy(whole).min() > 0


def test_energies_against_plain_sums():
    frames = np.random.default_rng().integers(0, 256, (3, 4, 5, 3), np.uint8)
    f = frames.astype(float)
    across = ((f[:, :, 1:] - f[:, :, :-1]) ** 2).mean((1, 2, 3))
    down = ((f[:, 1:] - f[:, :-1]) ** 2).mean((1, 2, 3))
    np.testing.assert_allclose(gradient_energy(frames), (across + down) / 2, rtol=1e-5)
    np.testing.assert_allclose(motion_energy(frames), ((f[1:] - f[:-1]) ** 2).mean((1, 2, 3)), rtol=1e-5)


def test_ratios_are_paired():
    rng = np.random.default_rng()
    below = rng.uniform(1, 100, 30)
    ratio = estimate_ratio(list(0.5 * below), list(below))
    assert ratio.accuracy == pytest.approx(0.5)
    assert ratio.low == pytest.approx(ratio.high), "each pair has the same ratio"
    mean = estimate_mean(list(below))
    assert mean.low < below.mean() < mean.high
    assert mean.accuracy == pytest.approx(below.mean())
    for above, under in (([1.0], [0.0]), ([1.0], [1.0, 2.0]), ([], [])):
        with pytest.raises(ValueError, match="ratio"):
            estimate_ratio(above, under)


def test_scenes_take_places_in_turn_and_are_drawn_from_the_seed():
    scenes = [plan_scene(index, 3) for index in range(8)]
    assert [scene.place for scene, _ in scenes] == list(range(4)) * 2
    assert scenes == [plan_scene(index, 3) for index in range(8)]
    assert scenes != [plan_scene(index, 4) for index in range(8)]
    assert len({seed for _, seed in scenes}) == 8


@pytest.mark.parametrize("mode", ["sparse", "hsa"])
def test_density_by_layer_and_head(mode):
    torch.manual_seed(1)
    engine = Engine(toy_model(), replace(toy_config(), attention=AttentionConfig(block=32)))
    engine.configure(with_choices(engine.config, attention=mode))
    report = measure_density(engine, (0.2, 0.6, 1.0), STORY)
    assert report.cosine.shape == (3, 4, 2)
    assert report.tau_density.shape == (4, 2)
    assert ((report.tau_density > 0) & (report.tau_density <= 1)).all()
    means = report.cosine.mean((1, 2))
    if mode == "sparse":
        torch.testing.assert_close(report.cosine[2], torch.ones(4, 2))
        assert means[0] < means[1] < means[2]
        assert report.psnr["1"] == 99, "all of the window is the window"
        assert (report.holding <= 1).all()
    assert report.psnr["0.2"] < 60
    assert set(report.psnr) == {"tau", "0.2", "0.6", "1"}
    kept = [d for d, cosine in zip((0.2, 0.6, 1.0), report.cosine[:, 0, 0], strict=True) if cosine >= HOLDS]
    assert float(report.holding[0, 0]) == pytest.approx(kept[0] if kept else 1.0)
    assert report.to_markdown().count("\n| ") == 4 + 1 + 4 + 1
    engine.close()


def test_density_without_a_recall_is_a_user_error():
    engine = Engine(toy_model(), toy_config())
    with pytest.raises(UserError, match="recalled"):
        measure_density(engine, (0.5,), STORY[:1])
    engine.close()


def test_the_reader_is_judged_on_what_a_scene_shows():
    torch.manual_seed(0)
    autoencoder = PocketAutoencoder(AutoencoderConfig(4, (8, 8, 8), (8, 8, 8))).eval()
    report = measure_reader(Reader().eval(), autoencoder, 4, seed=4)
    counts = report.counts
    assert counts["place"][1] == counts["layout"][1] == report.scenes == 4
    assert all(right <= asked for right, asked in counts.values())
    shown = {name for place in PLACES for name in PLACE_ATTRIBUTES[place]}
    places = sum(asked for name, (_, asked) in counts.items() if name in shown - {"layout"})
    assert 8 <= places <= 16, "two to four colours a place"
    assert set(counts) <= {attribute.name for attribute in ATTRIBUTES}
    assert measure_reader(Reader().eval(), autoencoder, 2, seed=4).scenes == 2
    with pytest.raises(Cancelled):
        measure_reader(Reader().eval(), autoencoder, 2, cancel=lambda: True)
