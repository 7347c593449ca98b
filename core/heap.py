"""What outlives a block lies outside the heap, so that a long world does not grow (CASES 7).

Pages that share the heap with short-lived activations break it up, by tens of megabytes a minute: an allocator
puts the one into the holes which the other leaves. So lasting memory is mapped from the system, and goes back to it.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import platform
from collections.abc import Sequence

import torch
from torch import Tensor

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_MAPPED_BYTES = 32 << 20
_KEPT_BYTES = 256 << 20
_HUGE_BYTES = 4 << 20  # from here on huge pages: thousands of page faults fewer for a page of keys


def lasting_memory(shape: Sequence[int], dtype: torch.dtype, device: torch.device | str = "cpu") -> Tensor:
    """Zeros of this shape for what outlives a block.

    Raises RuntimeError, as torch does, when there is no memory.
    """
    if torch.device(device).type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    size = math.prod(shape) * dtype.itemsize
    return _map(size).view(dtype).view(tuple(shape)) if size else torch.empty(shape, dtype=dtype)


def lasting_copy(source: Tensor) -> Tensor:
    """A copy that outlives a block."""
    return lasting_memory(source.shape, source.dtype, source.device).copy_(source)


def _map(size_bytes: int) -> Tensor:
    """Zeroed memory of its own, `[size_bytes]` uint8; unmapped with its last view."""
    private = {} if platform.system() == "Windows" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    try:
        memory = mmap.mmap(-1, size_bytes, **private)
    except OSError as error:
        raise RuntimeError(f"can't allocate memory: you tried to allocate {size_bytes} bytes") from error
    if size_bytes >= _HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=torch.uint8)


def keep_heap() -> bool:
    """Lets the heap keep what every block needs anew, which else goes back to the system and is asked for again.

    False where the C library is not glibc.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    return bool(
        libc.mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES) and libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
    )
