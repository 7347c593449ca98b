"""A prompt switch by an hour hand of our own: the picture slows down for the late block, and hardly ever stands."""

import time
from contextlib import ExitStack

import numpy as np
import pytest

from tests.fakes_window import FakeSession, Script, opener, picture
from tests.test_gui_playback import HandClock
from worldattention.app.pace import KNOWN_FROM, Pace
from worldattention.app.world import World
from worldattention.core.config import EngineConfig
from worldattention.core.timeline import Event, make_timeline

FRAME = 1 / 16
USUAL, LATE = 0.6, 0.9  # seconds of a block; that of a new prompt takes one and a half times as long


class Sitting:
    """A worker and a playback on one clock: `seconds(block, new)` is what a block takes."""

    def __init__(self, clock, seconds, tells=True):
        self.clock, self.seconds, self.tells = clock, seconds, tells
        self.pace, self.block, self.switches = Pace(), 0, set()
        self._end, self._steps, self._making = None, [], ExitStack()
        clock.playback.play()
        clock.playback._tick()

    def enter(self):
        """Enter is pressed: the next block that is begun is of a new prompt."""
        self.pace.hurry()
        self.switches.add(self.block + (self._end is not None))

    def run(self, seconds):
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now += 0.001
            self._work()
            playback = self.clock.playback
            if self.clock.now >= playback._due and not playback._waiting:
                playback._tick()

    def _work(self):
        playback, reel = self.clock.playback, self.clock.reel
        if self._end is None and reel.made - playback.live <= self.pace.frames_ahead(12):
            new = self.block in self.switches
            due = self._making.enter_context(self.pace.block(new))
            playback.expect(due if self.tells else None)
            seconds, count = self.seconds(self.block, new), 7 if new else 6
            self._steps = [self.clock.now + seconds * step / count for step in range(count)]
            self._end = self.clock.now + seconds
        elif self._end is not None and self._steps and self.clock.now >= self._steps[0]:
            del self._steps[0]
            due = self.pace.went_on()
            if due is not None and self.tells:
                playback.expect(due)
        elif self._end is not None and self.clock.now >= self._end:
            self._making.close()
            reel.append(0, picture(self.block, "x"))
            self.block, self._end = self.block + 1, None
            if playback._waiting:
                playback.wake()
                playback._tick()

    def shown(self, since=0.0):
        return [(now, position) for now, position in self.clock.shown if now >= since]

    def longest_gap(self, since):
        moments = [now for now, _ in self.shown(since)]
        return max(np.diff(moments))


@pytest.fixture
def clock(monkeypatch, qapp):
    made = HandClock(monkeypatch, qapp)
    yield made
    made.reel.close()


def switch(one, moment):
    """Seconds from Enter at `moment` of a block until its first frame, and the longest gap meanwhile."""
    one.run(9.0 + moment)
    entered = one.clock.now
    one.enter()
    first = 12 * max(one.switches)
    one.run(3.0)
    seen = next(now for now, position in one.shown() if position == first)
    gaps = np.diff([now for now, _ in one.shown(entered - FRAME) if now <= seen])
    return seen - entered, max(gaps)


@pytest.mark.parametrize("moment", np.arange(0, 0.75, 0.11))
def test_a_switch_that_takes_half_as_long_again_leaves_no_standing_picture(clock, moment):
    seconds, gap = switch(Sitting(clock, lambda _block, new: LATE if new else USUAL), moment)
    assert gap <= 1.6 * FRAME
    assert seconds <= 1.75


def test_without_being_told_the_picture_stands(clock):
    """The control: the same sitting, with a playback that does not know what comes."""
    one = Sitting(clock, lambda _block, new: LATE if new else USUAL, tells=False)
    assert switch(one, 0.74)[1] > 2 * FRAME


@pytest.mark.parametrize("slower", [1.7, 2.0])
def test_a_switch_that_takes_longer_than_thought_leaves_a_short_one(clock, slower):
    one = Sitting(clock, lambda _block, new: slower * USUAL if new else USUAL)
    assert switch(one, 0.5)[1] < 0.3
    one.run(6.0)
    assert switch(one, 0.0)[1] <= 2 * FRAME + 0.005  # by then it is known what a switch takes


@pytest.mark.parametrize("slow", [0.8, 1.2, 1.6])
def test_a_block_that_the_machine_slows_down_leaves_no_standing_picture(clock, slow):
    """Two blocks are up to 2.7 times as slow as those before: so are its steps, and the picture knows."""
    one = Sitting(clock, lambda block, _new: slow if block in (14, 15) else USUAL)
    one.run(9.0)
    begin = clock.now
    one.run(3.0)
    assert one.longest_gap(begin) <= 3 * FRAME + 0.003


def test_a_world_that_is_quick_enough_plays_sixteen_frames_a_second_however_its_blocks_vary(clock):
    draw = np.random.default_rng()
    one = Sitting(clock, lambda _block, _new: draw.uniform(0.45, 0.74))
    one.run(3.0)
    begin = clock.now
    one.run(12.0)
    assert one.longest_gap(begin) <= FRAME + 0.003
    assert len(one.shown(begin)) == pytest.approx(16 * 12, abs=2)


def test_a_slow_world_plays_evenly(clock):
    one = Sitting(clock, lambda _block, _new: 1.0)
    one.run(8.0)
    begin = clock.now
    one.run(8.0)
    assert one.longest_gap(begin) <= 1 / 12 + 0.02
    assert one.clock.playback.shown_fps == pytest.approx(12, abs=0.5)


class Stepping(FakeSession):
    """Asks five times a block whether to go on, at even distances, as a model does between its passes."""

    def step(self, cancel=None):
        for _ in range(5):
            cancel()
            time.sleep(self.engine.script.step_s)
        return super().step(cancel)


def test_the_picture_is_told_when_a_block_will_be_there_and_when_that_changes(qtbot, monkeypatch):
    script = Script(step_s=0.02, load_s=0.01)
    world = World(opener(script), Stepping, EngineConfig(), make_timeline([Event(1, 0.0, 600.0, "a boat")]))
    told, known, expect = [], 1 + KNOWN_FROM, world.playback.expect
    monkeypatch.setattr(world.playback, "expect", lambda moment: (told.append(moment), expect(moment)))
    try:
        world.start()
        world.playback.play()
        qtbot.waitUntil(lambda: len(told) > known + 1, timeout=20000)
        assert told[:known] == [None] * known
        assert all(moment is not None for moment in told[known:])
        script.step_s = 0.3
        # one moment for every block that is begun once the pace is known; more are said while one is made
        qtbot.waitUntil(lambda: len(told) - told.count(None) > world.blocks - known + 1, timeout=20000)
    finally:
        assert world.close()
