"""Ground truth of rendered scenes, and the network that reads it back."""

from dataclasses import replace

import pytest
import torch

from worldattention.core.pocket import scenes
from worldattention.core.pocket.reader import (
    Reader,
    load_reader,
    reader_loss,
    save_reader,
    split_logits,
)
from worldattention.core.pocket.render import render
from worldattention.core.pocket.scenes import sample_hidden, sample_scenes
from worldattention.core.pocket.training import reader as training
from worldattention.core.pocket.truth import (
    ATTRIBUTES,
    HIDDEN_ATTRIBUTES,
    PLACE_ATTRIBUTES,
    hidden_labels,
    labels,
    prompted_labels,
)

NAMES = [a.name for a in HIDDEN_ATTRIBUTES]


@pytest.fixture
def episodes():
    g = torch.Generator().manual_seed(8)
    return sample_hidden(64, g, "cpu"), sample_scenes(64, 2, g, "cpu")


def test_labels_say_what_the_scene_shows(episodes):
    hidden, scene = episodes
    for segment in (0, 1):
        truth = hidden_labels(hidden, scene, segment)
        assert truth.shape == (64, len(HIDDEN_ATTRIBUTES))
        for b in range(64):
            place = scenes.PLACES[scene.place[b, segment]]
            action = scenes.ACTIONS[scene.action[b, segment]]
            expected = {"layout": hidden.layout[b, scene.place[b, segment]]}
            for k, name in enumerate(scenes.COLOURS):
                if name in scenes.PLACE_COLOURS[place] or scenes.ACTION_COLOURS.get(action) == name:
                    expected[name] = hidden.colours[b, k]
            for name in ("skin", "hair", "trousers"):
                expected[name] = getattr(hidden, name)[b, scene.sex[b, segment], scene.shirt[b, segment]]
            assert {n: v.item() for n, v in zip(NAMES, truth[b], strict=True) if v >= 0} == {
                n: v.item() for n, v in expected.items()
            }


def test_labels_stay_within_their_classes(episodes):
    hidden, scene = episodes
    truth = labels(hidden, scene, 1)
    classes = torch.tensor([a.classes for a in ATTRIBUTES])
    assert (truth < classes).all()
    assert torch.equal(truth[:, len(NAMES) :], prompted_labels(scene, 1))
    assert set(PLACE_ATTRIBUTES) == set(scenes.PLACES)


def test_hidden_labels_change_exactly_with_their_attribute(episodes):
    hidden, scene = episodes
    other = replace(hidden, hair=(hidden.hair + 1) % scenes.HAIRS)
    changed = (hidden_labels(hidden, scene, 0) != hidden_labels(other, scene, 0)).any(0)
    assert changed.nonzero().flatten().tolist() == [NAMES.index("hair")]


def test_loss_ignores_what_is_not_shown():
    logits = torch.randn(3, sum(a.classes for a in ATTRIBUTES))
    truth = torch.full((3, len(ATTRIBUTES)), -1)
    assert reader_loss(logits, truth) == 0
    truth[1, 2] = 5
    by_hand = -split_logits(logits)[2][1].log_softmax(0)[5]
    assert torch.allclose(reader_loss(logits, truth), by_hand)


def test_reader_learns_what_it_sees(episodes):
    hidden, scene = (x.select(slice(0, 4)) for x in episodes)
    seconds = torch.full((4, 1), 3.3)
    pictures = render(hidden, scene, torch.zeros(4, 1, dtype=torch.long), seconds)[:, 0].permute(0, 3, 1, 2)
    truth = labels(hidden, scene, 0)
    torch.manual_seed(1)
    reader = Reader()
    assert sum(p.numel() for p in reader.parameters()) < 1.5e6
    optimizer = torch.optim.AdamW(reader.parameters(), 3e-3)
    for _ in range(30):
        optimizer.zero_grad()
        reader_loss(reader(pictures), truth).backward()
        optimizer.step()
    reader.eval()
    shown = truth >= 0
    assert (reader.read(pictures) == truth)[shown].float().mean() > 0.95
    stacked = reader.read(pictures[:, None].expand(-1, 3, -1, -1, -1))
    assert torch.equal(stacked, reader.read(pictures))


def test_pictures_to_learn_from_went_through_the_autoencoder_and_keep_their_truth():
    seen = []

    def round_trip(clips):
        seen.append(clips.shape)
        return torch.zeros_like(clips)

    pool = training.PicturePool(round_trip, 8, torch.Generator().manual_seed(4))
    pool.renew()
    assert seen == [(7, 12, 128, 256, 3)], "one in eight stays as rendered"
    pictures, truth = pool.pictures(60)
    assert pictures.shape == (60, 3, 128, 256)
    dark = pictures.abs().mean((1, 2, 3)) < 2 * training.NOISE
    assert 0 < (~dark).sum() < 30
    assert len(truth[~dark].unique(dim=0)) == 1, "one clip was left, so one truth"
    assert 2 < len(truth[dark].unique(dim=0)) <= 7
    for _ in range(training.KEPT_BATCHES):
        pool.renew()
    assert len({tuple(row) for row in pool.pictures(400)[1].tolist()}) > 60


def test_a_training_step_moves_every_weight():
    reader = Reader()
    optimizer = torch.optim.SGD(reader.parameters(), 0.1)
    before = [p.clone() for p in reader.parameters()]
    truth = torch.zeros(2, len(ATTRIBUTES), dtype=torch.long)
    assert training.train_step(reader, optimizer, torch.rand(2, 3, 128, 256), truth) > 0
    assert all(not torch.equal(a, b) for a, b in zip(before, reader.parameters(), strict=True))


def test_reader_survives_a_file(tmp_path):
    reader = Reader().eval()
    save_reader(reader, tmp_path / "reader.safetensors")
    frames = torch.rand(2, 3, 128, 256)
    assert (load_reader(tmp_path / "reader.safetensors")(frames) - reader(frames)).abs().max() < 0.02
