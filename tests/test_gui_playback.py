"""The clock by an hour hand of our own: exactly 16 frames a second, none skipped, none early."""

import pytest

from tests.fakes_window import picture
from worldattention.app import playback
from worldattention.app.playback import Playback
from worldattention.app.reel import Reel


class HandClock:
    """Time that only the test moves; the playback's timer is answered by hand."""

    def __init__(self, monkeypatch, qapp):
        self.now = 100.0
        monkeypatch.setattr(playback.time, "perf_counter", lambda: self.now)
        self.reel = Reel()
        self.playback = Playback(self.reel)
        self.playback._timer.blockSignals(True)
        self.shown = []
        self.playback.moved.connect(lambda: self.shown.append((self.now, self.playback.position)))

    def run(self, seconds, late=lambda: 0.0, step=0.001):
        end = self.now + seconds
        due = self.now + self.playback._timer.interval() / 1000
        while self.now < end:
            self.now += step
            if self.now >= due and self.playback.running and not self.playback._waiting:
                self.now += late()
                self.playback._tick()
                due = self.now + self.playback._timer.interval() / 1000


@pytest.fixture
def clock(monkeypatch, qapp):
    made = HandClock(monkeypatch, qapp)
    yield made
    made.reel.close()


def blocks(reel, count):
    for block in range(count):
        reel.append(0, picture(block, "x"))


def test_sixteen_frames_a_second_without_drift(clock):
    blocks(clock.reel, 30)
    clock.playback.play()
    clock.playback._tick()
    clock.run(20.0)
    assert clock.playback.position == pytest.approx(320, abs=1)
    positions = [position for _, position in clock.shown]
    assert positions == sorted(positions)
    assert set(positions) == set(range(clock.playback.position + 1))


def test_a_late_window_catches_up_a_little_and_skips_nothing(clock):
    blocks(clock.reel, 30)
    clock.playback.play()
    clock.playback._tick()
    delays = iter([0.05, 0.0, 0.1, 0.0, 0.0, 0.4] * 100)
    clock.run(8.0, late=lambda: next(delays))
    positions = [position for _, position in clock.shown]
    assert set(positions) == set(range(max(positions) + 1))
    assert max(positions) <= 16 * 8 + 1


def test_it_waits_for_frames_and_goes_on_at_once(clock):
    blocks(clock.reel, 1)
    clock.playback.play()
    clock.playback._tick()
    clock.run(3.0)
    assert clock.playback.position == 11
    assert clock.playback.waiting
    clock.reel.append(0, picture(1, "x"))
    clock.playback.wake()
    clock.playback._tick()
    assert clock.playback.position == 12
    clock.run(0.5)
    assert clock.playback.position == pytest.approx(20, abs=1)


def test_play_from_a_parked_playhead_starts_at_the_newest_frame(clock):
    blocks(clock.reel, 2)
    clock.playback.seek(500)
    assert (clock.playback.position, clock.playback.playing) == (500, False)
    clock.playback.play()
    assert clock.playback.position == 23
    clock.playback.seek(-5)
    assert clock.playback.position == 0


def test_the_past_is_looked_at_while_the_world_goes_on(clock):
    blocks(clock.reel, 20)
    clock.playback.play()
    clock.playback._tick()
    clock.run(5.0)
    live = clock.playback.live
    clock.playback.show_moment(7)
    clock.run(2.0)
    assert (clock.playback.position, clock.playback.playing, clock.playback.running) == (7, False, True)
    assert clock.playback.live == pytest.approx(live + 32, abs=1)
    clock.playback.toggle()  # the past plays, as far behind as it is
    behind = clock.playback.live - clock.playback.position
    clock.run(1.0)
    assert clock.playback.position == pytest.approx(23, abs=1)
    assert clock.playback.live - clock.playback.position == behind
    clock.playback.toggle()
    assert (clock.playback.playing, clock.playback.running) == (False, True)
    clock.playback.back_to_live()
    assert (clock.playback.position, clock.playback.past, clock.playback.playing) == (
        clock.playback.live,
        False,
        True,
    )


def test_the_played_past_catches_up_with_a_world_that_waits(clock):
    blocks(clock.reel, 3)
    clock.playback.play()
    clock.playback._tick()
    clock.run(3.0)
    assert clock.playback.waiting
    clock.playback.seek(10)
    clock.playback._tick()
    clock.run(3.0)
    assert (clock.playback.position, clock.playback.past, clock.playback.waiting) == (35, False, True)
    clock.reel.append(0, picture(3, "x"))
    clock.playback.wake()
    clock.playback._tick()
    assert (clock.playback.position, clock.playback.past) == (36, False)


def test_a_paused_world_stays_paused_in_the_past(clock):
    blocks(clock.reel, 3)
    clock.playback.play()
    clock.playback._tick()
    clock.run(1.0)
    clock.playback.pause()
    clock.playback.show_moment(3)
    assert (clock.playback.position, clock.playback.past, clock.playback.running) == (3, True, False)
    clock.playback.back_to_live()
    assert (clock.playback.position, clock.playback.running) == (35, False)
    clock.playback.show_moment(10_000)
    assert clock.playback.position == 35


@pytest.mark.parametrize("wait", [3.0, 6.0])
def test_the_rate_of_a_slow_world_counts_its_waits_however_long(clock, wait):
    """A block in six seconds is two frames a second, also while the frames of one run past at sixteen."""
    blocks(clock.reel, 1)
    clock.playback.play()
    clock.playback._tick()
    for block in range(1, 4):
        clock.run(wait)
        clock.reel.append(0, picture(block, "x"))
        clock.playback.wake()
        clock.playback._tick()
    clock.run(0.6)
    assert 9 / (wait + 1) <= clock.playback.shown_fps <= 25 / (wait + 0.5)
