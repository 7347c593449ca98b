"""Small banks over tiny quotas, and disks that fail or dawdle as a test wants them to."""

from __future__ import annotations

import threading

import torch

from worldattention.core.config import CacheConfig
from worldattention.core.hkv.bank import KVBank
from worldattention.core.hkv.codec import CODECS, page_bytes
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.page import KVShape
from worldattention.core.hkv.page_file import PageKey
from worldattention.core.hkv.store import open_store

SHAPE = KVShape(layers=3, frame_tokens=2, heads=2, head_dim=4, dtype=torch.bfloat16)
PAGE_BYTES = 8 * SHAPE.frame_bytes()
FILE_BYTES = PageKey(bytes(16), 0, "", SHAPE, 8).file_bytes()


class GatedDisk(DiskIO):
    """Reads and writes wait until their gate is open."""

    def __init__(self, reads: bool = True, writes: bool = True) -> None:
        self.reads, self.writes = threading.Event(), threading.Event()
        if reads:
            self.reads.set()
        if writes:
            self.writes.set()

    def read(self, descriptor: int, part: memoryview) -> int:
        assert self.reads.wait(60)
        return super().read(descriptor, part)

    def write(self, descriptor: int, part: memoryview) -> int:
        assert self.writes.wait(60)
        return super().write(descriptor, part)


def new_frames(count: int, shape: KVShape = SHAPE) -> torch.Tensor:
    return torch.randn(2, *shape.tensor(count)).to(shape.dtype)


def make_bank(folder, device=1, dram=1, disk=100, io=None, begin=True, **cache):
    """Quotas in pages of the codec."""
    codec = CODECS[cache.get("codec", "bf16")]
    file_bytes = PageKey(bytes(16), 0, "", SHAPE, 8, codec).file_bytes()
    config = CacheConfig(
        device_quota_bytes=device * PAGE_BYTES,
        dram_quota_bytes=dram * page_bytes(codec, SHAPE, 8),
        disk_quota_bytes=disk * file_bytes,
        folder=folder,
        **cache,
    )
    bank = KVBank(SHAPE, config, [0, 2], open_store(config, SHAPE, fingerprint="pocket", disk=io))
    if begin:
        bank.begin_chunk(torch.ones(4), "a prompt")
    return bank


def fill(bank, pages):
    """Append whole pages; returns their keys and values, `[2, layers, pages * 16, H, D]`."""
    frames = new_frames(8 * pages)
    bank.append(*frames)
    return frames


def tiers_of(bank):
    return [bank.tier_of(page) for page in range(len(bank.pages))]


def usage(bank, name="disk"):
    return next(tier for tier in bank.usage() if tier.name == name)


def same_page(data, frames, page):
    part = slice(16 * page, 16 * page + 16)
    return torch.equal(data.keys, frames[0][:, part]) and torch.equal(data.values, frames[1][:, part])
