"""Page-locked memory of exactly the size that is asked for.

torch's own allocator rounds up to a power of two (a slot of 2.3 GB would take 4.3) and touches the pages one by one.
"""

from __future__ import annotations

import logging
import mmap
import threading
import weakref

import torch
from torch import Tensor

log = logging.getLogger(__name__)

_PORTABLE_MAPPED = 3
"""cudaHostRegisterPortable | cudaHostRegisterMapped: every context may copy from it, kernels may read it."""


class PageLock:
    """`size_bytes` of zeros as `memory [n]` uint8, locked until `free`. Raises RuntimeError without memory."""

    def __init__(self, size_bytes: int) -> None:
        self._registered = 0
        memory = _touched(size_bytes)
        if memory is not None and _register(memory):
            self.memory, self._registered = memory, memory.data_ptr()
        else:
            del memory
            self.memory = torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)

    def free(self) -> None:
        """Unlocks the memory, which nobody may use any more. Waits for the GPU's work."""
        if self._registered:
            torch.cuda.synchronize()
            torch.cuda.check_error(int(torch.cuda.cudart().cudaHostUnregister(self._registered)))
        self._registered = 0
        self.memory = torch.empty(0, dtype=torch.uint8)


class LockedPool:
    """Page-locked memory that is used again: a piece comes back with its last view. For several threads.

    Locking takes a second for two or three gigabytes, and giving back waits for the GPU.
    """

    def __init__(self) -> None:
        self._all: list[PageLock] = []
        self._free: list[PageLock] = []
        self._mutex = threading.RLock()  # a piece may come back in the middle of anything

    def grow(self, size_bytes: int) -> None:
        """One more piece of this size. Raises RuntimeError without memory."""
        lock = PageLock(size_bytes)
        with self._mutex:
            self._all.append(lock)
            self._free.append(lock)

    def take(self, size_bytes: int) -> Tensor:
        """`[size_bytes]` uint8 of any content. Raises RuntimeError without memory."""
        while (lock := self._pop(size_bytes)) is None:
            self.grow(size_bytes)
        piece = lock.memory[:size_bytes].numpy()
        weakref.finalize(piece, self._give_back, lock).atexit = False
        return torch.from_numpy(piece)

    def close(self) -> None:
        """Unlocks everything; nobody may use a piece any more."""
        with self._mutex:
            locks, self._all, self._free = self._all, [], []
        for lock in locks:
            lock.free()

    def _pop(self, size_bytes: int) -> PageLock | None:
        with self._mutex:
            fitting = [lock for lock in self._free if lock.memory.numel() >= size_bytes]
            if not fitting:
                return None
            smallest = min(fitting, key=lambda lock: lock.memory.numel())
            self._free.remove(smallest)
            return smallest

    def _give_back(self, lock: PageLock) -> None:
        with self._mutex:
            if lock in self._all:
                self._free.append(lock)


def _touched(size_bytes: int) -> Tensor | None:
    """Mapped memory whose pages are there; None where the system has no more."""
    try:
        pages = mmap.mmap(-1, size_bytes)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_HUGEPAGE)
    except (OSError, ValueError) as error:
        log.debug("no huge pages to lock: %s", error)
        return None
    return torch.frombuffer(pages, dtype=torch.uint8).zero_()  # by all threads of torch


def _register(memory: Tensor) -> bool:
    try:
        status = torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), memory.nbytes, _PORTABLE_MAPPED)
        torch.cuda.check_error(int(status))
    except (RuntimeError, AssertionError) as error:  # the latter without CUDA
        log.debug("memory cannot be registered: %s", error)
        return False
    return memory.is_pinned()
