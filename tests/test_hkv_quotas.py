"""Amounts of memory as people type them, and the check against the machine."""

import threading
from dataclasses import replace

import psutil
import pytest
import torch

from worldattention.core import heap
from worldattention.core.config import CacheConfig
from worldattention.core.errors import UserError
from worldattention.core.hkv import page_lock, tiers
from worldattention.core.hkv.codec import CODECS, RAW, StoredPage, encode_page, lay_out, page_bytes
from worldattention.core.hkv.disk import DiskOptions, DiskTier
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.page_lock import LockedPool
from worldattention.core.hkv.quotas import fit_quotas, format_bytes, parse_bytes
from worldattention.core.hkv.store import open_store
from worldattention.core.hkv.tiers import PoolTier


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("123", 123),
        ("4GB", 4_000_000_000),
        (" 4 gb ", 4_000_000_000),
        ("512MiB", 512 * 1024**2),
        ("1.5G", 1_500_000_000),
        ("1,5 GB", 1_500_000_000),
        ("2TiB", 2 * 1024**4),
        ("7B", 7),
        ("1k", 1000),
    ],
)
def test_amounts(text, amount):
    assert parse_bytes(text) == amount


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "GB",
        "-1",
        "-4GB",
        "4XB",
        "nan",
        "inf",
        "1e9",
        "4 GB 2",
        "1.2.3GB",
        "٤GB",
        "4\0GB",
        "9" * 400,
        "2000PB",
    ],
)
def test_nonsense_is_refused_in_one_sentence(text):
    with pytest.raises(UserError, match="write it like") as error:
        parse_bytes(text)
    assert len(str(error.value)) < 150


def test_figures_for_people():
    assert [format_bytes(n) for n in (0, 999, 2_300_000_000, 512_000_000, 1500)] == [
        "0 B", "999 B", "2.3 GB", "512 MB", "1.5 kB",
    ]  # fmt: skip


def test_quotas_against_the_machine(tmp_path):
    """case_11: said at start, in plain words, rather than a crash later."""
    folder = tmp_path / "not" / "yet"
    small = CacheConfig(device_quota_bytes=1000, dram_quota_bytes=1000, disk_quota_bytes=1000)
    assert fit_quotas(small, "cpu", folder, asked=("device", "dram", "disk")) == (small, ())
    memory = psutil.virtual_memory().total
    for name in ("device", "dram", "disk"):
        huge = replace(small, **{f"{name}_quota_bytes": 2**60})
        fitted, warnings = fit_quotas(huge, "cpu", folder)
        assert warnings == ()
        assert 0 < getattr(fitted, f"{name}_quota_bytes") < 2**50
        with pytest.raises(UserError, match="negative"):
            fit_quotas(replace(small, **{f"{name}_quota_bytes": -1}), "cpu", folder)
        if name == "dram":
            kept, warnings = fit_quotas(huge, "cpu", folder, asked=("dram",))
            assert kept == huge
            assert len(warnings) == 1
            assert "--dram-quota" in warnings[0]
        else:
            with pytest.raises(UserError, match=f"--{name}-quota"):
                fit_quotas(huge, "cpu", folder, asked=(name,))
    assert (
        fit_quotas(replace(small, dram_quota_bytes=memory + 1), "cpu", folder)[0].dram_quota_bytes
        == memory // 2
    )


class Lock:
    """Page-locked memory without a GPU."""

    def __init__(self, size_bytes):
        self.memory = torch.zeros(size_bytes, dtype=torch.uint8)

    def free(self):
        pass


@pytest.mark.parametrize(("gpu", "steps"), [(None, list(range(1, 20))), ("cuda", [8, 16, 19])])
def test_a_pool_grows_up_to_its_quota_on_a_gpu_in_slabs(monkeypatch, gpu, steps):
    monkeypatch.setattr(tiers, "PageLock", Lock)
    shape = KVShape(2, 2, 1, 4, torch.float32)
    page_bytes = 8 * shape.frame_bytes()
    pool = PoolTier("dram", shape, 8, 19 * page_bytes + 5, "cpu", gpu and torch.device(gpu))
    info = PageInfo(0, 0, 8, 0, 0)
    assert pool._slots == 0
    sizes = []
    while pool.has_room(info):
        pool._free.pop()
        sizes.append(pool._slots)
    assert (len(sizes), sorted(set(sizes))) == (19, steps)
    pool.close()


def test_large_pages_come_one_by_one(monkeypatch):
    shape = KVShape(2, 2, 1, 4, torch.float32)
    page_bytes = 8 * shape.frame_bytes()
    monkeypatch.setattr("worldattention.core.hkv.tiers.SLAB_BYTES", page_bytes // 2)
    monkeypatch.setattr(tiers, "PageLock", Lock)
    pool = PoolTier("dram", shape, 8, 5 * page_bytes, "cpu", torch.device("cuda"))
    assert pool.has_room(PageInfo(0, 0, 8, 0, 0))
    assert pool._slots == 1
    pool.close()


def test_a_machine_without_the_memory_stops_the_pool_with_one_notice(monkeypatch):
    shape = KVShape(2, 2, 1, 4, torch.float32)
    pool = PoolTier("dram", shape, 8, 100 * 8 * shape.frame_bytes(), "cpu")
    info = PageInfo(0, 0, 8, 0, 0)
    assert pool.has_room(info)

    def empty(*args, **kwargs):
        raise torch.OutOfMemoryError("no")

    monkeypatch.setattr(heap, "_map", empty)
    pool._free.clear()
    assert not pool.has_room(info)
    assert not pool.has_room(info)
    (notice,) = pool.take_notices()
    assert "dram" in notice
    assert pool.take_notices() == []


def test_page_locked_memory_is_made_ready_before_it_is_needed(monkeypatch):
    """On a GPU a slab takes seconds: it is made in the background, ahead; the last three replace those on loan."""
    shape = KVShape(2, 2, 1, 4, torch.float32)
    real, threads = torch.empty, []

    def empty(*args, **kwargs):
        threads.append(threading.current_thread().name)
        kwargs.pop("pin_memory", None)
        return real(*args, **kwargs)

    monkeypatch.setattr(torch, "empty", empty)
    pool = PoolTier("dram", shape, 8, 19 * 8 * shape.frame_bytes(), "cpu", torch.device("cuda"))
    monkeypatch.setattr(StoredPage, "behind", lambda self, gpu: self)
    keys = torch.randn(shape.tensor(8))
    for page in range(19):
        info = PageInfo(page, 8 * page, 8, 0, 0)
        assert pool.has_room(info)
        pool.take(page, PageData(info, keys + page, keys))
    assert not pool.has_room(PageInfo(19, 0, 8, 0, 0))
    assert pool.used_bytes <= pool.quota_bytes
    while pool._growth is not None:
        assert pool._growth.done.wait(60)
        pool.collect()
    assert threads == ["page-pinner-dram"] * 6
    assert pool._slots == 22
    for page in range(19):
        assert torch.equal(pool.fetch(page, None).page.decode().keys, keys + page)
    pool.close()


def test_a_recall_into_a_full_device_waits_for_no_page_locking(monkeypatch):
    """Three pages go up and three down, while the places of those that went up are still being read."""
    shape = KVShape(2, 2, 1, 4, torch.float32)
    info = PageInfo(0, 0, 8, 0, 0)
    monkeypatch.setattr(tiers, "PageLock", Lock)
    monkeypatch.setattr("worldattention.core.hkv.tiers.SLAB_BYTES", 1)
    monkeypatch.setattr(StoredPage, "behind", lambda self, gpu: self)
    pool = PoolTier("dram", shape, 8, 9 * 8 * shape.frame_bytes(), "cpu", torch.device("cuda"))
    for page in range(9):
        assert pool.has_room(info)
        pool.take(page, PageData(info, *torch.randn(2, *shape.tensor(8))))
    while pool._growth is not None:
        assert pool._growth.done.wait(60)
        pool.collect()
    read = [pool.fetch(page, None).loan for page in (2, 3, 4)]
    monkeypatch.setattr(tiers, "PageLock", None)
    for page in (2, 3, 4):
        pool.leave(page)
        assert pool.has_room(info)
        pool.take(10 + page, PageData(info, *torch.randn(2, *shape.tensor(8))))
    assert pool.used_bytes == pool.quota_bytes
    for loan in read:
        loan.drop()
    assert len(pool._free) == 3
    pool.close()


def test_memory_for_pages_that_are_read_ahead_is_locked_as_soon_as_a_file_is_there(tmp_path, monkeypatch):
    shape = KVShape(2, 2, 1, 4, torch.float32)
    size, threads = page_bytes(RAW, shape, 8), []

    def lock(size_bytes):
        threads.append((threading.current_thread().name, size_bytes))
        return Lock(size_bytes)

    monkeypatch.setattr(page_lock, "PageLock", lock)
    monkeypatch.setattr(StoredPage, "behind", lambda self, gpu: self)
    options = DiskOptions(prefetch_bytes=3 * size, gpu=torch.device("cuda"))
    tier = DiskTier(shape, "", 100 * size, tmp_path, options)
    numbers = torch.randn(8, 2, *shape.tensor(8))
    for page in range(8):
        tier.take(page, PageData(PageInfo(page, 8 * page, 8, 0, page), *numbers[page]))
        tier.flush()
    assert threads.count(("page-reader", size)) == 3
    before = len(threads)
    for _ in range(4):  # memory comes back and is used again
        tier.request([1, 5, 6])
        for page in (1, 5, 6):
            assert torch.equal(tier.fetch(page, None).page.decode().keys, numbers[page, 0])
    assert len(threads) == before
    tier.close()


def test_locked_memory_comes_back_with_its_last_view(monkeypatch):
    monkeypatch.setattr(page_lock, "PageLock", Lock)
    pool = LockedPool()
    small, large = pool.take(10), pool.take(1000)
    address, part = large.data_ptr(), large[3:7]
    del small, large
    assert pool.take(1200).data_ptr() != address  # a part of it is still read
    assert len(pool._free) == 2
    del part
    assert len(pool._free) == 3
    again = pool.take(900)
    assert again.data_ptr() == address
    pool.close()
    del again
    assert not pool._free


@pytest.mark.parametrize("codec", ["bf16", "fp8"])
def test_on_a_gpu_a_recalled_page_crosses_the_bus_once(tmp_path, monkeypatch, codec):
    """What was decoded on the device is copied there; its place below is free as soon as that is done."""

    class Passed:
        done = False

        def query(self):
            return self.done

    shape = KVShape(2, 2, 1, 4, torch.bfloat16)
    size, coded = page_bytes(RAW, shape, 8), page_bytes(CODECS[codec], shape, 8)
    monkeypatch.setattr(StoredPage, "behind", lambda self, gpu: replace(self, ready=gpu and Passed()))
    config = CacheConfig(
        codec=codec,
        device_quota_bytes=2 * size,
        dram_quota_bytes=9 * coded,
        disk_quota_bytes=0,
        folder=tmp_path,
    )
    store = open_store(config, shape)
    pages = [
        PageData(PageInfo(i, 8 * i, 8, 0, i), *torch.randn(2, *shape.tensor(8)).bfloat16()) for i in range(6)
    ]
    handles = [store.put(page) for page in pages]
    store.flush()
    store._gpu = torch.device("cuda")
    assert [store.tier_of(handle) for handle in handles] == ["dram"] * 4 + ["device"] * 2
    device, dram = store._tiers[:2]
    found = store.acquire(handles[:2])
    assert not any(arrival.job.handle in handles[:2] for arrival in device._arrivals.values())
    assert [store.tier_of(handle) for handle in handles] == ["device"] * 2 + ["dram"] * 4
    for handle, page, data in zip(handles, pages, found, strict=False):
        stored = lay_out(page.info, shape, CODECS[codec], torch.empty(coded, dtype=torch.uint8))
        encode_page(page, stored)
        assert torch.equal(data.keys, stored.decode().keys)
        assert data.keys.data_ptr() == device._pages[handle].page.decode().keys.data_ptr()
    store.flush()
    assert dram._on_loan == 2  # the GPU still reads them
    for page, _ in store._decoded:
        page.ready.done = True
    store.sweep()
    assert dram._on_loan == 0
    for handle in handles[:2]:
        store.release_pin(handle)
    store.close()


def test_memory_that_cannot_be_made_ready_ahead_is_asked_for_again_when_it_is_needed(monkeypatch):
    shape = KVShape(2, 2, 1, 4, torch.float32)
    info, asked = PageInfo(0, 0, 8, 0, 0), []

    def lock(size_bytes):
        asked.append(threading.current_thread().name)
        if len(asked) == 2:
            raise RuntimeError("no memory now")
        return Lock(size_bytes)

    monkeypatch.setattr(tiers, "PageLock", lock)
    monkeypatch.setattr("worldattention.core.hkv.tiers.SLAB_BYTES", 1)
    pool = PoolTier("dram", shape, 8, 3 * 8 * shape.frame_bytes(), "cpu", torch.device("cuda"))
    for page in range(3):
        assert pool.has_room(info)
        pool.take(page, PageData(info, *torch.randn(2, *shape.tensor(8))))
        pool.flush()
        while pool._growth is not None:
            assert pool._growth.done.wait(60)
            pool.collect()
    assert asked == ["page-pinner-dram"] * 2 + ["MainThread"] * 2
    assert pool.take_notices() == []
    assert not pool.has_room(info)
    pool.close()
