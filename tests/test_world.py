"""The pocket world's pictures: deterministic, and every attribute is to be seen."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from worldattention.core.pocket import scenes
from worldattention.core.pocket.palette import HUE_RGB, Light
from worldattention.core.pocket.raster import COLUMNS, raster_torch
from worldattention.core.pocket.render import HEIGHT, WIDTH, build, draw, render
from worldattention.core.pocket.scenes import COLOURS, Hidden, Scene, sample_hidden, sample_scenes
from worldattention.core.pocket.training.transformer import stage_weights
from worldattention.core.pocket.vocabulary import PLACES


def one_scene(**values):
    names = ("sex", "shirt", "action", "place", "time", "weather")
    return Scene(*(torch.tensor([[values.get(name, 0)]]) for name in names))


def one_hidden(seed=0, layout=0):
    hidden = sample_hidden(1, torch.Generator().manual_seed(seed), "cpu")
    return replace(hidden, layout=torch.full((1, len(PLACES)), layout))


def frame(hidden, scene, second=0.4):
    return render(hidden, scene, torch.zeros(1, 1, dtype=torch.long), torch.tensor([[second]]))[0, 0]


def random_primitives(frames, count, seed):
    g = torch.Generator().manual_seed(seed)
    p = torch.rand(frames, count, COLUMNS, generator=g)
    angle = 6.3 * torch.rand(frames, count, generator=g)
    p[..., 0], p[..., 1] = p[..., 0] * 260 - 2, p[..., 1] * 132 - 2
    p[..., 2], p[..., 3] = angle.cos(), angle.sin()
    p[..., 4:6] = 3.0 + 25 * p[..., 4:6] ** 2
    p[..., 6] *= 6
    p[..., 7] = 2 * p[..., 7] - 1
    p[..., 8] = (3 * p[..., 8]).floor()
    p[..., 9] = 0.5 + 10 * p[..., 9] ** 4
    p[..., 16] *= p[..., 16] > 0.2
    p[..., 17] = (p[..., 17] > 0.8).float()
    return p


def naive_raster(canvas, primitives):
    """An independent transcription: every primitive on every pixel, in double precision."""
    image = canvas.double().clone()
    y, x = torch.meshgrid(
        torch.arange(HEIGHT, dtype=torch.float64) + 0.5,
        torch.arange(WIDTH, dtype=torch.float64) + 0.5,
        indexing="ij",
    )
    for p in primitives.double():
        cx, cy, cos, sin, hx, hy, radius, taper, kind, soft = p[:10]
        u, v = (x - cx) * cos + (y - cy) * sin, (y - cy) * cos - (x - cx) * sin
        if kind > 0.5:
            level = ((u / hx) ** 2 + (v / hy) ** 2 + 1e-9).sqrt()
            distance = level * (level - 1) / ((u / hx**2) ** 2 + (v / hy**2) ** 2 + 1e-12).sqrt()
            distance = torch.maximum(distance, v) if kind > 1.5 else distance
        else:
            slope = hx * taper / hy
            qx, qy = (u.abs() - hx * (1 + taper * v / hy)) / (1 + slope**2).sqrt(), v.abs() - hy
            distance = (
                torch.hypot(qx.clamp(min=0), qy.clamp(min=0)) + torch.maximum(qx, qy).clamp(max=0) - radius
            )
        edge = (0.5 - distance / soft).clamp(0, 1)
        cover = edge**2 * (3 - 2 * edge) * p[16]
        down = ((v / (hy + radius) + 1) / 2).clamp(0, 1)[..., None]
        across = ((u / (hx + radius) + 1) / 2).clamp(0, 1)
        colour = (p[10:13] * (1 - down) + p[13:16] * down) * (1 + p[18] * (0.5 - across))[..., None]
        under = image if p[17] > 0.5 else image * (1 - cover[..., None])
        image = under + colour * cover[..., None]
    return image.clamp(0, 1)


def test_raster_against_every_pixel_of_every_primitive():
    canvases, primitives = torch.rand(2, HEIGHT, WIDTH, 3), random_primitives(2, 40, 3)
    drawn = raster_torch(canvases, torch.tensor([1, 0]), primitives)
    for i, canvas in enumerate((canvases[1], canvases[0])):
        assert (drawn[i] - naive_raster(canvas, primitives[i])).abs().max() < 2e-4


def test_triton_raster_agrees_with_torch():
    """In a child, since Triton reads its interpreter switch at import."""
    code = (
        "import sys, torch; sys.path.insert(0, sys.argv[1]); from test_world import random_primitives\n"
        "from worldattention.core.pocket.raster import raster_torch\n"
        "from worldattention.core.pocket.raster_triton import raster_triton\n"
        "c, i, p = torch.rand(2, 32, 64, 3), torch.tensor([1, 0, 1]), random_primitives(3, 12, 5)\n"
        "p[..., 0] /= 4; p[..., 1] /= 4\n"
        "assert (raster_triton(c, i, p, torch.float32) - raster_torch(c, i, p)).abs().max() < 1e-4\n"
    )
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    here = os.path.dirname(__file__)
    result = subprocess.run(
        [sys.executable, "-c", code, here], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_rendering_is_deterministic_and_independent_of_the_batch():
    g = torch.Generator().manual_seed(5)
    hidden, scene = sample_hidden(6, g, "cpu"), sample_scenes(6, 2, g, "cpu")
    which, seconds = torch.tensor([[0, 1, 1]] * 6), torch.rand(6, 3) * 60
    drawing = build(hidden, scene, which, seconds)
    frames = draw(drawing, which)
    assert frames.shape == (6, 3, HEIGHT, WIDTH, 3)
    assert frames.min() >= 0
    assert frames.max() <= 1
    assert torch.equal(frames, render(hidden, scene, which, seconds))
    alone = torch.tensor([4, 1])
    again = render(hidden.select(alone), scene.select(alone), which[alone], seconds[alone])
    assert (again - frames[alone]).abs().max() < 2e-3  # sines differ in the last bit with the batch's shape
    assert torch.equal(draw(drawing.select(alone), which[alone]), frames[alone])


@pytest.mark.parametrize("action", scenes.ACTIONS)
def test_motion_is_an_exact_function_of_time(action):
    """Everything repeats: in 2.5 s, snow in 10, walking in 12.5."""
    hidden = one_hidden()
    scene = one_scene(action=scenes.ACTIONS.index(action), weather=1, place=2)
    a, b, c = (frame(hidden, scene, t) for t in (0.3, 50.3, 0.8))
    assert (a - b).abs().max() < 0.01
    assert (a - c).abs().max() > 0.2


@pytest.mark.parametrize("name", ["sex", "shirt", "action", "place", "time", "weather"])
def test_every_prompted_attribute_shows(name):
    values = {"sex": 2, "shirt": 8, "action": 7, "place": 4, "time": 3, "weather": 3}[name]
    hidden = one_hidden()
    frames = [frame(hidden, one_scene(**{name: value})) for value in range(values)]
    for i in range(values):
        for j in range(i):
            changed = ((frames[i] - frames[j]).abs().amax(-1) > 0.08).sum()
            assert changed > 150, (name, i, j)


@pytest.mark.parametrize("colour", COLOURS)
def test_every_hidden_colour_fills_a_visible_region(colour):
    """The pixels that a hidden colour changes have, in the median, that colour under daylight."""
    place = next((p for p, names in scenes.PLACE_COLOURS.items() if colour in names), "mountain")
    action = next((a for a, name in scenes.ACTION_COLOURS.items() if name == colour), "wave")
    scene = one_scene(place=PLACES.index(place), action=scenes.ACTIONS.index(action))
    for layout in range(scenes.LAYOUTS):
        hidden = one_hidden(seed=layout, layout=layout)
        frames = []
        for hue in (0, 3, 5):
            colours = hidden.colours.clone()
            colours[:, COLOURS.index(colour)] = hue
            frames.append(frame(replace(hidden, colours=colours), scene))
        changed = (frames[0] - frames[1]).abs().amax(-1) > 0.3
        assert changed.sum() > 60
        for hue, picture in zip((0, 3, 5), frames, strict=True):
            median = picture[changed].median(dim=0).values
            nearest = (torch.tensor(HUE_RGB) - median).norm(dim=1).argmin()
            assert nearest == hue, (layout, median)


@pytest.mark.parametrize("place", PLACES)
def test_layouts_differ(place):
    frames = [
        frame(one_hidden(layout=k), one_scene(place=PLACES.index(place))) for k in range(scenes.LAYOUTS)
    ]
    for i in range(scenes.LAYOUTS):
        for j in range(i):
            assert ((frames[i] - frames[j]).abs().amax(-1) > 0.1).float().mean() > 0.1


@pytest.mark.parametrize("name", ["skin", "hair", "trousers"])
def test_the_actors_looks_show(name):
    hidden = one_hidden()
    frames = [frame(replace(hidden, **{name: torch.full((1, 2, 8), k)}), one_scene()) for k in range(3)]
    for i in range(3):
        for j in range(i):
            assert ((frames[i] - frames[j]).abs().amax(-1) > 0.08).sum() > 40


def test_night_is_dark_but_not_black():
    bright = [frame(one_hidden(), one_scene(time=t, place=2)).mean() for t in range(3)]
    assert bright[0] > bright[1] > bright[2] > 0.15
    assert min(Light(2, weather).ambient[k] for weather in range(3) for k in range(3)) > 0.4


def test_sampling_follows_its_distributions():
    g = torch.Generator().manual_seed(11)
    hidden, scene = sample_hidden(4000, g, "cpu"), sample_scenes(4000, 3, g, "cpu")
    assert isinstance(hidden, Hidden)
    for k in range(len(COLOURS)):
        assert (hidden.colours[:, k].bincount(minlength=8) / 4000 - 1 / 8).abs().max() < 0.03
    villages = hidden.colours[:, :3].sort(dim=1).values
    assert (villages.diff(dim=1) > 0).all()
    for place in range(4):
        assert (hidden.layout[:, place].bincount(minlength=4) / 4000 - 1 / 4).abs().max() < 0.03
    for values, n in (
        (scene.action, 7),
        (scene.place, 4),
        (scene.time, 3),
        (scene.weather, 3),
        (scene.shirt, 8),
    ):
        for s in range(3):
            assert (values[:, s].bincount(minlength=n) / 4000 - 1 / n).abs().max() < 0.03
    moved = scene.place.diff(dim=1) != 0
    acted = scene.action.diff(dim=1) != 0
    assert abs(moved.float().mean() - 0.55) < 0.03
    assert (moved | acted).all()
    assert abs((scene.shirt.diff(dim=1) != 0).float().mean() - 0.35 * 7 / 8) < 0.03


def test_sampling_is_reproducible():
    a, b = (sample_scenes(9, 2, torch.Generator().manual_seed(4), "cpu") for _ in range(2))
    assert torch.equal(a.action, b.action)
    assert torch.equal(a.weather, b.weather)


def test_whoever_is_prompted_alike_is_the_same_person():
    g = torch.Generator().manual_seed(12)
    hidden, scene = sample_hidden(2000, g, "cpu"), sample_scenes(2000, 3, g, "cpu")
    skin, hair, trousers = hidden.person(scene.sex, scene.shirt)
    alike = (scene.sex[:, 0] == scene.sex[:, 2]) & (scene.shirt[:, 0] == scene.shirt[:, 2])
    for values, classes in ((skin, scenes.SKINS), (hair, scenes.HAIRS), (trousers, scenes.TROUSERS)):
        assert values.shape == (2000, 3)
        same = values[:, 0] == values[:, 2]
        assert same[alike].all()
        assert abs(same[~alike].float().mean() - 1 / classes) < 0.06


def test_training_weighs_where_actors_and_props_are():
    """People and props of other looks change pictures inside the weighted part, nearly nowhere else."""
    g = torch.Generator().manual_seed(23)
    hidden, scene = sample_hidden(24, g, "cpu"), sample_scenes(24, 1, g, "cpu")
    other = sample_hidden(24, g, "cpu")
    places = hidden.colours.clone()
    places[:, -len(scenes.ACTION_COLOURS) :] = other.colours[:, -len(scenes.ACTION_COLOURS) :]
    other = replace(other, layout=hidden.layout, colours=places)
    which, seconds = torch.zeros(24, 2, dtype=torch.long), 60 * torch.rand(24, 2, generator=g)
    changed = (render(hidden, scene, which, seconds) - render(other, scene, which, seconds)).abs().amax(
        -1
    ) > 0.05
    weights = stage_weights(HEIGHT, WIDTH, torch.device("cpu"))
    inside = weights > 1
    assert float(weights.mean()) == pytest.approx(1)
    assert inside.float().mean() < 0.32
    assert changed[..., inside].sum() > 0.85 * changed.sum()
