"""Torch's threads: a lane beside the model gets none, and the model keeps its own."""

import threading

import psutil
import pytest
import torch

from worldattention.core.hkv.moves import Job, Lane
from worldattention.core.threads import stay_serial

LARGE = 1 << 24


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def system_threads():
    return psutil.Process().num_threads()


def test_a_serial_thread_has_one_and_others_keep_theirs(two_threads):
    def work():
        stay_serial()
        return torch.get_num_threads()

    assert in_a_thread(work) == 1
    assert torch.get_num_threads() == 2
    assert in_a_thread(torch.get_num_threads) == 2


def test_a_lane_copies_a_page_without_a_team_of_threads(two_threads):
    source, target = torch.ones(LARGE, dtype=torch.uint8), torch.zeros(LARGE, dtype=torch.uint8)
    lane, counts = Lane("a lane"), []

    def copy():
        before = system_threads()
        target.copy_(source)
        counts.append((before, system_threads()))

    def split():  # what a lane must not do: this thread's team is one more
        before = system_threads()
        target.copy_(source)
        return before, system_threads()

    lane.submit(Job(1, copy)).done.wait(60)
    before, after = counts[0]
    assert after <= before  # a thread that has just ended may still be counted
    assert bool(target.all())
    before, after = in_a_thread(split)
    assert after > before
    lane.close()
