"""case_12: what is kept of every block is written by threads of its own: no world waits for the disk to take it."""

from __future__ import annotations

import errno
import gc
import os
import threading
import time

import psutil
import pytest
import torch

from tests.test_telemetry_log import World, same
from tests.toy import toy_engine
from worldattention.core.latents import LatentStore
from worldattention.core.telemetry_log import TelemetryLog
from worldattention.core.write_behind import WriteBehind


@pytest.fixture
def gate(monkeypatch):
    """A disk whose writes hang until it is set."""
    opened, write = threading.Event(), os.pwrite

    def hanging(*arguments):
        assert opened.wait(60)
        return write(*arguments)

    monkeypatch.setattr(os, "pwrite", hanging)
    yield opened
    opened.set()


def test_a_disk_that_hangs_is_not_waited_for_and_nothing_is_lost(tmp_path, gate):
    store, log, world = LatentStore(tmp_path), TelemetryLog(tmp_path), World(3)
    latents = [torch.randn(3, 4, 4, 8) for _ in range(12)]
    records = [world.next() for _ in latents]
    for made, record in zip(latents, records, strict=True):
        store.append(made)
        log.append(record)
    for look in ("while it hangs", "afterwards"):
        assert all(torch.equal(store.read(number), made) for number, made in enumerate(latents)), look
        assert same(log.records(), records)
        gate.set()
        store.flush()
        log.flush()
        assert store._file._state.waiting == log._file._state.waiting == {}
    log.close()


def test_what_the_disk_did_not_take_stays_and_nothing_more_is_tried(tmp_path, monkeypatch):
    calls, write = [], os.pwrite

    def third_fails(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(*arguments)

    monkeypatch.setattr(os, "pwrite", third_fails)
    file, pieces = WriteBehind(tmp_path, "writer"), [os.urandom(40) for _ in range(9)]
    for number, piece in enumerate(pieces):
        file.write(40 * number, piece)
    file.flush()
    assert file.failure.errno == errno.ENOSPC
    assert [file.read(40 * number, 40) for number in range(9)] == pieces
    assert len(calls) == 3
    file.close()
    with pytest.raises(OSError, match=r"closed|shorter|descriptor"):
        file.read(40 * 5, 40)


def test_a_block_is_made_as_quickly_over_a_disk_that_takes_a_second_for_every_write(tmp_path, monkeypatch):
    """Its thread makes none of the calls: whatever they take, it goes on (a hundredfold slower disk, and worse)."""
    writers, write = set(), os.pwrite

    def slow(*arguments):
        writers.add(threading.current_thread().name)
        time.sleep(0.2)
        return write(*arguments)

    monkeypatch.setattr(os, "pwrite", slow)
    engine, log = toy_engine(folder=tmp_path), TelemetryLog(tmp_path)
    records = [engine.step("red ball").telemetry for _ in range(5)]
    for record in records:
        log.append(record)
    assert len(engine._journal.store._file._state.waiting) > 1  # the world is ahead of the disk
    engine._journal.store.flush()
    log.flush()
    assert writers == {"latents-writer", "telemetry-writer"}
    engine.close()
    log.close()


def test_case_07_worlds_that_begin_anew_leave_no_file_and_no_thread(tmp_path):
    engine, process = toy_engine(folder=tmp_path), psutil.Process()
    engine.step("red ball")
    engine._journal.store.flush()
    files, threads = process.num_fds(), process.num_threads()
    for _ in range(4):
        engine.reset()
        engine.step("red ball")
        engine._journal.store.flush()
    gc.collect()
    for _ in range(200):
        if (process.num_fds(), process.num_threads()) == (files, threads):
            break
        time.sleep(0.05)
    assert (process.num_fds(), process.num_threads()) == (files, threads)
    assert list(tmp_path.rglob("*")) == []
    engine.close()


def test_what_was_closed_is_an_error_of_the_disk_to_its_readers(tmp_path):
    """A window may still look at a world that has just been left."""
    file = WriteBehind(tmp_path, "latents-writer")
    file.write(0, b"latents")
    file.close()
    file._thread.join(60)
    with pytest.raises(OSError, match="closed"):
        file.read(0, 7)
