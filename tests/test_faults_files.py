"""case_12: reel, latents, telemetry, recording and unsaved work when their disk fills up, or their folder goes."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from tests.fakes_window import FakeEngine, Script, picture
from tests.faulty_disk import tmpfs
from tests.toy import toy_engine
from worldattention.app.reel import Reel
from worldattention.core.config import EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.latents import LatentStore
from worldattention.core.recorded import SessionRecording, log_path, open_recorded
from worldattention.core.recorder import Encoder
from worldattention.core.telemetry_log import TelemetryLog


class Pictures:
    """The reel as a keeper of numbered things."""

    disk_bytes = 512 << 10

    def __init__(self, folder):
        self.reel = Reel(folder)
        self.made = [picture(block, f"x {block}") for block in range(16)]

    def add(self, number):
        assert self.reel.append(0, self.made[number])
        self.reel._pending.result()

    def check(self, number, there):
        frame = self.reel.frame(12 * number + 5)
        assert (frame is not None) or not there
        assert frame is None or np.abs(frame.astype(int) - self.made[number][5]).mean() < 4

    def failure(self):
        return self.reel.failure

    def close(self):
        self.reel.close()


class Latents:
    """The store of latents as one; these stay in memory when the disk takes no more."""

    disk_bytes = 512 << 10

    def __init__(self, folder):
        self.store = LatentStore(folder)
        self.made = [torch.randn(3, 16, 16, 32) for _ in range(16)]
        self.notices = []

    def add(self, number):
        self.store.append(self.made[number])
        self.store.flush()
        self.notices += filter(None, [self.store.take_notice()])

    def check(self, number, there):
        assert torch.equal(self.store.read(number), self.made[number])

    def failure(self):
        assert len(self.notices) <= 1
        return self.notices[0] if self.notices else None

    def close(self):
        del self.store  # and with it its file


class Records:
    """The log of telemetry as one."""

    disk_bytes = 64 << 10

    def __init__(self, folder):
        self.log = TelemetryLog(folder)
        engine = FakeEngine(Script(step_s=0), EngineConfig())
        noise = np.random.default_rng()
        self.made = [
            engine.step("".join(chr(code) for code in noise.integers(0x4E00, 0x9FFF, 6000)))
            for _ in range(16)
        ]

    def add(self, number):
        self.log.append(self.made[number].telemetry)
        self.log.flush()

    def check(self, number, there):
        found = self.log.at(12 * number + 5)
        assert (found is not None) or not there
        assert found is None or found.prompt == self.made[number].telemetry.prompt
        assert len(list(self.log.records())) == len(self.log)

    def failure(self):
        return self.log.failure

    def close(self):
        self.log.close()


KEEPERS = pytest.mark.parametrize("kind", [Pictures, Latents, Records])


@contextmanager
def small_disk(folder, size_bytes, monkeypatch):
    """A real one where this process may mount it, else writes that are cut short at its end."""
    left, write = [size_bytes], os.pwrite

    def limited(descriptor, data, offset):
        part = memoryview(data).cast("B")[: left[0]]
        if not part:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= len(part)
        return write(descriptor, part, offset)

    with tmpfs(folder, size_bytes) as mounted, monkeypatch.context() as patch:
        if not mounted:
            patch.setattr(os, "pwrite", limited)
        yield


@KEEPERS
def test_case_12_a_disk_that_is_really_full_ends_the_keeping_not_the_world(
    tmp_path, monkeypatch, kind, caplog
):
    with small_disk(tmp_path / "small", kind.disk_bytes, monkeypatch):
        keeper, written = kind(tmp_path / "small" / "inner"), 0
        for number in range(16):
            keeper.add(number)
            written += keeper.failure() is None
            for before in range(number + 1):
                keeper.check(before, there=before < written)
        assert 1 < written < 16
        assert "space" in keeper.failure() or "full" in keeper.failure()
        keeper.close()
        assert list((tmp_path / "small").rglob("*")) in ([], [tmp_path / "small" / "inner"])
    assert sum(record.levelno >= logging.WARNING for record in caplog.records) == 1
    assert not any(record.exc_info for record in caplog.records)


@KEEPERS
@pytest.mark.parametrize("fate", ["deleted", "replaced by a file", "replaced by a link", "read-only"])
def test_case_12_nobody_can_take_the_folder_from_under_nameless_files(tmp_path, kind, fate, caplog):
    folder, elsewhere = tmp_path / "cache", tmp_path / "elsewhere"
    elsewhere.mkdir()
    keeper = kind(folder)
    keeper.add(0)
    if fate == "read-only":
        folder.chmod(0o500)
    else:
        shutil.rmtree(folder)
    if fate == "replaced by a file":
        folder.write_text("precious")
    elif fate == "replaced by a link":
        folder.symlink_to(elsewhere)
    for number in range(1, 12):
        keeper.add(number)
        keeper.check(number, there=True)
        keeper.check(0, there=True)
    assert keeper.failure() is None
    keeper.close()
    assert list(elsewhere.iterdir()) == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@KEEPERS
def test_a_disk_that_gives_nothing_back_costs_what_it_held(tmp_path, monkeypatch, kind):
    """EIO, an early end and other bytes: a frame or a record is lost, latents say so, and nothing else happens."""
    keeper = kind(tmp_path)
    for number in range(8):
        keeper.add(number)

    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    answers = [broken, lambda _file, size, _at: b"\xff" * (size // 2), lambda _file, size, _at: b""]
    for read in answers:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pread", read)
            if kind is Latents:
                with pytest.raises(OSError, match=r"error|shorter"):
                    keeper.check(1, there=True)
            elif kind is Pictures:
                keeper.check(1, there=False)
            else:
                assert keeper.log.at(17) is None
                assert list(keeper.log.records()) == []
    keeper.check(1, there=True)
    keeper.close()


def test_a_world_says_once_that_its_latents_stay_in_memory(tmp_path, monkeypatch):
    engine = toy_engine(folder=tmp_path)
    engine.step("red ball")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    notices = []
    for _ in range(4):
        notices.append(engine.step("red ball").telemetry.notices)
        engine._journal.store.flush()
    assert [len(told) for told in notices] in ([1, 0, 0, 0], [0, 1, 0, 0])  # the disk is not waited for
    assert "stay in memory" in (notices[0] + notices[1])[0]
    other = engine.fork_at(3)
    assert np.array_equal(other.step("red ball").frames, engine.fork_at(3).step("red ball").frames)
    other.close()
    engine.close()


def record_until_it_ends(recording, engine, blocks=600):
    """What the recording said when it could not go on; None where it could."""
    for _ in range(blocks):
        result = engine.step("a ball")
        noise = np.random.default_rng().integers(0, 256, result.frames.shape, np.uint8)
        try:
            recording.write(noise, result.telemetry)
        except UserError as error:
            return str(error)
    return None


def test_case_12_a_recording_on_a_full_disk_ends_and_what_was_recorded_plays(tmp_path):
    with tmpfs(tmp_path / "small", 2 << 20) as mounted:
        recording = SessionRecording(tmp_path / "small" / "live.mp4", 128, 256)
        if not mounted:  # the encoder's own process meets the end of the disk
            recording._video._encoder._process.kill()
        told = record_until_it_ends(recording, FakeEngine(Script(step_s=0), EngineConfig()))
        assert told is not None
        assert mounted is ("full" in told)
        with pytest.raises(UserError):
            recording.close()
        assert recording.partial.exists()
        assert log_path(recording.partial).exists()
        if mounted:
            kept = open_recorded(recording.partial)
            assert kept.frames > 12
            assert len(list(kept.read())) >= kept.frames - 1  # the last one may be torn
        assert not (tmp_path / "small" / "live.mp4").exists()


@pytest.mark.parametrize("fate", ["deleted", "replaced by a link"])
def test_case_12_a_recording_whose_folder_goes_says_so_and_writes_nowhere_else(tmp_path, fate):
    folder, elsewhere = tmp_path / "films", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    recording = SessionRecording(folder / "live.mp4", 128, 256)
    engine = FakeEngine(Script(step_s=0), EngineConfig())
    assert record_until_it_ends(recording, engine, 2) is None
    shutil.rmtree(folder)
    if fate == "replaced by a link":
        folder.symlink_to(elsewhere)
    assert record_until_it_ends(recording, engine, 2) is None  # the open files live on
    with pytest.raises(UserError):
        recording.close()
    assert list(elsewhere.iterdir()) == []


def test_a_line_that_the_disk_takes_in_parts_is_written_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(Encoder, "write", lambda self, frames: setattr(self, "frames", len(frames)))
    recording = SessionRecording(tmp_path / "live.mp4", 128, 256)
    file, result = recording._log, FakeEngine(Script(step_s=0), EngineConfig()).step("a ball")

    class Slowly:
        def write(self, data):
            return file.write(data[:7])

    recording._log = Slowly()
    recording.write(result.frames, result.telemetry)
    file.close()
    assert log_path(recording.partial).read_text() == result.telemetry.to_json() + "\n"
    recording._video.abort()
