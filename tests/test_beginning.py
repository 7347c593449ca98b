"""What blocks begin with: noise, their own or the scene's; and a first block goes through its last steps again."""

from contextlib import closing
from dataclasses import replace

import pytest
import torch

from tests.toy import toy_engine, toy_model
from worldattention.core.sampler import RESTART_STEPS, Beginning, block_noise, denoise

STEPS = (1000.0, 900.0, 700.0, 400.0)
CPU = torch.device("cpu")


def test_a_restart_is_noise_anew_and_the_last_steps():
    """Against the Euler steps written out, with a velocity that is known."""
    noise, fresh = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    asked = []

    def velocity(latents, step):
        asked.append(step)
        return torch.sin(latents) + step

    plain = denoise(noise, STEPS, velocity)
    assert asked == [0, 1, 2, 3]
    asked.clear()
    again = denoise(noise, STEPS, velocity, [fresh])
    assert asked == [0, 1, 2, 3, 2, 3]
    assert RESTART_STEPS == 2
    x = 0.3 * plain + 0.7 * fresh
    x = x - 0.3 * (torch.sin(x) + 2)
    x = x - 0.4 * (torch.sin(x) + 3)
    torch.testing.assert_close(again, x)


def test_every_noise_is_its_own():
    noises = Beginning(deviation=0.5, restarts=2).noises(3, 0, 0, (2, 40), CPU)
    assert len(noises) == 3
    assert torch.equal(noises[0][0], 0.5 * block_noise(3, 0, (2, 40)))
    for i in range(3):
        for j in range(i):
            assert abs(float((noises[i] * noises[j]).mean())) < 0.5 * 0.25
    (later,) = Beginning(deviation=0.5, restarts=2).noises(3, 5, 4, (2, 40), CPU)
    assert torch.equal(later[0], 0.5 * block_noise(3, 5, (2, 40)))


@pytest.mark.parametrize("unseen", [0, 2])
def test_noise_of_a_worlds_first_scene_repeats_with_its_frames(unseen):
    """Frame t, counted from the first that is made, begins with noise t mod 5, in blocks of 2 frames."""
    beginning = Beginning(deviation=0.5, period=5, restarts=1, unseen=unseen)
    known = 0.5 * block_noise(7, 0, (1, 5, 40))[0]
    for block in range(-unseen, 9):
        first = 2 * (block + unseen)
        noises = beginning.noises(7, block, 0, (2, 40), CPU)
        assert torch.equal(noises[0][0], known[[first % 5, (first + 1) % 5]])
        assert len(noises) == 1 + (block == -unseen), (
            "the first that is made goes through its last steps again"
        )
    again = beginning.noises(7, -unseen, 0, (2, 40), CPU)[1]
    assert torch.equal(again[0], 0.5 * block_noise(7, 0, (1, 5, 40), 1)[0, :2])


def test_all_blocks_of_a_later_scene_begin_with_one_noise():
    beginning = Beginning(deviation=0.5, period=5, restarts=1, unseen=2)
    for block in range(3, 7):
        (noise,) = beginning.noises(7, block, 3, (2, 40), CPU)
        assert torch.equal(noise[0], 0.5 * block_noise(7, 3, (2, 40)))


def first_latents(engine):
    """A list that gets what every block begins with."""
    begins, predict = [], engine._passes.predict

    def watched(latents, timestep, *others):
        if timestep == engine._timesteps[0]:
            begins.append(latents.clone())
        return predict(latents, timestep, *others)

    engine._passes.predict = watched
    return begins


def test_a_scene_keeps_its_noise_until_its_prompt_ends():
    """One that comes back begins anew: were its noise the same, it would look as if it were remembered."""
    engine = toy_engine(model=replace(toy_model(), beginning=Beginning(period=3)))
    begins, said = first_latents(engine), ["the sea", "the sea", "a wood", "a wood", "the sea", "the sea"]
    try:
        for prompt in said:
            engine.step(prompt)
        shape = engine.geometry.latent_shape
        for begin, scene in zip(begins, [0, 0, 2, 2, 4, 4], strict=True):
            assert torch.equal(begin[0], block_noise(engine.config.seed, scene, shape))
        begins.clear()
        with closing(engine.fork_at(3)) as past:  # and so do its branches
            past.step("a wood")
            assert torch.equal(past.latents(3), engine.latents(3))
    finally:
        engine.close()


def counted(engine):
    """A list that gets an entry for every pass of the engine that predicts."""
    counts, predict = [], engine._passes.predict
    engine._passes.predict = lambda *arguments: counts.append(0) or predict(*arguments)
    return counts


@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_only_the_first_block_of_a_world_is_made_so(restarts):
    beginning = Beginning(restarts=restarts)
    plain, other = toy_engine(), toy_engine(model=replace(toy_model(), beginning=beginning))
    passes = counted(plain), counted(other)
    try:
        for block, prompt in enumerate(("a red ball", "a red ball", "the sea", "the sea")):
            before = [len(counts) for counts in passes]
            plain.step(prompt)
            other.step(prompt)
            asked = [len(counts) - then for counts, then in zip(passes, before, strict=True)]
            assert asked[0] == len(STEPS), "the context's pass predicts nothing"
            assert asked[1] == len(STEPS) + RESTART_STEPS * restarts * (block == 0)
            same = torch.equal(plain.latents(block), other.latents(block))
            assert same == (restarts == 0)
    finally:
        plain.close()
        other.close()
