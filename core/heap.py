"""Large buffers come from the system and go back to it, so that a long world does not grow (CASES 7).

Left alone, glibc raises its limit for memory maps to the largest buffer that was ever freed; pages on their way
between the tiers then lie among short-lived activations, and the heap breaks up by tens of megabytes a minute.
"""

from __future__ import annotations

import ctypes
import platform

_M_MMAP_THRESHOLD = -3  # malloc.h
MAPPED_BYTES = 12 << 20
"""Buffers from this size on, a page of the pocket world in bfloat16, are mapped one by one."""


def keep_heap_whole() -> bool:
    """Fixes the limit for this process; False where the C library is not glibc."""
    if platform.libc_ver()[0] != "glibc":
        return False
    return bool(ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES))
