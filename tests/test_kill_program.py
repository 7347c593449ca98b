"""kill -9 of the whole program: it starts again, cleans up after the dead one, and loses at most 10 s of work."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FEW = pytest.mark.timeout(300)
FULL = [pytest.mark.endurance, pytest.mark.timeout(7200)]


def kill(kind, folder, kills, period_s):
    """See `killed_program`; what its last line tells."""
    command = [
        sys.executable,
        str(ROOT / "tests" / "killed_program.py"),
        kind,
        str(folder),
        str(kills),
        str(period_s),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "packaging" / "typing")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    print(done.stdout)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kills"] == kills
    return told


@pytest.mark.parametrize(
    ("kills", "period_s"), [pytest.param(2, 1.0, marks=FEW), pytest.param(200, 8.0, marks=FULL)]
)
def test_case_25_a_killed_window_starts_again_and_offers_what_was_unsaved(tmp_path, kills, period_s):
    told = kill("window", tmp_path, kills, period_s)
    assert told["most_lost_s"] <= 10
    if kills > 100:
        assert told["with_leftovers"] > 100
        assert told["offered"] > 30


@pytest.mark.parametrize("kills", [pytest.param(3, marks=FEW), pytest.param(200, marks=FULL)])
def test_case_08_a_killed_render_leaves_nothing_behind_the_next_one(tmp_path, kills):
    told = kill("render", tmp_path, kills, 1.0)
    if kills > 100:
        assert told["with_leftovers"] > 100
