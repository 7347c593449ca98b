"""The cache folder itself fails while a world runs: the disk tier is off, said once, and nothing else is touched."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.banks import FILE_BYTES
from tests.faulty_disk import FaultyDisk, PageWorld, SlowDisk, tmpfs
from tests.toy import toy_engine
from worldattention.core.hkv import disk
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.session import CacheSession, remove_dead_sessions


@contextmanager
def small_disk(folder: Path, size_bytes: int):
    """A file system of that size where this process may mount one, else a disk that is full after as many bytes."""
    with tmpfs(folder, size_bytes) as mounted:
        yield DiskIO() if mounted else FaultyDisk("ENOSPC", 5 * (size_bytes // FILE_BYTES), False, "write")


def session_of(folder: Path) -> Path:
    (one,) = folder.glob("session-*")
    return one


def run_on(world: PageWorld) -> int:
    """The world goes on without its disk: what it recalls is right, and it said once that the tier is off.

    Returns the bytes that the tier holds still.
    """
    world.grow(6)
    world.bank._store.flush()
    world.recall(*range(0, len(world.bank.pages), 5))
    world.grow(3)
    newest = len(world.bank.pages) - 1
    assert world.recall(newest - 1, newest) == ()
    usage = world.bank.usage()
    assert [tier.active for tier in usage] == [True, True, False]
    world.close()
    assert sum("disk tier is off" in notice for notice in world.notices) == 1
    return usage[-1].used_bytes


def test_case_12_a_disk_that_is_really_full_turns_the_tier_off_once(tmp_path, caplog):
    with small_disk(tmp_path / "small", 64 << 10) as io:
        world = PageWorld(tmp_path / "small", io, disk=10_000)
        while world.bank.usage()[-1].active:
            world.grow(4)
            world.bank._store.flush()
        assert world.bank.usage()[-1].pages > 4
        assert world.recall(0, 3) == ()
        run_on(world)
        assert list((tmp_path / "small").iterdir()) == []
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(
    "fate", ["deleted", "replaced by a link", "replaced by a file", "read-only", "unmounted"]
)
def test_case_12_a_folder_that_goes_while_a_world_runs(tmp_path, monkeypatch, fate):
    cache, elsewhere = tmp_path / "cache", tmp_path / "elsewhere"
    elsewhere.mkdir()
    world = PageWorld(cache, disk=100)
    world.grow(6)
    world.bank._store.flush()
    folder = session_of(cache)
    for page in folder.glob("*.page"):  # what another program may have of the same names
        (elsewhere / page.name).write_text("precious")
    (elsewhere / "00000099.page").write_text("precious")
    before = sorted(os.listdir(elsewhere))
    if fate in ("deleted", "replaced by a link", "replaced by a file"):
        shutil.rmtree(folder)
    if fate == "replaced by a link":
        folder.symlink_to(elsewhere)
    elif fate == "replaced by a file":
        folder.write_text("precious")
    elif fate == "read-only":
        folder.chmod(0o500)  # root may write all the same
        monkeypatch.setattr(DiskIO, "create", failing(errno.EROFS))
    elif fate == "unmounted":
        shutil.rmtree(cache)
    assert (run_on(world) > 0) == (fate == "read-only"), "what is gone holds nothing"
    assert sorted(os.listdir(elsewhere)) == before
    assert all((elsewhere / name).read_text() == "precious" for name in before)


def failing(code: int):
    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    return fail


def test_what_was_planted_in_a_session_is_neither_followed_nor_written(tmp_path):
    """Links of the names that pages are about to get lead nowhere."""
    world = PageWorld(tmp_path / "cache", disk=100)
    world.grow(3)
    world.bank._store.flush()
    folder, victim = session_of(tmp_path / "cache"), tmp_path / "victim"
    victim.write_text("precious")
    for handle in range(3, 20):
        (folder / f"{handle:08d}.page").symlink_to(victim)
        (folder / f"{handle:08d}.tmp").symlink_to(victim)
    run_on(world)
    assert victim.read_text() == "precious"
    assert victim.stat().st_nlink == 1


def test_everything_in_the_cache_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        world = PageWorld(tmp_path / "cache", disk=100)
        world.grow(5)
        world.bank._store.flush()
    finally:
        os.umask(before)
    found = {
        path.relative_to(tmp_path): stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "cache").rglob("*")
    }
    assert len(found) >= 1 + 2 + 3
    assert set(found.values()) == {0o600, 0o700}
    assert all((mode == 0o700) == (tmp_path / path).is_dir() for path, mode in found.items())
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    world.close()


def test_two_worlds_on_one_cache_folder_do_not_harm_each_other(tmp_path):
    first, second = PageWorld(tmp_path, disk=100), PageWorld(tmp_path, disk=100)
    for _ in range(3):
        first.grow(2)
        second.grow(3)
        assert remove_dead_sessions(tmp_path) == 0
        first.recall(0, 1)
        second.recall(0, 2)
    first.close()
    assert len(list(tmp_path.glob("session-*"))) == 1
    assert second.recall(*range(7)) == ()
    assert second.missed == first.missed == 0
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_session_forgets_a_folder_that_is_no_longer_its_own(tmp_path):
    session, other = CacheSession(tmp_path / "cache"), CacheSession(tmp_path / "other")
    shutil.rmtree(session.folder)
    session.folder.symlink_to(other.folder)
    with pytest.raises(OSError, match="replaced"):
        session.check()
    session.close()
    other.check()
    assert len(list(other.folder.iterdir())) == 2
    other.close()


def test_a_hundredfold_slower_disk_costs_a_block_no_more_than_its_deadline(tmp_path, monkeypatch):
    """What a block waits for pages is at most the deadline, and the pages that came too late are counted."""
    slow, deadline_s = SlowDisk(0.0), 0.04
    monkeypatch.setattr(disk, "DiskIO", lambda: slow)
    page_bytes = 8 * 6144
    engine = toy_engine(
        device_quota_bytes=page_bytes,
        dram_quota_bytes=page_bytes,
        read_deadline_ms=1000 * deadline_s,
        folder=tmp_path,
    )
    for prompt in ["red ball"] * 9 + ["blue house"] * 9:
        engine.step(prompt)
    engine.bank._store.flush()
    slow.delay_s = 1.0  # a page is read in nine parts
    waits, wait, tier = [], threading.Event.wait, engine.bank._store._disk

    def counted(event, timeout=None):
        if any(read.job.done is event for read in tier._reads.values()):
            waits.append(timeout)
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", counted)
    result = engine.step("red ball")
    assert result.telemetry.recall.missed
    assert result.telemetry.tiers[-1].late == len(result.telemetry.recall.missed)
    assert waits
    assert all(timeout is not None and timeout <= deadline_s for timeout in waits)
    monkeypatch.undo()
    slow.delay_s = 0.0
    engine.close()
