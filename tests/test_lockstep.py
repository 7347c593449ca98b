"""Several worlds through one model call: the same pictures as one at a time."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.toy import toy_config, toy_engine, toy_model
from worldattention.core.config import AttentionConfig, with_choices
from worldattention.core.engine import Engine
from worldattention.core.errors import Cancelled
from worldattention.core.evaluation.worlds import Lockstep, OneWorld
from worldattention.core.window_attention import WindowAttention

PROMPTS = (("a red house", 3), ("a green hill", 2), ("the red house", 1))


def story(world, seed, prompts=PROMPTS, policy="hkv"):
    """Frames of a world of its own, and of a fork that recalls by `policy`."""
    world.reset(seed)
    frames = [world.step(prompt).frames for prompt, blocks in prompts for _ in range(blocks)]
    branch = world.fork(with_choices(world.config, retrieval=policy))
    frames.append(branch.step("a green hill again").frames)
    branch.close()
    return np.concatenate(frames)


def same_pictures(first, second):
    """Batched and single matrix products round differently: most values agree, and none is far off."""
    distance = np.abs(first.astype(int) - second.astype(int))
    return distance.mean() < 0.1 and distance.max() <= 40


@pytest.mark.parametrize("fill", [False, True])
def test_worlds_in_lockstep_are_the_worlds_alone(fill):
    jobs = [
        partial(story, seed=seed, policy=policy) for seed, policy in ((1, "hkv"), (2, "none"), (3, "random"))
    ]
    engine = toy_engine()
    alone = OneWorld(engine).map(jobs)
    together = Lockstep(engine, 2, fill)
    made = together.map(jobs)
    for one, other in zip(alone, made, strict=True):
        assert same_pictures(one, other)
    assert not same_pictures(made[0], made[1])
    # Two worlds meet in every pass but those that only one of them makes, and the third job is alone.
    sizes = together.batches
    assert max(sizes) == 2
    assert sum(size == 2 for size in sizes) > 0.4 * len(sizes)
    together.close()
    engine.close()


def test_worlds_at_different_steps_meet_all_the_same():
    other = (("a blue sea", 1), ("a red house", 3), ("a blue sea", 2))
    jobs = [partial(story, seed=5), partial(story, seed=6, prompts=other)]
    engine = toy_engine()
    together = Lockstep(engine, 2)
    for one, made in zip(OneWorld(engine).map(jobs), together.map(jobs), strict=True):
        assert same_pictures(one, made)
    together.close()
    engine.close()


@pytest.mark.parametrize("failure", [Cancelled(), ValueError("broken")])
def test_a_world_that_fails_ends_the_others_too(failure):
    def fails(world):
        world.reset(1)
        world.step("a red house")
        raise failure

    engine = toy_engine()
    together = Lockstep(engine, 2)
    with pytest.raises(type(failure)):
        together.map([partial(story, seed=1), fails, partial(story, seed=2)])
    assert len(together.map([partial(story, seed=3, prompts=(("a red house", 1),))])) == 1
    together.close()
    engine.close()


def test_a_failed_pass_reaches_every_world(monkeypatch):
    engine = toy_engine()
    together = Lockstep(engine, 2)
    predict = engine.model.transformer.predict

    def out_of_memory(*arguments):
        if len(arguments[0]) == 2:
            raise MemoryError("too many worlds")
        return predict(*arguments)

    monkeypatch.setattr(engine.model.transformer, "predict", out_of_memory, raising=False)
    with pytest.raises(MemoryError):
        together.map([partial(story, seed=1), partial(story, seed=2)])
    assert len(together.map([partial(story, seed=1, prompts=(("a red house", 1),))])) == 1
    together.close()
    engine.close()


def test_more_worlds_than_jobs_and_no_jobs():
    engine = toy_engine()
    together = Lockstep(engine, 3)
    assert together.config == replace(engine.config, graphs=False)
    assert together.map([]) == []
    assert together.map([lambda world: world.config.seed]) == [engine.config.seed]
    together.close()
    engine.close()


def told(world, seed):
    """What heads did and how pages were scored, block by block, and which worlds' attention was joined."""
    world.reset(seed)
    rows, scores = [], []
    for prompt, blocks in PROMPTS:
        for _ in range(blocks):
            record = world.step(prompt).telemetry
            rows.append(np.stack([record.gini, record.threshold, record.density]))
            scores += record.recall.scores if record.recall else ()
    return np.stack(rows), np.array(scores)


def test_worlds_side_by_side_route_and_score_by_themselves(monkeypatch):
    sizes = []
    beside = WindowAttention.beside.__func__

    def counted(cls, parts):
        sizes.append(len(parts))
        return beside(cls, parts)

    monkeypatch.setattr(WindowAttention, "beside", classmethod(counted))
    jobs = [partial(told, seed=seed) for seed in (11, 12, 13)]
    small_blocks = AttentionConfig(block=16)  # so that there is something to route between
    engine = Engine(toy_model(), replace(toy_config(), attention=small_blocks))
    alone = OneWorld(engine).map(jobs)
    assert not sizes
    together = Lockstep(engine, 3)
    made = together.map(jobs)
    # One window a block for all, one more after a recall.
    assert sizes == [3] * (len(alone[0][0]) + 2)
    for (rows, scores), (rows_made, scores_made) in zip(alone, made, strict=True):
        assert np.abs(rows_made - rows).mean() < 0.01, (
            "rounding moves a block over the threshold now and then"
        )
        assert len(scores)
        np.testing.assert_allclose(scores_made, scores, rtol=0.02, atol=0.02)
    assert np.abs(alone[0][0] - alone[1][0])[:, 0].max() > 5e-3, "worlds differ by more than rounding"
    together.close()
    engine.close()
