"""Worlds that step together on a GPU: the same as one after the other, but for rounding."""

from contextlib import closing
from functools import partial

import numpy as np
import pytest

from tests.test_gpu_engine import Words, begun_alone, psnr
from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.evaluation.worlds import Lockstep, OneWorld
from worldattention.core.loading import load_model

pytestmark = pytest.mark.gpu

STORY = ["a red ball in a village"] * 12 + ["a kite on the beach"] * 3 + ["the red ball in the village"] * 2


def film(world, seed):
    """The first frames, and what was recalled last."""
    world.reset(seed)
    results = [world.step(prompt) for prompt in STORY]
    pages = [span.page for span in results[-1].telemetry.window if span.kind == "page"]
    density = np.stack([result.telemetry.density for result in results])
    return results[0].frames, results[-1].frames, pages, density


def test_worlds_side_by_side_are_the_worlds_alone():
    model = begun_alone(load_model("pocket", "cuda", text_encoder=Words()))
    with closing(Engine(model, EngineConfig())) as engine:
        jobs = [partial(film, seed=seed) for seed in (1, 2, 3)]
        alone = OneWorld(engine).map(jobs)
        with closing(Lockstep(engine, 3)) as together:
            made = together.map(jobs)
    for one, other in zip(alone, made, strict=True):
        assert psnr(one[0], other[0]) > 30
        assert one[2] == other[2]
        assert np.abs(one[3] - other[3]).mean() < 0.02
    assert psnr(alone[0][1], made[1][1]) < 25, "worlds of other seeds"
