"""Two programs at once on one cache folder, others killed beside them: neither harms the other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BESIDE = """
import json, os, random, signal, sys, time
from pathlib import Path
sys.path.append(sys.argv[3])
from tests.faulty_disk import PageWorld
from worldattention.core.hkv.session import remove_dead_sessions

cache, kills = Path(sys.argv[1]), int(sys.argv[2])
stop_read, stop_write = os.pipe()
told_read, told_write = os.pipe()
living = []
for number in range(2):
    child = os.fork()
    if child == 0:
        os.close(stop_write)
        os.set_blocking(stop_read, False)
        world, turns, cleaned, stopped = PageWorld(cache, disk=40, write_through=number == 1), 0, 0, False
        while not stopped or turns < 30:
            world.grow(1 + turns % 2)
            world.recall(*random.sample(range(len(world.bank.pages)), min(3, len(world.bank.pages))))
            world.bank._store.flush()
            cleaned += remove_dead_sessions(cache)
            turns += 1
            if turns % 20 == 0:  # a small world, again and again
                missed = world.missed
                drops = sum(tier.drops for tier in world.bank.usage())
                assert missed <= drops * 30
                assert world.bank.usage()[-1].active, "its disk tier is off"
                world.close()
                world = PageWorld(cache, disk=40, write_through=number == 1)
            try:
                stopped |= os.read(stop_read, 1) == b""
            except BlockingIOError:
                pass
        assert world.missed == 0 or sum(tier.drops for tier in world.bank.usage()) > 0
        assert world.notices == [notice for notice in world.notices if "disk tier" not in notice]
        world.close()
        os.write(told_write, json.dumps([turns, cleaned]).encode() + b"\\n")
        os._exit(0)
    living.append(child)
for _ in range(kills):
    child = os.fork()
    if child == 0:
        world = PageWorld(cache, disk=40)
        while True:
            world.grow(1)
            world.recall(len(world.bank.pages) // 2)
    time.sleep(random.random() * 0.15)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
os.close(stop_write)
for child in living:
    assert os.waitpid(child, 0)[1] == 0
os.close(told_write)
with os.fdopen(told_read) as pipe:
    turns = [json.loads(line) for line in pipe]
remove_dead_sessions(cache)
left = [path for path in cache.rglob("*") if path.name == "worldattention-session"]
print(json.dumps({"turns": turns, "left": len(left)}))
"""


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.endurance)])
def test_case_10_two_living_programs_and_killed_ones_share_a_cache_folder(tmp_path, kills):
    """Every page that a living one recalls is compared with the truth; dead sessions are removed by the living ones."""
    command = [sys.executable, "-c", BESIDE, str(tmp_path / "한글 캐시"), str(kills), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    print(told)
    assert told["left"] == 0
    assert len(told["turns"]) == 2
    assert sum(cleaned for _, cleaned in told["turns"]) > kills // 20 - 1
