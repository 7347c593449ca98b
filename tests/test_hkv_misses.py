"""Pages that cannot be read: missed one by one, counted, and lost only where their file is bad."""

import errno

import pytest
import torch

from tests.banks import fill, make_bank, same_page, tiers_of, usage
from worldattention.core import heap
from worldattention.core.hkv.disk_io import DiskIO


def flush(bank):
    bank._store.flush()


def test_a_page_that_memory_has_no_room_for_is_missed_and_not_lost(tmp_path, monkeypatch):
    bank = make_bank(tmp_path)
    frames = fill(bank, 5)
    flush(bank)

    def empty(*args, **kwargs):
        raise torch.OutOfMemoryError("no")

    with monkeypatch.context() as patch:
        patch.setattr(heap, "_map", empty)
        with bank.recall([0]) as recall:
            assert recall.missed == (0,)
    assert bank.tier_of(0) == "disk"
    with bank.recall([0]) as recall:
        assert same_page(recall.pages[0], frames, 0)
    bank.close()


@pytest.mark.parametrize("call", ["open", "size", "read", "close"])
def test_a_failing_call_is_a_miss_of_one_page(tmp_path, monkeypatch, call):
    bank = make_bank(tmp_path)
    frames = fill(bank, 5)
    flush(bank)

    def fail(*arguments):
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(DiskIO, call, fail)
        with bank.recall([0, 4]) as recall:
            assert recall.missed == (0,)
    assert tiers_of(bank)[:2] == ["dropped", "disk"]
    assert usage(bank).active
    with bank.recall([1]) as recall:
        assert same_page(recall.pages[1], frames, 1)
    bank.close()
