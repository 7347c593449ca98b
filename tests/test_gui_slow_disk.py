"""A disk a hundred times slower under everything that a sitting writes: the window's own thread never waits for it."""

import os
import threading
import time

import pytest

from tests.faulty_disk import SlowDisk
from tests.test_gui_heartbeat import Heartbeat
from tests.toy import toy_config, toy_model
from worldattention.core.engine import Engine
from worldattention.core.hkv import disk
from worldattention.core.session import Session
from worldattention.core.timeline import Event, make_timeline

SLOW_S = 0.03
PAGE_BYTES = 8 * 6144  # of the toy
STORY = make_timeline([Event(n + 1, n, n + 1.0, f"a {('red', 'blue')[n % 2]} house") for n in range(40)])


@pytest.mark.parametrize("blocks", [8, pytest.param(100, marks=pytest.mark.endurance)])
@pytest.mark.timeout(600)
def test_case_10_a_slow_disk_stalls_no_window(make_window, qtbot, tmp_path, monkeypatch, blocks):
    """Frames, telemetry, latents, pages and unsaved work are all written and read, and none by the window's thread."""
    here, calls = [], []

    def slowed(name, real):
        def call(*arguments):
            calls.append(name)
            if threading.current_thread() is threading.main_thread():
                here.append(name)
            time.sleep(SLOW_S)
            return real(*arguments)

        return call

    for name in ("pwrite", "pread", "preadv", "fsync"):
        monkeypatch.setattr(os, name, slowed(name, getattr(os, name)))
    pages = SlowDisk(SLOW_S)
    monkeypatch.setattr(disk, "DiskIO", lambda: pages)
    quotas = {"device_quota_bytes": PAGE_BYTES, "dram_quota_bytes": PAGE_BYTES, "folder": tmp_path / "pages"}

    def open_engine(_config, _progress):
        return Engine(toy_model(), toy_config(read_deadline_ms=250.0, write_through=True, **quotas))

    one = make_window(STORY, remember=True, setup={"open_engine": open_engine, "open_session": Session})
    qtbot.waitUntil(lambda: one.library.autosave is not None and one.world.blocks > 0, timeout=120_000)
    heart = Heartbeat()
    for number in range(1, blocks):
        one.model.open(make_timeline([*STORY.events[:20], Event(99, 50, 60, f"edit {number}")]))
        one.library.autosave._timer.timeout.emit()
        qtbot.waitUntil(lambda number=number: one.world.blocks > number, timeout=120_000)
        one.world.playback.show_moment(12 * (number // 3))
        one.world.playback.back_to_live()
    told = heart.summary()
    print(f"heartbeat over a disk of {SLOW_S} s a call: {told}")
    assert here == []
    assert {"pwrite", "fsync"} <= set(calls)
    assert told["beats"] > blocks
