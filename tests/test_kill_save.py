"""A save that is killed: the old or the new project stands there, never neither (CASES 25)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SAVER = """
import os, random, signal, sys, time
from pathlib import Path
from worldattention.core.project import Project, load_project, save_project
from worldattention.core.timeline import Event, make_timeline

path, count = Path(sys.argv[1]), int(sys.argv[2])
events = [Event(number, number, number + 1, "a prompt " * 40) for number in range(1, 120)]
timeline = make_timeline(events)


def project(number):
    return Project(str(number), timeline=timeline)


last = 0
save_project(project(last), path)
for _ in range(count):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.write(write, b"s")
        number = last
        while True:
            number += 1
            save_project(project(number), path)
            os.write(write, b".")
    os.close(write)
    os.read(read, 1)
    time.sleep(random.random() * 0.06)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    saved = 0
    while data := os.read(read, 65536):
        saved += len(data)
    os.close(read)
    now = int(load_project(path).name)
    assert now - last in (saved, saved + 1), (last, saved, now)
    assert load_project(path).timeline == timeline
    last = now
print(last)
"""


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.endurance)])
def test_case_25_a_save_that_is_killed_leaves_the_old_or_the_new_project(tmp_path, count):
    path = tmp_path / "한글 폴더 ñ" / "world.world"
    path.parent.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SAVER, str(path), str(count)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "packaging" / "typing")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0  # some saves went through between the kills
