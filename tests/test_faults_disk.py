"""The n-th call to the disk fails, for every n: the world goes on, and no page is ever taken for another."""

import errno
import fcntl
import os
from itertools import count

import numpy as np
import pytest

from tests.faulty_disk import FAULTS, FaultyDisk, PageWorld
from tests.toy import toy_engine
from worldattention.core.hkv import disk, session

PROMPTS = ["red ball"] * 9 + ["blue house"] * 9 + ["red ball"] * 4
PAGE_BYTES = 8 * 6144  # of the toy


def run_until_nothing_is_hit(folder, fault, once, step):
    """How many faults a run of pages has met and outlived."""
    for nth in count(0, step):
        io = FaultyDisk(fault, nth, once)
        world = PageWorld(folder / f"{nth}", io)
        world.run()
        world.close()
        assert [path.name for path in (folder / f"{nth}").rglob("*")] == []
        if not io.was_hit:
            return nth


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.endurance), 11])
@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
def test_case_10_every_call_may_fail(tmp_path, fault, once, step):
    assert run_until_nothing_is_hit(tmp_path, fault, once, step) > 30


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("site", ["cache", "session-", "lock", "flock", session.MARKER])
def test_a_session_folder_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch, site, code):
    """Cache folder, session folder, lock and marker: each may fail, and the world goes on in memory."""
    hits = count()

    def failing(real, own_site=None):
        def call(place, *arguments, **options):
            name = own_site or os.path.basename(place)
            if name == site or (site == "session-" and name.startswith(site)):
                next(hits)
                raise OSError(code, os.strerror(code))
            return real(place, *arguments, **options)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", failing(os.mkdir))
        patch.setattr(os, "open", failing(os.open))
        patch.setattr(fcntl, "flock", failing(fcntl.flock, "flock"))
        world = PageWorld(tmp_path / "cache")
        world.run()
        world.close()
    assert next(hits) >= 1
    assert sum("disk tier is off" in notice for notice in world.notices) == 1
    assert list((tmp_path / "cache").glob("*")) == []


@pytest.mark.parametrize(
    ("fault", "operation", "once"),
    [("EIO", "read", True), ("end", "read", False), ("ENOSPC", "write", False), ("EIO", "replace", True)],
)
def test_frames_are_those_of_a_world_without_what_the_disk_lost(
    tmp_path, monkeypatch, fault, operation, once
):
    """Each block equals, bit for bit, that of a world in memory which uses the pages that its record names."""
    io = FaultyDisk(fault, 1, once, operation)
    with monkeypatch.context() as patch:
        patch.setattr(disk, "DiskIO", lambda: io)
        engine = toy_engine(
            recall_every_blocks=2, folder=tmp_path, device_quota_bytes=PAGE_BYTES, dram_quota_bytes=PAGE_BYTES
        )
    frames, records = [engine.step(prompt).frames for prompt in PROMPTS], list(engine.records)
    lost = sum(tier.misses + tier.drops for tier in engine.bank.usage())
    engine.close()
    assert io.was_hit
    assert lost > 0
    assert any(record.pages for record in records)
    other = toy_engine(recall_every_blocks=2, disk_quota_bytes=0)
    for record, expected in zip(records, frames, strict=True):
        assert np.array_equal(other.step(record.prompt, replay=record).frames, expected)
    other.close()
