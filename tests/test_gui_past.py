"""Frames of the past: bounded in memory, whole on disk, fetched without stalling the window."""

import errno
import os
import threading

import numpy as np
import psutil
import pytest

from tests.fakes_window import picture
from worldattention.app import segments
from worldattention.app.past import KEPT, Past
from worldattention.app.reel import MEMORY_FRAMES, Reel
from worldattention.app.segments import MOST_FILES, Segments


def psnr(first, second):
    error = np.mean((first.astype(float) - second.astype(float)) ** 2)
    return 10 * np.log10(255**2 / max(error, 1e-9))


def fill(reel, blocks, epoch=0, prompt="x"):
    made = [picture(block, f"{prompt} {block}") for block in range(blocks)]
    for frames in made:
        assert reel.append(epoch, frames)
    return np.concatenate(made)


@pytest.fixture
def reel(tmp_path):
    made = Reel(tmp_path / "한글 폴더 ñ")
    yield made
    made.close()


@pytest.mark.parametrize("blocks", [25, pytest.param(2000, marks=pytest.mark.endurance)])
def test_case_9_memory_is_bounded_and_the_whole_past_can_be_read(reel, blocks):
    """CASES 9: large images do not eat the memory."""
    made = fill(reel, blocks)
    assert len(reel._memory) == MEMORY_FRAMES
    assert (reel.made, reel.first) == (12 * blocks, 0)
    for number in range(0, 12 * blocks, max(1, blocks // 5)):
        assert psnr(reel.frame(number), made[number]) > 38
    assert np.array_equal(reel.frame(12 * blocks - 1), made[-1])  # the newest as they were made
    assert reel.frame(12 * blocks) is None
    assert reel.frame(-1) is None


def test_nothing_lies_in_the_folder_while_and_after_it_is_used(reel, tmp_path):
    fill(reel, 6)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    reel.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_oldest_segment_goes_when_the_quota_is_used(tmp_path):
    kept = Segments(tmp_path, quota_bytes=40_000, segment_frames=4)
    frames = np.random.default_rng().integers(0, 256, (30, 32, 64, 3), np.uint8)
    for frame in frames:
        kept.append(frame)
    assert kept.size_bytes <= 40_000
    assert kept.oldest % 4 == 0
    assert kept.oldest > 0
    assert kept.read(kept.oldest - 1) is None
    for number in range(kept.oldest, 30):
        assert kept.read(number).shape == (32, 64, 3)
    kept.close()
    assert kept.read(29) is None


def test_case_07_hours_of_small_frames_take_few_descriptors(tmp_path):
    """A long sitting: many more frames are kept than a small system has descriptors to give."""
    kept, before = Segments(tmp_path, quota_bytes=200_000, segment_frames=1), psutil.Process().num_fds()
    most, count = 0, 900
    for colour in np.random.default_rng().integers(0, 256, (count, 3), np.uint8):
        kept.append(np.broadcast_to(colour, (32, 64, 3)))
        most = max(most, psutil.Process().num_fds() - before)
    assert 30 < most <= MOST_FILES + 1
    assert 150_000 < kept.size_bytes <= 200_000
    assert count - kept.oldest > 3 * MOST_FILES
    assert all(kept.read(number).shape == (32, 64, 3) for number in range(kept.oldest, count))
    kept.close()
    assert psutil.Process().num_fds() == before


def test_a_new_world_has_nothing_of_the_old_one(reel):
    fill(reel, 10)
    reel.clear(1)
    assert (reel.made, reel.first, reel.frame(0)) == (0, 0, None)
    assert not reel.append(0, picture(0, "stale"))
    made = fill(reel, 10, epoch=1, prompt="new")
    for number in (0, 17, 119):
        assert psnr(reel.frame(number), made[number]) > 38


def test_a_full_disk_ends_the_past_not_the_world(reel, monkeypatch):
    made = fill(reel, 8)
    reel._pending.result()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(segments.os, "pwrite", full)
    fill(reel, 8)
    reel._pending.result()
    assert reel.failure == os.strerror(errno.ENOSPC)
    assert reel.made == 192
    assert psnr(reel.frame(5), made[5]) > 38  # what was written is still there
    assert reel.frame(191) is not None
    assert reel.frame(100) is None


def test_a_damaged_disk_gives_no_frame_and_no_fault(reel, monkeypatch):
    fill(reel, 10)
    reel._pending.result()
    monkeypatch.setattr(segments.os, "pread", lambda _file, length, _at: b"\xff" * (length // 2))
    assert reel.frame(3) is None

    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(segments.os, "pread", broken)
    assert reel.frame(3) is None


def test_old_frames_arrive_later_and_the_window_never_waits(reel, qtbot, monkeypatch):
    made = fill(reel, 10)
    reel._pending.result()
    gate, read = threading.Event(), reel._segments.read

    def slowly(writing):
        gate.wait(20)
        return read(writing)

    monkeypatch.setattr(reel._segments, "read", slowly)
    past = Past(reel)
    arrived = []
    past.arrived.connect(arrived.append)
    assert np.array_equal(past.frame(119), made[119])  # from memory
    for number in (3, 30, 50, 7):
        assert past.frame(number) is None  # at once, though the disk hangs
    gate.set()
    qtbot.waitUntil(lambda: 7 in arrived, timeout=20000)
    assert arrived[-1] == 7
    assert len(arrived) <= 2  # the one that was under way, and the last that was wanted
    assert psnr(past.frame(7), made[7]) > 38
    qtbot.waitUntil(lambda: past.frame(8) is not None, timeout=20000)  # the next ones come by themselves
    for number in range(0, 72, 3):
        past.frame(number)
    qtbot.waitUntil(lambda: not past._busy, timeout=20000)
    assert len(past._frames) <= KEPT
    past.close()


def test_a_frame_that_cannot_be_read_is_told_as_lost(reel, qtbot, monkeypatch):
    fill(reel, 10)
    reel._pending.result()
    monkeypatch.setattr(reel._segments, "read", lambda _writing: None)
    past = Past(reel)
    with qtbot.waitSignal(past.lost, timeout=20000) as told:
        assert past.frame(4) is None
    assert told.args == [4]
    past.close()
    assert past.frame(5) is None  # closed: no thread, no fault


def test_without_a_folder_only_memory_is_kept(tmp_path):
    (tmp_path / "file").write_text("no folder")
    reel = Reel(tmp_path / "file")
    made = fill(reel, 10)
    reel._pending.result()
    assert reel.failure is not None
    assert reel.first == 120 - MEMORY_FRAMES
    assert np.array_equal(reel.frame(119), made[119])
    assert reel.frame(3) is None
    reel.close()


def test_case_4_what_was_read_for_an_older_world_is_never_shown(reel, qtbot, monkeypatch):
    """CASES 4: no stale frame after a restart."""
    fill(reel, 10)
    reel._pending.result()
    reading, gate, read = threading.Event(), threading.Event(), reel._segments.read

    def slowly(writing):
        frame = read(writing)
        reading.set()
        gate.wait(20)
        return frame

    monkeypatch.setattr(reel._segments, "read", slowly)
    past = Past(reel)
    assert past.frame(2) is None
    assert reading.wait(20)
    past.clear()
    reel.clear(1)
    gate.set()
    new = fill(reel, 10, epoch=1, prompt="new")
    reel._pending.result()
    qtbot.waitUntil(lambda: past.frame(2) is not None, timeout=20000)
    assert psnr(past.frame(2), new[2]) > 38
    past.close()
