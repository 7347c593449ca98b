"""The heap of a long world (CASES 7)."""

import mmap
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from worldattention.core import heap
from worldattention.core.heap import keep_heap, lasting_memory
from worldattention.core.out_of_memory import bytes_asked, is_out_of_memory

SCRIPT = """
import ctypes
import torch
from worldattention.core.heap import lasting_copy, lasting_memory

class Figures(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena a b c mapped d e used g h".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Figures
hole = torch.ones(8 << 20, dtype=torch.uint8)  # in the heap
pinned = torch.ones(1 << 10, dtype=torch.uint8)
del hole
before = libc.mallinfo2().used
page = lasting_memory((2, 3, 1 << 20), torch.uint8)
assert page.sum() == 0 and page.shape == (2, 3, 1 << 20)
copy = lasting_copy(page.fill_(1))
assert copy.sum() == 6 << 20
print(libc.mallinfo2().used - before)
"""

HUGE_SCRIPT = """
import resource
import threading
import torch
from worldattention.core.heap import keep_heap

def place(tensor):
    flags = inside = ""
    for line in open("/proc/self/smaps"):
        name, _, rest = line.partition(" ")
        if name[:1] in "0123456789abcdef":
            first, _, last = name.partition("-")
            inside = int(first, 16) <= tensor.data_ptr() + (8 << 20) < int(last, 16) and rest
        elif inside and name == "VmFlags:":
            return "[heap]" in inside, "hg" in rest.split()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(2):  # as when a second world is opened
    other = threading.Thread(target=keep_heap)
    other.start()
    other.join()
    assert keep_heap()
weights = torch.ones(20 << 20, dtype=torch.uint8)
for _ in range(4):
    before = faults()
    block = [torch.ones(20 << 20, dtype=torch.uint8) for _ in range(15)]
    del block
assert keep_heap()
print(*place(weights), faults() - before)
"""


ROOM_SCRIPT = """
import sys
import threading
import psutil
import torch
from worldattention.core.heap import keep_heap, take_room

def rss():
    return psutil.Process().memory_info().rss >> 20

assert keep_heap()
weights = torch.ones(20 << 20, dtype=torch.uint8)
at_first = rss()
if sys.argv[1] == "main":
    take_room()
else:
    other = threading.Thread(target=take_room)
    other.start()
    other.join()
taken = rss()
block = [torch.ones(20 << 20, dtype=torch.uint8) for _ in range(5)]
print(taken - at_first, rss() - taken)
"""


def used_bytes() -> int:
    """What the script prints: bytes that became used in the heap."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_the_heap_is_told_to_keep_what_every_block_needs():
    assert keep_heap() == (platform.libc_ver()[0] == "glibc")


def test_what_every_block_needs_lies_in_huge_pages_and_is_kept():
    if platform.libc_ver()[0] != "glibc":
        return
    done = subprocess.run([sys.executable, "-c", HUGE_SCRIPT], capture_output=True, text=True, check=True)
    in_heap, huge, faults = done.stdout.split()
    assert in_heap == "True"
    assert huge == str(Path("/sys/kernel/mm/transparent_hugepage").exists())
    assert int(faults) < 100  # 300 MB would be 150, or 76,800 of small pages


@pytest.mark.parametrize(("thread", "most"), [("main", (140, 10)), ("other", (10, 110))])
def test_case_7_room_for_blocks_is_taken_at_once(thread, most):
    if platform.libc_ver()[0] != "glibc" or tuple(map(int, platform.release().split(".")[:2])) < (5, 14):
        return
    command = [sys.executable, "-c", ROOM_SCRIPT, thread]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    taken, grown = map(int, done.stdout.split())
    assert taken in range(most[0] - 30, most[0]) if thread == "main" else taken < most[0]
    assert grown in range(most[1] - 30, most[1])


def test_case_7_what_lasts_takes_no_hole_of_the_heap():
    if platform.libc_ver()[0] == "glibc":
        assert used_bytes() < 100_000


def test_large_memory_lies_in_huge_pages_where_the_system_has_them(monkeypatch):
    advised = []

    class Mapping(mmap.mmap):
        def madvise(self, advice):
            advised.append((len(self), advice))
            raise OSError(22, "no huge pages")

    monkeypatch.setattr(heap.mmap, "mmap", Mapping)
    for size in (1 << 20, 12 << 20):
        assert lasting_memory((size,), torch.uint8).sum() == 0
    huge = getattr(mmap, "MADV_HUGEPAGE", None)
    assert advised == ([] if huge is None else [(12 << 20, huge)])


def test_lasting_memory_of_no_size_and_without_memory():
    assert lasting_memory((2, 0, 3), torch.bfloat16).shape == (2, 0, 3)
    with pytest.raises(RuntimeError, match="can't allocate memory: you tried to allocate") as told:
        lasting_memory((1 << 30, 1 << 30), torch.uint8)
    assert is_out_of_memory(told.value)
    assert bytes_asked(str(told.value)) == 1 << 60
