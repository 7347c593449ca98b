"""When the next block is begun: no sooner than needed, so that a prompt shows soon, and early enough."""

import math
import time

import numpy as np
import pytest

from tests.test_gui_worker import Desk
from worldattention.app import messages as m
from worldattention.app import pace
from worldattention.app.pace import DEARER, KNOWN_FROM, REMEMBERED_BLOCKS, SWITCH_MARGIN, Pace


class Clock:
    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    one = Clock()
    monkeypatch.setattr(pace, "time", one)
    return one


def make(one, clock, seconds):
    with one.block():
        clock.now += seconds


def fail(one):
    with one.block():
        raise ZeroDivisionError


def test_a_block_is_begun_a_little_and_a_frame_before_the_frames_run_out(clock):
    one = Pace()
    for _ in range(KNOWN_FROM):
        assert one.frames_ahead(12) == 12
        make(one, clock, 0.05)
    assert one.frames_ahead(12) == 2  # 0.05 s are 0.8 frames
    make(one, clock, 0.3)
    assert one.frames_ahead(12) == 7
    make(one, clock, 5.0)
    assert one.frames_ahead(12) == 12  # never more than a block
    for _ in range(REMEMBERED_BLOCKS):
        make(one, clock, 0.05)
    assert one.frames_ahead(12) == 2


def test_a_new_prompt_of_the_timeline_is_begun_sooner_by_what_switches_take_and_leaves_the_others_as_they_are(
    clock,
):
    one = Pace()
    for _ in range(KNOWN_FROM):
        make(one, clock, 0.2)
    assert (one.frames_ahead(12), one.frames_ahead(12, new_prompt=True)) == (5, 7)
    with one.block(new_prompt=True):
        clock.now += 0.4
    assert (one.frames_ahead(12), one.frames_ahead(12, new_prompt=True)) == (5, 9)


def test_a_worlds_first_block_tells_nothing_of_those_behind_it(clock):
    """More is made before it than is shown."""
    one = Pace()
    one.hurry()
    with one.block(first=True):
        clock.now += 5.0
    assert one.frames_ahead(12) == 12, "it is hurried no more"
    for _ in range(KNOWN_FROM):
        make(one, clock, 0.05)
    assert one.frames_ahead(12) == 2
    with one.block() as due:
        assert due - clock.now == pytest.approx(0.05)


def test_a_prompt_is_hurried_for_one_block(clock):
    one = Pace()
    for _ in range(KNOWN_FROM):
        make(one, clock, 0.05)
    one.hurry()
    assert one.frames_ahead(12) == 18
    with pytest.raises(ZeroDivisionError):
        fail(one)
    assert one.frames_ahead(12) == 18  # the block is still to be made
    make(one, clock, 0.05)
    assert one.frames_ahead(12) == 2


def test_a_block_is_due_after_the_mean_of_steady_ones_and_a_new_prompts_after_what_the_last_switches_took(
    clock,
):
    one = Pace()
    for number, seconds in enumerate((4.0, 0.4, 0.6, 0.5)):
        with one.block(first=not number) as due:
            assert due is None
            clock.now += seconds
    with one.block() as due:
        assert due - clock.now == pytest.approx(0.5)
        clock.now += 0.5
    with one.block(new_prompt=True) as due:
        assert due - clock.now == pytest.approx(0.5 * DEARER * SWITCH_MARGIN)
        clock.now += 0.6
    with one.block(new_prompt=True) as due:
        assert due - clock.now == pytest.approx(0.6 * SWITCH_MARGIN)
        clock.now += 0.6
    with one.block() as due:
        assert due - clock.now == pytest.approx(0.5)  # switches do not count here


def test_a_block_whose_steps_are_late_is_said_to_be_late_once(clock):
    one = Pace()
    for _ in range(KNOWN_FROM):
        with one.block():
            for _ in range(6):
                one.went_on()
                clock.now += 0.1
    begin, said = clock.now, []
    with one.block():
        for _ in range(6):
            said.append(one.went_on())
            clock.now += 0.2
    assert [due is not None for due in said] == [False, True, False, False, False, False]
    assert said[1] - begin == pytest.approx(1.2)


def test_frames_never_run_out_while_blocks_take_as_long_as_lately(clock):
    draw = np.random.default_rng()
    for slowest in draw.uniform(0.02, 0.72, 40):
        one = Pace()
        for _ in range(REMEMBERED_BLOCKS):
            make(one, clock, slowest * draw.uniform(0.6, 1.0))
        make(one, clock, slowest)
        assert one.frames_ahead(12) >= min(math.floor(16 * slowest) + 1, 12)


def test_a_quick_world_waits_until_few_frames_are_left_and_a_prompt_ends_the_wait(clock):
    one, known = Desk(), 1 + KNOWN_FROM  # by that clock its blocks take no time at all
    one.worker.start()
    try:
        one.post(m.SetRunning, True)
        for block in range(known):
            one.block(block)
            one.worker.played(12 * block)
        one.worker.played(12 * known - 2)
        time.sleep(0.2)
        assert one.reel.made == 12 * known
        one.worker.played(12 * known - 1)
        one.block(known)
        time.sleep(0.1)
        assert one.reel.made == 12 * known + 12
        said = one.answer(one.post(m.Say, "something else"))
        one.block(said.block)
        assert dict(one.script.steps)[said.block] == "something else"
    finally:
        assert one.worker.close(5)
        one.reel.close()
