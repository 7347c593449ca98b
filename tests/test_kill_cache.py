"""kill -9 while a world moves its pages: the next one starts, and removes what the dead one left, and only that."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

KILLER = """
import os, random, signal, sys, time
from pathlib import Path
sys.path.append(sys.argv[3])
from tests.faulty_disk import PageWorld

cache, count = Path(sys.argv[1]), int(sys.argv[2])
cache.mkdir()
(cache / "session-of-somebody-else").mkdir()
(cache / "session-of-somebody-else" / "00000001.page").write_text("precious")
(cache / "notes.txt").write_text("precious")
kept = sorted(str(path) for path in cache.rglob("*"))
left = 0
for _ in range(count):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        world = PageWorld(cache)
        world.grow(3)
        world.bank._store.flush()  # its folder carries the marker: before that nobody may take it for ours
        os.write(write, b"s")
        while True:
            world.grow(1)
            world.recall(random.randrange(len(world.bank.pages)))
    os.read(read, 1)
    time.sleep(random.random() * 0.08)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)
    left += sorted(str(path) for path in cache.rglob("*")) != kept
    child = os.fork()
    if child == 0:
        world = PageWorld(cache)
        assert sorted(str(path) for path in cache.rglob("*")) == kept, "the dead session is still there"
        world.run()
        world.close()
        assert sorted(str(path) for path in cache.rglob("*")) == kept
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print(left)
"""


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.endurance)])
def test_case_08_a_killed_world_leaves_nothing_behind_the_next_start(tmp_path, count):
    command = [sys.executable, "-c", KILLER, str(tmp_path / "한글 캐시"), str(count), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == count
