"""A world's first block goes through its last steps again: what few steps left open is decided."""

from dataclasses import replace

import pytest
import torch

from tests.toy import toy_engine, toy_model
from worldattention.core.sampler import RESTART_STEPS, block_noise, block_noises, denoise

STEPS = (1000.0, 900.0, 700.0, 400.0)


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
    noises = block_noises(3, 5, (2, 40), 2, torch.device("cpu"))
    assert len(noises) == 3
    assert torch.equal(noises[0][0], block_noise(3, 5, (2, 40)))
    for i in range(3):
        for j in range(i):
            assert abs(float((noises[i] * noises[j]).mean())) < 0.5


def counted(engine):
    """A list that gets an entry for every pass of the engine that predicts."""
    counts, predict = [], engine._passes.predict
    engine._passes.predict = lambda *arguments: counts.append(0) or predict(*arguments)
    return counts


@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_only_the_first_block_of_a_world_is_made_so(restarts):
    plain, other = toy_engine(), toy_engine(model=replace(toy_model(), restarts=restarts))
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
