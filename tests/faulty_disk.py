"""Disks whose n-th call goes wrong, and one world of pages that is run over them."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from tests.banks import SHAPE, fill, make_bank, new_frames, same_page
from worldattention.core.hkv.disk_io import DiskIO

CODES = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR}
FAULTS = (*CODES, "short", "end")
"""An error of any call; half of what was asked to be read or written; a read that meets the end, a write of nothing."""


@contextmanager
def tmpfs(folder: Path, size_bytes: int) -> Iterator[bool]:
    """A real file system of that size at `folder`; False where this process may not mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


class FaultyDisk(DiskIO):
    """Call number `nth` of all (or of one operation) goes wrong, and with `once` false all calls after it."""

    def __init__(self, fault: str, nth: int, once: bool, operation: str | None = None) -> None:
        self.calls = 0
        self._fault, self._nth, self._once, self._operation = fault, nth, once, operation
        self._lock = threading.Lock()

    @property
    def was_hit(self) -> bool:
        """Whether there were so many calls."""
        return self.calls > self._nth

    def create(self, path: Path) -> int:
        self._fail("create")
        return super().create(path)

    def open(self, path: Path) -> int:
        self._fail("open")
        return super().open(path)

    def size(self, descriptor: int) -> int:
        self._fail("size")
        return super().size(descriptor)

    def read(self, descriptor: int, part: memoryview) -> int:
        length = self._fail("read", len(part))
        return super().read(descriptor, part[:length]) if length else 0

    def write(self, descriptor: int, part: memoryview) -> int:
        length = self._fail("write", len(part))
        return super().write(descriptor, part[:length]) if length else 0

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._fail("close")

    def replace(self, source: Path, target: Path) -> None:
        self._fail("replace")
        super().replace(source, target)

    def unlink(self, path: Path) -> None:
        self._fail("unlink")
        super().unlink(path)

    def _fail(self, operation: str, length: int = 0) -> int:
        """Counts the call; returns how many bytes it may move. Raises OSError where it is to fail."""
        with self._lock:
            if self._operation not in (None, operation):
                return length
            number, self.calls = self.calls, self.calls + 1
        if number < self._nth or (self._once and number > self._nth):
            return length
        if self._fault == "short":
            return (length + 1) // 2
        if self._fault == "end":
            return 0
        code = CODES[self._fault]
        raise OSError(code, os.strerror(code))


class SlowDisk(DiskIO):
    """Every read and write takes `delay_s` longer."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self._never = threading.Event()

    def read(self, descriptor: int, part: memoryview) -> int:
        self._never.wait(self.delay_s)
        return super().read(descriptor, part)

    def write(self, descriptor: int, part: memoryview) -> int:
        self._never.wait(self.delay_s)
        return super().write(descriptor, part)


class PageWorld:
    """A bank over tiny quotas that is filled, foreseen and recalled; every recalled page is compared with the truth."""

    def __init__(self, folder: Path, io: DiskIO | None = None, disk: int = 4, **cache: object) -> None:
        self.bank = make_bank(folder, disk=disk, io=io, **cache)
        self.history = torch.empty(2, *SHAPE.tensor(0), dtype=SHAPE.dtype)
        self.notices: list[str] = []
        self.missed = 0

    def grow(self, pages: int) -> None:
        """So many pages more."""
        self.history = torch.cat([self.history, fill(self.bank, pages)], 2)
        self._look()

    def recall(self, *pages: int) -> tuple[int, ...]:
        """Recalls pages; returns those that were missed."""
        with self.bank.recall(pages) as recall:
            for page, data in recall.pages.items():
                assert same_page(data, self.history, page), f"page {page} is another one"
            assert set(recall.pages) | set(recall.missed) == set(pages)
            self.missed += len(recall.missed)
        self._look()
        return recall.missed

    def run(self) -> None:
        """Pages come down, are thinned, foreseen, recalled, come down again, and are shared with a fork."""
        for first in range(0, 8, 2):
            self.grow(2)
            self.bank.prefetch(range(first))
            self.recall(*range(max(0, first - 1), first + 1))
        self.bank._store.flush()
        other = self.bank.fork()
        self.recall(0, 3, 6)
        other.append(*new_frames(8))
        other.close()
        self.bank._store.flush()
        self.recall(*range(0, 8, 3))

    def close(self) -> None:
        """Looks at the books a last time."""
        self.bank._store.flush()
        self._look()
        usage = self.bank.usage()
        assert sum(tier.misses for tier in usage) == self.missed
        assert sum("disk tier is off" in notice for notice in self.notices) == (not usage[-1].active)
        assert len(self.notices) == len(set(self.notices))
        self.bank.close()

    def _look(self) -> None:
        self.notices += self.bank.take_notices()
        usage = self.bank.usage()
        assert sum(tier.pages + tier.drops for tier in usage) <= len(self.bank.pages) + self.missed
        assert all(tier.used_bytes <= tier.quota_bytes for tier in usage)
