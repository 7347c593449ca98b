"""A disk a hundred times slower under everything that a sitting writes: the window's own thread never waits for it."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.faulty_disk import SlowDisk
from tests.test_gui_heartbeat import BEAT_MS, Heartbeat
from tests.toy import toy_config, toy_model
from worldattention.core.engine import Engine
from worldattention.core.hkv import disk
from worldattention.core.session import Session
from worldattention.core.timeline import Event, make_timeline

SLOW_S = 0.1
"""A call of a disk takes a millisecond at most; and one of these on the window's thread alone would be a stall."""
STALL_MS = 50
PAGE_BYTES = 8 * 6144  # of the toy
STORY = make_timeline([Event(n + 1, n, n + 1.0, f"a {('red', 'blue')[n % 2]} house") for n in range(40)])
SCHEDULED = Path("/proc/thread-self/schedstat")


class Pulse(Heartbeat):
    """Beats of the window's thread, and of each how long it was asleep: it neither ran nor waited for a processor.

    That is what a disk would cause, and other programs on the machine would not.
    """

    def __init__(self):
        self.asleep = []
        self._scheduled = self._so_far()
        super().__init__()

    def _so_far(self):
        if not SCHEDULED.exists():
            return 0.0
        ran, waited, _ = map(int, SCHEDULED.read_text().split())
        return (ran + waited) / 1e6

    def _beat(self):
        super()._beat()
        before, self._scheduled = self._scheduled, self._so_far()
        self.asleep.append(self.beats[-1] - (self._scheduled - before))


class Slowed:
    """Every call to the disk takes `delay_s` longer; `here`: those that the window's thread made."""

    def __init__(self, monkeypatch):
        self.delay_s, self.here, self.seen = 0.0, [], set()
        for name in ("pwrite", "pread", "fsync", "replace", "unlink", "mkdir", "scandir"):
            monkeypatch.setattr(os, name, self._slowed(name, getattr(os, name)))

    def _slowed(self, name, real):
        def call(*arguments, **options):
            self.seen.add(name)
            if threading.current_thread() is threading.main_thread():
                self.here.append(name)
            time.sleep(self.delay_s)
            return real(*arguments, **options)

        return call


@pytest.mark.parametrize(
    ("phases", "blocks"),
    [(2, 4), pytest.param(20, 6, marks=pytest.mark.endurance)],
)
@pytest.mark.timeout(600)
def test_case_10_a_slow_disk_stalls_no_window(make_window, qtbot, tmp_path, monkeypatch, phases, blocks):
    """Frames, telemetry, latents, pages and unsaved work are all written and read, and none by the window's thread.

    The disk is slow in every other phase of `blocks` blocks, so that both are beaten under the same load.
    """
    slowed, pages = Slowed(monkeypatch), SlowDisk(0.0)
    monkeypatch.setattr(disk, "DiskIO", lambda: pages)
    quotas = {"device_quota_bytes": PAGE_BYTES, "dram_quota_bytes": PAGE_BYTES, "folder": tmp_path / "pages"}

    def open_engine(_config, _progress):
        return Engine(toy_model(), toy_config(read_deadline_ms=250.0, write_through=True, **quotas))

    one = make_window(STORY, remember=True, setup={"open_engine": open_engine, "open_session": Session})
    qtbot.waitUntil(lambda: one.library.autosave is not None and one.world.blocks > 0, timeout=120_000)
    slowed.here.clear()  # what a start reads
    worst = {False: [], True: []}
    late = {False: [], True: []}
    for phase in range(phases):
        slow = phase % 2 == 1
        slowed.delay_s = pages.delay_s = SLOW_S if slow else 0.0
        heart = Pulse()
        for number in range(blocks * phase + 1, blocks * (phase + 1) + 1):
            one.model.open(make_timeline([*STORY.events[:20], Event(99, 50, 60, f"edit {number}")]))
            one.library.autosave._timer.timeout.emit()
            qtbot.waitUntil(lambda number=number: one.world.blocks > number, timeout=120_000)
            one.world.playback.show_moment(12 * (number // 3))
            one.world.playback.back_to_live()
        assert heart.summary()["beats"] > blocks
        worst[slow].append(max(heart.asleep) - BEAT_MS)
        late[slow] += heart.beats
    slowed.delay_s = pages.delay_s = 0.0
    told = {slow: (float(np.median(worst[slow])), float(np.quantile(late[slow], 0.99))) for slow in worst}
    print(f"asleep at most (median of phases), p99 of beats, ms: normal {told[False]}, slow {told[True]}")
    assert slowed.here == []
    assert {"pwrite", "fsync", "replace"} <= slowed.seen
    assert told[True][0] < max(STALL_MS, told[False][0] + STALL_MS / 2)
    if phases > 2:
        assert told[True][1] < told[False][1] + STALL_MS
