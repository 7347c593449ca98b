"""Cache sessions: private, locked while they live, removed when they are dead, and only ours."""

import fcntl
import os
import secrets
import stat
import subprocess
import sys

import pytest

from worldattention.core.hkv.session import MARKER, CacheSession, remove_dead_sessions


def test_sessions_are_private_locked_and_removed(tmp_path):
    root = tmp_path / "cache" / "pages"
    first, second = CacheSession(root), CacheSession(root)
    assert first.folder != second.folder
    assert stat.S_IMODE(first.folder.stat().st_mode) == 0o700
    first.page_path(3).write_bytes(b"x")
    assert remove_dead_sessions(root) == 0
    first.close()
    first.close()
    assert os.listdir(root) == [second.folder.name]
    second.close()
    assert os.listdir(root) == []


def test_only_dead_marked_sessions_are_removed(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from worldattention.core.hkv.session import CacheSession;"
        "s = CacheSession(Path(sys.argv[1])); s.page_path(1).write_bytes(b'x');"
        "print(s.folder.name, flush=True); os._exit(9)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    dead = tmp_path / run.stdout.strip()
    assert run.returncode == 9
    assert (dead / MARKER).exists()
    unmarked, foreign = tmp_path / "session-unmarked", tmp_path / "photos"
    for folder in (unmarked, foreign):
        folder.mkdir()
        (folder / "lock").touch()
        (folder / "1.page").write_bytes(b"x")
    (foreign / MARKER).write_bytes((dead / MARKER).read_bytes())
    target = tmp_path / "target"
    dead_copy = tmp_path / "session-linked"
    target.mkdir()
    for name in (MARKER, "lock"):
        (target / name).write_bytes((dead / name).read_bytes())
    dead_copy.symlink_to(target)
    alive = CacheSession(tmp_path)
    assert remove_dead_sessions(tmp_path) == 1
    assert not dead.exists()
    for folder in (unmarked, foreign, target, alive.folder):
        assert (folder / "lock").exists()
    alive.close()
    assert remove_dead_sessions(tmp_path / "nowhere") == 0


AFTER_KILLS = {  # what a kill leaves: files and their contents, in the order of a session's making and removal
    "only the folder": {},
    "not yet locked": {"lock": ""},
    "an empty marker": {"lock": "", MARKER: ""},
    "half a marker": {"lock": "", MARKER: "worldattention page"},
    "half a page": {"lock": "", MARKER: "worldattention page cache, version 1\n", "00000001.tmp": "x"},
    "half removed": {"lock": "", MARKER: "worldattention page cache, version 1\n"},
    "marker removed": {"lock": ""},
}


@pytest.mark.parametrize("moment", AFTER_KILLS)
def test_what_a_kill_leaves_at_any_moment_is_removed_in_time(tmp_path, moment):
    folder = tmp_path / f"session-{secrets.token_hex(16)}"
    folder.mkdir()
    for name, content in AFTER_KILLS[moment].items():
        (folder / name).write_text(content)
    marked = MARKER in AFTER_KILLS[moment]
    remove_dead_sessions(tmp_path)
    assert folder.exists() is not marked  # it may be just being made
    if not marked:
        os.utime(folder, (0, 0))
        remove_dead_sessions(tmp_path)
    assert not folder.exists()


def test_what_is_old_and_unmarked_but_locked_or_another_s_stays(tmp_path):
    held, foreign = (tmp_path / f"session-{number:032x}" for number in range(2))
    named = tmp_path / "session-of-mine"
    for folder in (held, foreign, named):
        folder.mkdir()
        (folder / "lock").touch()
    (foreign / "thesis.txt").write_text("mine")
    with (held / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for folder in (held, foreign, named):
            os.utime(folder, (0, 0))
        remove_dead_sessions(tmp_path)
        assert all((folder / "lock").exists() for folder in (held, foreign, named))
    assert (foreign / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("ending", ["sys.exit(0)", "raise ValueError"])
def test_a_program_that_ends_leaves_no_session(tmp_path, ending):
    code = (
        "import os, sys; from pathlib import Path; from worldattention.core.hkv.session import CacheSession;"
        f"s = CacheSession(Path(sys.argv[1])); {ending}"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=False)
    assert os.listdir(tmp_path) == []


def test_a_forked_child_leaves_its_parent_s_session(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from worldattention.core.hkv.session import CacheSession;"
        "s = CacheSession(Path(sys.argv[1])); child = os.fork();"
        "child or sys.exit(0); os.waitpid(child, 0); print(s.folder.exists())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "True"
    assert os.listdir(tmp_path) == []


def test_a_stranger_s_file_in_a_dead_session_survives(tmp_path):
    session = CacheSession(tmp_path)
    (session.folder / "thesis.txt").write_text("mine")
    session.close()
    assert (session.folder / "thesis.txt").read_text() == "mine"
    assert os.listdir(session.folder) == ["thesis.txt"]
