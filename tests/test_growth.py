"""case_07: what a world keeps grows by a few kilobytes a block, and no page waits for Python's collector.

Which never runs within a test (conftest.py).
"""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
import torch

from tests.banks import PAGE_BYTES, SHAPE, make_bank, new_frames, usage
from tests.toy import toy_engine
from worldattention.core import heap
from worldattention.core.hkv.bank import KVBank
from worldattention.core.soak import PROMPTS

SWITCH_BLOCKS = 13


@pytest.fixture
def mapped(monkeypatch) -> dict[int, int]:
    """Sizes of the lasting memory that is not yet given back."""
    live: dict[int, int] = {}

    class Mapping(heap.mmap.mmap):
        def __new__(cls, *arguments, **options):
            self = super().__new__(cls, *arguments, **options)
            live[id(self)] = len(self)
            weakref.finalize(self, live.pop, id(self))
            return self

    monkeypatch.setattr(heap.mmap, "mmap", Mapping)
    return live


def index_bytes(bank: KVBank) -> int:
    rows = bank._index._means, bank._index._spans, bank._there, bank._prompts._vectors
    return sum(one._buffer.nbytes for one in rows)


@pytest.mark.parametrize("codec", ["bf16", "int8"])
@pytest.mark.parametrize("blocks", [300, pytest.param(10_000, marks=pytest.mark.endurance)])
def test_case_07_pages_in_memory_do_not_become_more(tmp_path, mapped, codec, blocks):
    """Recalls from a full disk, every page in flight included."""
    bank = make_bank(
        tmp_path, 5, 5, 21, begin=False, codec=codec, move_bytes=3 * PAGE_BYTES, prefetch_bytes=3 * PAGE_BYTES
    )
    held, pages = None, []
    for block in range(blocks):
        if block % SWITCH_BLOCKS == 0:
            prompt, done = torch.randn(8), bank.frames_done
            if block:
                query = torch.randn(2, SHAPE.heads, SHAPE.head_dim)
                chosen = bank.retrieve(query, prompt, ((0, 3), (done - 5, 5)), block=block).chosen
                before, held = held, bank.recall(chosen)
                if before is not None:
                    before.release()
            bank.begin_chunk(prompt, f"prompt {block % 5}")
        bank.append(*new_frames(3), block)
        bank._store.flush()
        pages.append((sum(mapped.values()) - index_bytes(bank)) / PAGE_BYTES)
    assert usage(bank).drops > blocks / 6
    assert usage(bank).hits > blocks / 20
    third = blocks // 3
    early, late = (sum(part) / third for part in (pages[third : 2 * third], pages[-third:]))
    assert abs(late - early) < 1
    assert max(pages) < 30
    held.release()
    bank.close()
    del bank, before, held
    assert sum(mapped.values()) < 2 * PAGE_BYTES


def test_case_07_a_read_that_fails_keeps_no_memory(tmp_path, mapped):
    bank = make_bank(tmp_path, 0, 0, 100)
    bank.append(*new_frames(8 * 20))
    bank._store.flush()
    for file in tmp_path.rglob("*.page"):
        file.write_bytes(file.read_bytes()[:-1])
    before = sum(mapped.values())
    with bank.recall(range(20)) as recall:
        assert len(recall.missed) == 20
    bank._store.flush()
    assert sum(mapped.values()) - before < 3 * PAGE_BYTES
    bank.close()


@pytest.mark.parametrize("blocks", [60, pytest.param(2000, marks=pytest.mark.endurance)])
def test_case_07_a_block_leaves_a_few_small_objects_and_no_tensor_behind(tmp_path, blocks):
    engine = toy_engine(
        device_quota_bytes=5 * 49152, dram_quota_bytes=5 * 49152, disk_quota_bytes=21 * 50000, folder=tmp_path
    )
    kept, tensors = [], []
    gc.collect()
    for block in range(blocks):
        engine.step(PROMPTS[block // 5 % len(PROMPTS)])
        if block >= blocks // 3:
            kept.append(sys.getallocatedblocks())
        if block in (blocks // 2, blocks - 1):
            engine.bank._store.flush()
            tensors.append(sum(type(thing) is torch.Tensor for thing in gc.get_objects()))
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    waiting = [thing for thing in gc.garbage if isinstance(thing, torch.Tensor) and thing.numel() > 16]
    gc.garbage.clear()
    assert waiting == []
    assert tensors[1] - tensors[0] <= 2, "a tensor for every switch would break up the heap"
    assert (kept[-1] - kept[0]) / len(kept) < 150  # objects of Python, at most 512 bytes each
    engine.close()
