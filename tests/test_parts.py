"""Half-written files: locked while they are written, deleted when their writer is dead, and nothing else is."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from worldattention.core import parts
from worldattention.core.files import replacing
from worldattention.core.parts import exchange, new_folder_part, new_part, remove_dead_parts

ROOT = Path(__file__).parents[1]
DEAD = ".worldattention-0123456789ab.part"

WRITER = """
import os, sys, time
from pathlib import Path
from worldattention.core.files import replacing
from worldattention.core.parts import new_folder_part
with replacing(Path(sys.argv[1]) / "film.mp4", "the video") as part, new_folder_part(Path(sys.argv[1]) / "w") as folder:
    part.write_text("half")
    (folder / "page").write_text("half")
    print("there", flush=True)
    time.sleep(600)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_parts_of_a_living_program_stay_and_those_of_a_killed_one_go(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "packaging" / "typing")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout.readline() == b"there\n"
            assert remove_dead_parts(tmp_path) == 0
            with replacing(tmp_path / "other", "the file") as part:
                part.write_text("whole")
            assert len(names(tmp_path)) == 3
        finally:
            os.kill(process.pid, signal.SIGKILL)
    with replacing(tmp_path / "other", "the file") as part:
        part.write_text("newer")
    assert names(tmp_path) == ["other"]


def test_only_what_is_surely_ours_is_removed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / f"{DEAD}.link").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / f"{DEAD}.pipe")
    kept = [".worldattention-xyz.part", ".worldattention-0123456789ab.old", f"x{DEAD}", "a.part", f"{DEAD}s"]
    for name in kept:
        (tmp_path / name).write_text("precious")
    (tmp_path / f"{DEAD}.mp4").write_text("half")
    (tmp_path / DEAD).mkdir()
    (tmp_path / DEAD / "page").write_text("half")
    assert remove_dead_parts(tmp_path) == 2
    assert names(tmp_path) == sorted([*kept, "victim", f"{DEAD}.link", f"{DEAD}.pipe"])
    assert (tmp_path / "victim").read_text() == "precious"
    assert remove_dead_parts(tmp_path / "nowhere") == 0


def test_a_part_that_is_taken_for_dead_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """The other program locks, or deletes, between the two steps."""
    made, lock = [], parts._lock

    def meddling(path):
        made.append(path)
        if len(made) == 1:
            path.unlink()
        elif len(made) == 2:
            descriptor = os.open(path, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                return lock(path)
            finally:
                os.close(descriptor)
                path.unlink()
        return lock(path)

    monkeypatch.setattr(parts, "_lock", meddling)
    with new_part(tmp_path / "a.txt", 0o600) as part:
        assert len(made) == 3
        assert part == made[2]
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        assert part.suffix == ".txt"
    assert names(tmp_path) == []


def test_where_there_are_no_locks_nothing_is_taken_for_dead(tmp_path, monkeypatch):
    (tmp_path / DEAD).write_text("half")

    def no_locks(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert remove_dead_parts(tmp_path) == 0
    with new_folder_part(tmp_path / "a") as part:
        part.rename(tmp_path / "a")
    assert names(tmp_path) == [DEAD, "a"]


def test_two_names_are_exchanged_in_one_step_or_not_at_all(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / f"of {name}").write_text("")
    exchange(tmp_path / "a", tmp_path / "b")
    assert names(tmp_path / "a") == ["of b"]
    assert names(tmp_path / "b") == ["of a"]
    with pytest.raises(OSError, match="No such file"):
        exchange(tmp_path / "a", tmp_path / "c")
    monkeypatch.setattr(parts.ctypes, "CDLL", lambda *_, **__: object())
    with pytest.raises(OSError, match="not implemented"):
        exchange(tmp_path / "a", tmp_path / "b")
