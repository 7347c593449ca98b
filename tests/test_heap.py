"""The heap of a long world (CASES 7)."""

import platform
import subprocess
import sys

import pytest
import torch

from worldattention.core.heap import keep_heap_whole, lasting_memory
from worldattention.core.out_of_memory import bytes_asked, is_out_of_memory

SCRIPT = """
import ctypes, sys
import torch
from worldattention.core.heap import MAPPED_BYTES, keep_heap_whole, lasting_copy, lasting_memory

class Figures(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena a b c mapped d e used g h".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Figures
if sys.argv[1] == "kept":
    assert keep_heap_whole()
if sys.argv[1] == "lasting":
    hole = torch.ones(8 << 20, dtype=torch.uint8)  # in the heap
    pinned = torch.ones(1 << 10, dtype=torch.uint8)
    del hole
    before = libc.mallinfo2().used
    page = lasting_memory((2, 3, 1 << 20), torch.uint8)
    assert page.sum() == 0 and page.shape == (2, 3, 1 << 20)
    copy = lasting_copy(page.fill_(1))
    assert copy.sum() == 6 << 20
    print(libc.mallinfo2().used - before)
    sys.exit()
page = torch.ones(2 * MAPPED_BYTES, dtype=torch.uint8)
del page  # glibc now takes buffers of this size from the heap, unless it was told not to
before = libc.mallinfo2().arena
page = torch.ones(MAPPED_BYTES, dtype=torch.uint8)
print(libc.mallinfo2().arena - before)
"""


def grown(how: str) -> int:
    """Bytes by which the heap, or what is used of it, grows for a page."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_case_7_pages_lie_outside_the_heap():
    if platform.libc_ver()[0] == "glibc":
        assert grown("kept") == 0
        assert grown("as it is") > 8 << 20
    else:
        assert not keep_heap_whole()


def test_case_7_what_lasts_takes_no_hole_of_the_heap():
    if platform.libc_ver()[0] == "glibc":
        assert grown("lasting") < 100_000


def test_lasting_memory_of_no_size_and_without_memory():
    assert lasting_memory((2, 0, 3), torch.bfloat16).shape == (2, 0, 3)
    with pytest.raises(RuntimeError, match="can't allocate memory: you tried to allocate") as told:
        lasting_memory((1 << 30, 1 << 30), torch.uint8)
    assert is_out_of_memory(told.value)
    assert bytes_asked(str(told.value)) == 1 << 60
