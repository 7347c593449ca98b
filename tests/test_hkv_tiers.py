"""Moves between tiers: in the background, never waited for, never lost, and never seen in what is recalled."""

import threading
import time
from contextlib import closing
from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.banks import (
    FILE_BYTES,
    PAGE_BYTES,
    GatedDisk,
    fill,
    make_bank,
    new_frames,
    same_page,
    tiers_of,
    usage,
)
from worldattention.core import heap
from worldattention.core.hkv import moves
from worldattention.core.hkv.moves import Job, Lane, Loan
from worldattention.core.hkv.page import PageInfo
from worldattention.core.hkv.thinning import Thinning


def flush(bank):
    bank._store.flush()


def test_write_through_gives_every_page_a_file_at_once(tmp_path):
    bank = make_bank(tmp_path, device=3, dram=3, write_through=True)
    frames = fill(bank, 4)
    flush(bank)
    assert tiers_of(bank) == ["dram", "device", "device", "device"]
    assert len(list(tmp_path.glob("session-*/*.page"))) == 4
    assert usage(bank).written_bytes == 4 * PAGE_BYTES
    assert (usage(bank).pages, usage(bank).used_bytes) == (0, 4 * FILE_BYTES)
    frames = torch.cat([frames, fill(bank, 6)], 2)
    flush(bank)
    assert tiers_of(bank)[:4] == ["disk"] * 4
    assert usage(bank).written_bytes == 10 * PAGE_BYTES  # coming down, they had their file already
    with bank.recall(range(10)) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in range(10))
    bank.close()
    assert list(tmp_path.glob("session-*")) == []


def test_early_files_make_way_and_are_skipped_on_a_full_disk(tmp_path):
    bank = make_bank(tmp_path, device=2, dram=0, disk=3, write_through=True)
    frames = fill(bank, 5)
    flush(bank)
    assert tiers_of(bank) == ["disk"] * 3 + ["device"] * 2
    assert usage(bank).used_bytes <= 3 * FILE_BYTES
    assert len(list(tmp_path.glob("session-*/*.page"))) == 3
    with bank.recall(range(5)) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in range(5))
    bank.close()


def test_a_page_that_comes_down_again_is_not_written_again(tmp_path):
    bank = make_bank(tmp_path)
    frames = fill(bank, 5)
    flush(bank)
    written = usage(bank).written_bytes
    for _ in range(3):
        for page in (0, 1, 2):
            with bank.recall([page]) as recall:
                assert same_page(recall.pages[page], frames, page)
    flush(bank)
    assert usage(bank).written_bytes == written + 2 * PAGE_BYTES  # pages 3 and 4, for the first time
    bank.close()


def test_a_page_too_late_is_a_counted_miss_and_comes_later(tmp_path):
    disk = GatedDisk(reads=False)
    bank = make_bank(tmp_path, io=disk, read_deadline_ms=20.0)
    frames = fill(bank, 5)
    flush(bank)
    bank.prefetch([0])
    with bank.recall([0, 4]) as recall:
        assert recall.missed == (0,)
        assert same_page(recall.pages[4], frames, 4)
    assert bank.tier_of(0) == "disk"  # late is not lost
    assert (usage(bank).late, usage(bank).misses, usage(bank).drops) == (1, 1, 0)
    assert sum("too late" in notice for notice in bank.take_notices()) == 1
    disk.reads.set()
    flush(bank)
    assert list(bank._store._disk._staged) == [bank._handles[0]]
    with bank.recall([0]) as recall:
        assert same_page(recall.pages[0], frames, 0)
    bank.close()


def test_without_a_deadline_a_recall_waits(tmp_path):
    disk = GatedDisk(reads=False)
    bank = make_bank(tmp_path, io=disk)
    frames = fill(bank, 5)
    opener = threading.Timer(0.2, disk.reads.set)
    opener.start()
    with bank.recall([0, 1]) as recall:
        assert recall.missed == ()
        assert same_page(recall.pages[1], frames, 1)
    opener.join()
    bank.close()


def test_a_busy_disk_drops_rather_than_stalls_and_says_so_once(tmp_path):
    disk = GatedDisk(writes=False)
    bank = make_bank(tmp_path, io=disk, read_deadline_ms=20.0, move_bytes=2 * PAGE_BYTES)
    frames = fill(bank, 12)  # nothing is written meanwhile, and still this returns
    assert tiers_of(bank) == ["disk"] * 2 + ["dropped"] * 8 + ["dram", "device"]
    with bank.recall([0, 1, 5]) as recall:  # read from where they are written from
        assert recall.missed == (5,)
        assert same_page(recall.pages[1], frames, 1)
        assert tiers_of(bank)[:2] == ["disk"] * 2  # a recall pushes nothing out
    assert usage(bank).refused >= 8
    disk.writes.set()
    flush(bank)
    assert len(bank.take_notices()) == 1
    fill(bank, 1)
    assert "dropped" not in tiers_of(bank)[10:]
    bank.close()


def test_without_a_deadline_a_busy_disk_is_waited_for(tmp_path):
    disk = GatedDisk(writes=False)
    bank = make_bank(tmp_path, io=disk, move_bytes=2 * PAGE_BYTES)
    opener = threading.Timer(0.2, disk.writes.set)
    opener.start()
    frames = fill(bank, 12)
    assert "dropped" not in tiers_of(bank)
    with bank.recall(range(12)) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in range(12))
    opener.join()
    bank.close()


def test_prefetched_pages_are_there_and_counted(tmp_path):
    disk = GatedDisk()
    bank = make_bank(tmp_path, io=disk, read_deadline_ms=20.0, prefetch_bytes=3 * FILE_BYTES)
    frames = fill(bank, 9)
    flush(bank)
    before = tiers_of(bank)
    bank.prefetch([3, 1, 4, 2, 8])  # the fourth is past the budget, the last is no page of the disk
    flush(bank)
    disk.reads.clear()
    assert tiers_of(bank) == before
    with bank.recall([1, 3]) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in (1, 3))
    with bank.recall([2]) as recall:
        assert recall.missed == (2,)
    assert (usage(bank).prefetched, usage(bank).prefetch_hits) == (3, 2)
    disk.reads.set()
    bank.close()


def test_a_guess_given_up_is_not_read(tmp_path):
    disk = GatedDisk(reads=False)
    bank = make_bank(tmp_path, io=disk)
    frames = fill(bank, 9)
    bank._store._disk._writer.flush()
    bank.prefetch([0, 1, 2])
    bank.prefetch([3])
    disk.reads.set()
    with bank.recall([3]) as recall:
        assert same_page(recall.pages[3], frames, 3)
    flush(bank)
    assert usage(bank).prefetched <= 2  # the one that was being read, and the new guess
    bank.close()


def test_a_guess_takes_no_memory_once_the_recall_is_over(tmp_path):
    bank = make_bank(tmp_path)
    frames = fill(bank, 9)
    flush(bank)
    bank.prefetch(range(6))
    flush(bank)
    disk = bank._store._disk
    assert set(disk._staged) == {bank._handles[page] for page in range(6)}
    bank.recall(()).release()
    assert len(disk._staged) == 6
    with bank.recall([2]) as recall:
        assert same_page(recall.pages[2], frames, 2)
    assert disk._staged == {}
    assert disk._reads == {}
    assert (usage(bank).prefetched, usage(bank).prefetch_hits) == (6, 1)
    bank.close()


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_prefetch_changes_no_page_s_place_or_fate(tmp_path_factory, data):
    quotas = [data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2)), data.draw(st.integers(1, 4))]
    folder = tmp_path_factory.mktemp("cache")
    with closing(make_bank(folder, *quotas)) as bank, closing(make_bank(folder, *quotas)) as twin:
        for step in range(data.draw(st.integers(3, 12))):
            if data.draw(st.booleans()):
                for world in (bank, twin):
                    world.begin_chunk(torch.ones(4), f"{step}")
            frames = new_frames(data.draw(st.integers(1, 20)))
            for world in (bank, twin):
                world.append(*frames)
            pages = st.integers(0, max(0, len(bank.pages) - 1))
            if bank.pages:
                bank.prefetch(data.draw(st.lists(pages, unique=True, max_size=6)))
                ids = data.draw(st.lists(pages, unique=True, max_size=3))
                with bank.recall(ids) as one, twin.recall(ids) as other:
                    assert one.missed == other.missed
                    assert all(
                        torch.equal(one.pages[page].keys, other.pages[page].keys) for page in one.pages
                    )
            assert tiers_of(bank) == tiers_of(twin)


def test_case_08_a_full_disk_is_thinned_before_anything_is_dropped(tmp_path):
    """Quotas hold, however long the world: every second page of the oldest scene goes first."""
    bank = make_bank(tmp_path, device=1, dram=0, disk=6)
    frames = fill(bank, 5)  # one chunk of 40 frames
    bank.begin_chunk(torch.ones(4), "another")
    bank.append(*new_frames(8 * 5))
    assert [page for page, tier in enumerate(tiers_of(bank)) if tier == "dropped"] == [1, 3, 6]
    bank.recall([0]).release()  # the first scene is wanted again
    bank.append(*new_frames(8 * 2))
    assert usage(bank).thinned >= 4
    assert bank.tier_of(0) != "dropped"
    assert usage(bank).used_bytes <= usage(bank).quota_bytes
    with bank.recall([0, 2, 4]) as recall:
        assert all(same_page(data, frames, page) for page, data in recall.pages.items())
    assert len(bank.take_notices()) == 1
    assert len(bank.pages) == 12  # their rows stay
    bank.close()


class ThinningByHand:
    """The rule as its module's docstring words it, without any books."""

    def __init__(self):
        self.pages, self.order = {}, []

    def pick(self):
        for chunk in self.order:
            here = sorted(
                (info.first_frame, info.end_frame, h)
                for h, info in self.pages.items()
                if info.chunk_id == chunk
            )
            for first, second in pairwise(here):
                if first[1] == second[0]:
                    return second[2]
        return None


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_thinning_follows_its_rule(data):
    thinning, model = Thinning(), ThinningByHand()
    for handle in range(data.draw(st.integers(1, 40))):
        chunk = data.draw(st.integers(0, 3))
        first = 8 * data.draw(st.integers(0, 5))
        info = PageInfo(handle, 1000 * chunk + first, 8, chunk, 0)
        if all(other.first_frame != info.first_frame for other in model.pages.values()):
            thinning.add(handle, info)
            if not any(other.chunk_id == chunk for other in model.pages.values()):
                model.order = [*(c for c in model.order if c != chunk), chunk]
            model.pages[handle] = info
        if model.pages and data.draw(st.integers(0, 3)) == 0:
            one = data.draw(st.sampled_from(sorted(model.pages)))
            thinning.recalled(model.pages[one])
            model.order = [
                *(c for c in model.order if c != model.pages[one].chunk_id),
                model.pages[one].chunk_id,
            ]
        if data.draw(st.booleans()):
            picked = thinning.pick(lambda handle: True)
            assert picked == model.pick()
            if picked is not None:
                thinning.remove(picked, model.pages.pop(picked))


def test_a_source_stays_as_it_is_until_its_copy_is_made(tmp_path, monkeypatch):
    gate, run = threading.Event(), moves.SideStream.run

    def late(self, copy, ready, device):
        assert gate.wait(60)
        run(self, copy, ready, device)

    monkeypatch.setattr(moves.SideStream, "run", late)
    bank = make_bank(tmp_path, device=2, dram=2, disk=50)
    frames = fill(bank, 3)
    held = bank.recall([0, 1, 2])
    frames = torch.cat([frames, fill(bank, 5)], 2)
    assert all(same_page(held.pages[page], frames, page) for page in range(3))
    with bank.recall(range(3, 8)) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in range(3, 8))
    gate.set()
    flush(bank)
    assert all(same_page(held.pages[page], frames, page) for page in range(3))
    held.release()
    with bank.recall(range(8)) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in range(8))
    bank.close()


def test_without_memory_for_another_slot_a_move_is_waited_for(tmp_path, monkeypatch):
    bank = make_bank(tmp_path, device=2, dram=2, disk=50)
    frames = fill(bank, 4)
    flush(bank)

    def empty(*args, **kwargs):
        raise torch.OutOfMemoryError("no")

    with monkeypatch.context() as patch:
        patch.setattr(heap, "_map", empty)
        frames = torch.cat([frames, fill(bank, 4)], 2)
    assert tiers_of(bank) == ["disk"] * 4 + ["dram"] * 2 + ["device"] * 2
    with bank.recall(range(8)) as recall:
        assert all(same_page(recall.pages[page], frames, page) for page in range(8))
    bank.close()


def test_lanes_do_urgent_jobs_first_and_cancelled_ones_never():
    lane, gate, done = Lane("test"), threading.Event(), []
    first = lane.submit(Job(0, lambda: gate.wait(30) and None))
    jobs = [lane.submit(Job(n, lambda n=n: done.append(n), size_bytes=10)) for n in (1, 2, 3)]
    urgent = lane.submit(Job(4, lambda: done.append(4)), urgent=True)
    assert lane.cancel(jobs[1])
    lane.hurry(jobs[2])
    assert lane.queued_bytes == 20
    gate.set()
    lane.flush()
    assert done == [3, 4, 1]
    assert not lane.cancel(first)
    assert {job.handle for job in lane.take_finished()} == {0, 1, 3, 4}
    assert urgent.done.is_set()
    lane.close()


def test_an_error_in_a_lane_is_kept_and_the_lane_goes_on():
    lane = Lane("test")
    bad = lane.submit(Job(0, lambda: (_ for _ in ()).throw(OSError("no"))))
    good = lane.submit(Job(1, lambda: None))
    lane.flush()
    assert isinstance(bad.error, OSError)
    assert good.error is None
    lane.close()


def test_a_device_that_hangs_does_not_keep_the_program():
    lane, gate = Lane("test"), threading.Event()
    lane.submit(Job(0, lambda: gate.wait(60) and None))
    start = time.monotonic()
    lane.close(timeout_s=0.1)
    assert time.monotonic() - start < 30
    gate.set()


def test_the_last_holder_gives_a_loan_back():
    given = []
    loan = Loan(lambda: given.append(1))
    loan.hold()
    loan.drop()
    assert given == []
    loan.drop()
    assert given == [1]


def test_cases_8_and_10_a_full_ram_tier_spills_and_every_tier_counts(tmp_path):
    """Nothing crashes when DRAM is full, and a tier that is never used would show in its figures."""
    bank = make_bank(tmp_path, device=1, dram=2, disk=20)
    frames = fill(bank, 8)
    flush(bank)
    device, dram, disk = bank.usage()
    assert [tier.pages for tier in (device, dram, disk)] == [1, 2, 5]
    assert [tier.evictions for tier in (device, dram, disk)] == [7, 5, 0]
    assert [tier.written_bytes // PAGE_BYTES for tier in (device, dram, disk)] == [8, 7, 5]
    assert len(dram.write_ms) == len(disk.write_ms) == 2
    assert 0 < disk.write_ms[0] <= disk.write_ms[1]
    assert disk.read_ms is None
    with bank.recall([0, 5]) as recall:
        assert all(same_page(data, frames, page) for page, data in recall.pages.items())
    _, dram, disk = bank.usage()
    assert (dram.hits, disk.hits) == (1, 1)
    assert disk.read_bytes == PAGE_BYTES
    assert disk.read_ms is not None
    bank.close()
