"""Error paths of pages, tiers and lanes that no fault of a disk reaches."""

from __future__ import annotations

import os
import threading

import pytest
import torch

from tests.banks import PAGE_BYTES, SHAPE, GatedDisk, fill, make_bank, new_frames, same_page, tiers_of, usage
from worldattention.core.hkv import page_lock
from worldattention.core.hkv.index import PageIndex, RunningMean
from worldattention.core.hkv.moves import Job, Lane, Loan, SideStream
from worldattention.core.hkv.page import PageData, PageInfo
from worldattention.core.hkv.page_lock import PageLock
from worldattention.core.hkv.ring import FrameRing
from worldattention.core.hkv.session import CacheSession, _identity, _remove_own
from worldattention.core.hkv.store import TieredStore
from worldattention.core.hkv.tiers import PoolTier
from worldattention.core.hkv.window import Window, plan_window

INFO = PageInfo(0, 0, 8, 0, 0)


def table(frames):
    return torch.zeros(frames * SHAPE.frame_tokens, 2), torch.zeros(frames * SHAPE.frame_tokens, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: PageIndex(1, 2, 4, "cpu").add(PageInfo(3, 0, 8, 0, 0), torch.zeros(1, 2, 4)),
            "not the next",
        ),
        (lambda: RunningMean().take(), "no mean key"),
        (lambda: list(PageData(INFO, *new_frames(8)).pieces(5, 4)), "does not hold frames 5\\+4"),
        (lambda: FrameRing(SHAPE, 0, 3), "room for a frame"),
        (lambda: Window(SHAPE, 8, 3, table(10)), "shorter than the window"),
        (
            lambda: Window(SHAPE, 8, 3, table(11)).install(plan_window(20, 12), FrameRing(SHAPE, 1, 0), {}),
            "does not fit 11 slots",
        ),
    ],
)
def test_what_cannot_be_is_a_value_error(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def failing_copy(self, copy, ready, device):
    raise torch.OutOfMemoryError("no memory to copy")


def test_case_10_a_page_whose_copy_failed_is_lost_and_nothing_else(monkeypatch):
    pool = PoolTier("dram", SHAPE, 8, 4 * PAGE_BYTES)
    source, given_back = PoolTier("device", SHAPE, 8, PAGE_BYTES), []
    assert source.has_room(INFO)
    assert pool.has_room(INFO)
    source.take(7, PageData(INFO, *new_frames(8)))
    page = source.fetch(7, None).page
    monkeypatch.setattr(SideStream, "run", failing_copy)
    pool.write(7, page, Loan(lambda: given_back.append(7)))
    pool.flush()
    assert pool.take_lost() == [7] == given_back
    assert pool.fetch(7, None).page is None
    pool.free(7)
    assert pool.take_lost() == []
    assert pool.used_bytes == 0
    assert not pool.complete_one()
    pool.close()
    source.close()


def test_case_10_a_lost_page_makes_room_like_any_other(tmp_path, monkeypatch):
    """It is found out while room is made, before the store hears of it."""
    bank = make_bank(tmp_path, device=1, dram=1)
    with monkeypatch.context() as patch:
        patch.setattr(SideStream, "run", failing_copy)
        frames = fill(bank, 2)  # page 0 goes down, and does not arrive
        bank._store._tiers[1].flush()
    assert tiers_of(bank) == ["dram", "device"]
    assert bank._store._make_room(1, INFO)
    assert tiers_of(bank) == ["dropped", "device"]
    assert usage(bank, "dram").drops == 1
    with bank.recall([0, 1]) as recall:
        assert recall.missed == (0,)
        assert same_page(recall.pages[1], frames, 1)
    bank.close()


def test_a_page_that_finds_no_place_above_after_all_is_read_and_then_gone(tmp_path, monkeypatch):
    bank = make_bank(tmp_path, device=1, dram=1)
    frames = fill(bank, 5)
    bank._store.flush()
    with monkeypatch.context() as patch:
        patch.setattr(TieredStore, "_make_room", lambda *arguments: False)
        with bank.recall([0]) as recall:
            assert same_page(recall.pages[0], frames, 0)
    assert tiers_of(bank)[0] == "dropped"
    assert sum(tier.drops for tier in bank.usage()) == 1
    bank.close()


def test_reading_ahead_asks_only_for_what_it_has_and_keeps_to_its_bytes(tmp_path):
    gate = GatedDisk(reads=False)
    bank = make_bank(
        tmp_path, device=0, dram=0, disk=50, io=gate, prefetch_bytes=2 * PAGE_BYTES, recalled_pages=1
    )
    disk = bank._store._tiers[-1]
    assert disk.path_of(0) is None
    frames = fill(bank, 6)
    bank._store.flush()
    assert disk.path_of(0).stat().st_size > PAGE_BYTES
    assert not disk.complete_one()
    disk.prefetch([99, 1])
    assert list(disk._reads) == [1]
    bank.read_deadline_ms = 1.0
    with bank.recall([0, 1, 2, 3, 4]) as recall:  # none comes in time
        assert recall.missed == (0, 1, 2, 3, 4)
    gate.reads.set()
    bank._store.flush()
    assert len(disk._staged) == 2  # late ones are kept for the next time, as far as there is room
    bank.read_deadline_ms = None
    with bank.recall(range(6)) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in range(6))
    bank.close()


def test_a_lane_whose_device_hangs_is_left_behind(caplog):
    begun, gate, lane = threading.Event(), threading.Event(), Lane("a lane")

    def hang():
        begun.set()
        gate.wait(60)

    lane.submit(Job(0, hang))
    assert begun.wait(60)
    lane.close(timeout_s=0.01)
    assert "a lane still waits for its device" in caplog.text
    gate.set()


def test_a_session_ends_with_its_block_of_code(tmp_path):
    with CacheSession(tmp_path) as session:
        assert session.folder.is_dir()
        another = os.getpid() + 1
        _remove_own(session.folder, _identity(session.folder), -1, another)  # as a forked child would
        assert session.folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_memory_that_cannot_be_mapped_is_asked_of_torch(monkeypatch):
    real, asked = torch.empty, []

    def empty(size, dtype, pin_memory=False):
        asked.append((size, pin_memory))
        return real(size, dtype=dtype)

    class Full:
        @staticmethod
        def mmap(*arguments):
            raise OSError(12, "no memory")

    monkeypatch.setattr(page_lock, "mmap", Full)
    monkeypatch.setattr(torch, "empty", empty)
    lock = PageLock(4096)
    assert lock.memory.shape == (4096,)
    assert asked == [(4096, True)]
    lock.free()
    assert lock.memory.numel() == 0
