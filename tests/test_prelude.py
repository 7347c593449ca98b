"""A world that begins before it is shown: its first blocks are those that another world makes a little later."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.toy import toy_engine, toy_model
from worldattention.core.config import SamplerConfig, with_choices
from worldattention.core.errors import Cancelled
from worldattention.core.prelude import hurried
from worldattention.core.sampler import Beginning

UNSEEN, LED = 2, 3
FIRST = 4 + 2 + (UNSEEN - 1) * 2
"""Passes for what nobody sees: a block of four steps and a restart of two, then two a block."""
PROMPT = "a red ball"


@pytest.fixture
def make():
    """Engines over one toy model that begins in a given way, closed at the end."""
    engines, model = [], toy_model()

    def engine(unseen=UNSEEN, led=LED, **cache):
        beginning = Beginning(period=5, restarts=1, unseen=unseen, led=led)
        engines.append(toy_engine(model=replace(model, beginning=beginning), **cache))
        return engines[-1]

    yield engine
    for each in engines:
        each.close()


def passes_of(engine):
    """A list that gets an entry for every denoising pass of the engine."""
    counts, predict = [], engine._passes.predict
    engine._passes.predict = lambda *arguments: counts.append(0) or predict(*arguments)
    return counts


def test_a_world_begins_with_the_blocks_that_follow_what_nobody_sees(make):
    """Against a world that is shown from its first block on, which has the same noise in every frame; with two steps,
    since what nobody sees takes no more."""
    shown, led = make(unseen=0), make()
    for engine in (shown, led):
        engine.configure(replace(engine.config, sampler=SamplerConfig(timesteps=(1000, 400))))
    early = [shown.step(PROMPT) for _ in range(UNSEEN + LED)]
    for block in range(LED):
        got, expected = led.step(PROMPT), early[block + UNSEEN]
        torch.testing.assert_close(led.latents(block), shown.latents(block + UNSEEN))
        np.testing.assert_allclose(got.telemetry.density, expected.telemetry.density, atol=1e-6)
        assert got.telemetry.block == block
        assert sum(span.frames for span in got.telemetry.window) == 3 * (block + 1), "it is not in the window"
    assert not torch.equal(led.latents(0), shown.latents(0)), "something went before"
    led.step(PROMPT)
    assert led._prelude.complete
    assert led._prelude._memory is None, "keys and values are given back"


def test_it_is_made_block_by_block(make):
    """What is unseen takes time once; a block that is led takes no more passes than another."""
    engine = make()
    passes, steps = passes_of(engine), len(engine.config.sampler.timesteps)
    for block in range(LED + 2):
        before = len(passes)
        engine.step(PROMPT)
        assert len(passes) - before == steps + FIRST * (block == 0)


def test_what_nobody_sees_goes_through_the_first_and_the_last_step(make):
    """But for the very first block, which decides what the world looks like."""
    engine = make()
    asked, predict = [], engine._passes.predict
    engine._passes.predict = lambda latents, timestep, *others: (
        asked.append(timestep) or predict(latents, timestep, *others)
    )
    engine.step(PROMPT)
    first, second, third, last = engine._timesteps
    assert asked == [first, second, third, last, third, last, first, last, first, second, third, last]
    assert hurried((1000.0,)) == (1000.0,)


def test_it_tells_how_far_it_is(make):
    engine, shares = make(), []
    assert engine.awake == 0.0
    engine.step(PROMPT, lambda: shares.append(engine.awake) or False)
    assert list(dict.fromkeys(shares)) == [0.0, 0.5, 1.0]
    assert engine.awake == 1.0
    engine.reset()
    assert engine.awake == 0.0
    assert make(unseen=0, led=0).awake == 1.0


def test_another_prompt_ends_it_for_good(make):
    engine, led = make(), make()
    for _ in range(LED):
        led.step(PROMPT)
    engine.step(PROMPT)
    engine.step("the sea")
    assert engine._prelude is None
    engine.step(PROMPT)
    assert engine._prelude is None
    assert torch.equal(engine.latents(0), led.latents(0))
    assert not torch.equal(engine.latents(2), led.latents(2))


def test_another_setting_ends_it_for_good(make):
    engine, led = make(), make()
    for _ in range(LED):
        led.step(PROMPT)
    first = engine.config
    engine.step(PROMPT)
    engine.configure(with_choices(first, attention="dense"))
    engine.step(PROMPT)
    assert engine._prelude is None
    engine.configure(first)
    engine.step(PROMPT)
    assert engine._prelude is None
    assert not torch.equal(engine.latents(2), led.latents(2))


@pytest.mark.parametrize("block", range(LED + 1))
@pytest.mark.parametrize("made", [LED, LED + 2])
def test_the_past_goes_on_with_equal_frames(make, block, made):
    engine = make()
    results = [engine.step(PROMPT) for _ in range(made)]
    with closing(engine.fork_at(block)) as past:
        for expected in results[block:]:
            assert (past.step(PROMPT).frames == expected.frames).all()


def test_who_goes_back_to_the_beginning_does_not_wait_again(make):
    engine = make()
    for _ in range(LED + 1):
        engine.step(PROMPT)
    for block in range(LED):
        with closing(engine.fork_at(block)) as past:
            passes = passes_of(past)
            past.step(PROMPT)
            assert not passes
            past.step("the sea")
            assert len(passes) == len(past.config.sampler.timesteps)
            assert not torch.equal(past.latents(block + 1), engine.latents(block + 1))


@pytest.mark.parametrize("kept", range(LED + 1))
def test_a_world_that_was_saved_while_it_began_goes_on_with_equal_frames(make, kept):
    engine, restored = make(), make()
    results = [engine.step(PROMPT) for _ in range(LED + 1)]
    for block in range(kept):
        restored.relive(engine.records[block], engine.latents(block))
    restored.restore_decoder()
    for block, expected in enumerate(results[kept:], kept):
        assert (restored.step(PROMPT, replay=engine.records[block]).frames == expected.frames).all()


def test_two_worlds_of_one_beginning_do_not_disturb_each_other(make):
    engine = make()
    first = engine.step(PROMPT)
    with closing(engine.fork()) as other:
        second = other.step(PROMPT)
        other.step("the sea")
        assert (engine.step(PROMPT).frames == second.frames).all()
    third = engine.step(PROMPT)
    engine.reset()
    assert (engine.step(PROMPT).frames == first.frames).all()
    engine.step(PROMPT)
    assert (engine.step(PROMPT).frames == third.frames).all()
    engine.reset(seed=1)
    assert not (engine.step(PROMPT).frames == first.frames).all(), "another seed, another world"


@pytest.mark.parametrize("after", [0, 3, 9, 10, 14])
def test_what_was_made_when_it_was_cancelled_is_not_made_again(make, after):
    engine, other = make(), make()
    asked = 0

    def cancel():
        nonlocal asked
        asked += 1
        return asked > after

    passes = passes_of(engine)
    with pytest.raises(Cancelled):
        engine.step(PROMPT, cancel)
    assert engine.block == 0
    assert not engine.records
    before = len(passes)
    assert (engine.step(PROMPT).frames == other.step(PROMPT).frames).all()
    steps = len(engine.config.sampler.timesteps)
    whole = FIRST + steps
    assert len(passes) - before <= whole, "no block twice"
    if before >= steps + 2:
        assert len(passes) - before < whole


def test_pages_that_come_back_by_the_clock_end_it(make):
    """A block that recalls looks at its own window, and so do those behind it."""
    engine = make(led=8, recall_every_blocks=4)
    for _ in range(8):
        engine.step(PROMPT)
    recalled = [record.recalled for record in engine.records]
    assert recalled == [False] * 4 + [True] + [False] * 3
    assert engine._prelude is None
    other = make(led=8)
    for _ in range(8):
        other.step(PROMPT)
    same = [torch.equal(engine.latents(block), other.latents(block)) for block in range(8)]
    assert same[:4] == [True] * 4
    assert not any(same[4:])


def test_whoever_looks_at_every_layer_sees_the_passes_of_a_prelude(make):
    engine, seen = make(), []
    engine.attention_observer = lambda layer, *_: seen.append(layer)
    engine.step(PROMPT)
    layers, steps = engine.model.layers, len(engine.config.sampler.timesteps)
    assert len(seen) >= layers * (FIRST + steps)
