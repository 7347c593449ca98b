"""The heap of a long world (CASES 7)."""

import platform
import subprocess
import sys

from worldattention.core.heap import keep_heap_whole

SCRIPT = """
import ctypes, sys
import torch
from worldattention.core.heap import MAPPED_BYTES, keep_heap_whole

class Figures(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena a b c mapped d e f g h".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Figures
if sys.argv[1] == "kept":
    assert keep_heap_whole()
page = torch.ones(2 * MAPPED_BYTES, dtype=torch.uint8)
del page  # glibc now takes buffers of this size from the heap, unless it was told not to
before = libc.mallinfo2().arena
page = torch.ones(MAPPED_BYTES, dtype=torch.uint8)
print(libc.mallinfo2().arena - before)
"""


def grown(how: str) -> int:
    """Bytes by which the heap grows for a page."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_case_7_pages_lie_outside_the_heap():
    if platform.libc_ver()[0] == "glibc":
        assert grown("kept") == 0
        assert grown("as it is") > 8 << 20
    else:
        assert not keep_heap_whole()
