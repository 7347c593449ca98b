"""What outlives a block lies outside the heap, so that a long world does not grow (CASES 7).

Pages that share the heap with short-lived activations break it up, by tens of megabytes a minute: an allocator
puts the one into the holes which the other leaves. So lasting memory is mapped from the system, and goes back to it.
The heap itself lies in huge pages, so that a pass of the model does not wait for the addresses of its numbers.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import platform
import threading
from collections.abc import Sequence

import torch
from torch import Tensor

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h
_USUAL_TOP_PAD = 128 << 10
_MAPPED_BYTES = 32 << 20
_KEPT_BYTES = 256 << 20
_AHEAD_BYTES = 512 << 20  # the pocket world with its weights; address space until it is used
_ROOM_BYTES = 128 << 20  # of which the passes of a pocket world's block have reached 106 MB
_HUGE_PAGE_BYTES = 2 << 20
_MADV_POPULATE_WRITE = 23  # mman-common.h, Linux 5.14
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

    Called before weights are loaded, which lie in the heap too: from there on it grows in huge pages. In small ones
    a block takes longer, the more the busier the machine's memory is, and holes that it fills only now and then count
    as growth whenever that happens. False where the C library is not glibc.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    mapped = libc.mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
    kept = libc.mallopt(_M_TRIM_THRESHOLD, _AHEAD_BYTES + _KEPT_BYTES)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        _grow_in_huge_pages(libc)
    return bool(mapped and kept)


def _grow_in_huge_pages(libc: ctypes.CDLL) -> None:
    """Takes address space for the main thread's heap ahead, and asks for huge pages there.

    Elsewhere it changes nothing: other threads have heaps of their own, and a system may have no huge pages.
    """
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.mallopt(_M_TOP_PAD, _AHEAD_BYTES)
    piece = libc.malloc(_MAPPED_BYTES // 2)  # more than is free, so that the heap grows
    libc.mallopt(_M_TOP_PAD, _USUAL_TOP_PAD)  # which counts for the heaps of all threads
    libc.free(piece)
    start, end = -(-(piece or 0) // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES, libc.sbrk(0)
    if piece and start < end <= piece + _MAPPED_BYTES + _AHEAD_BYTES:
        libc.madvise(start, end - start, mmap.MADV_HUGEPAGE)


class _Mallinfo2(ctypes.Structure):
    """malloc.h, of the C library 2.33 and later."""

    _fields_ = [*((f"other_{n}", ctypes.c_size_t) for n in range(9)), ("keepcost", ctypes.c_size_t)]


def take_room() -> None:
    """Takes at once what the next blocks need of the main thread's heap, when weights lie there already.

    How much room a block's activations want beside what they hold is chance: small things that lie between keep holes
    from being joined, and the block that wants most may come minutes after the first (CASES 7). Elsewhere, and in
    another thread, it changes nothing.
    """
    if platform.libc_ver()[0] != "glibc" or threading.current_thread() is not threading.main_thread():
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return
    libc.mallinfo2.restype = _Mallinfo2
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    free, end = libc.mallinfo2().keepcost, libc.sbrk(0)
    start = -(-(end - free) // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
    room = min(_ROOM_BYTES, end - start)
    if room > 0:
        libc.madvise(start, room, _MADV_POPULATE_WRITE)  # an older system says no, and the heap grows later
