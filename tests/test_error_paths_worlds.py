"""Error paths of going back and of saving that only a rare turn of events reaches: each is brought about here."""

from __future__ import annotations

import errno
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.test_telemetry_log import page, record, same
from tests.toy import toy_engine
from worldattention.core import engine as engine_module
from worldattention.core import saved_world
from worldattention.core.errors import UserError
from worldattention.core.files import check_target
from worldattention.core.history import Branch, History
from worldattention.core.hkv.ring import FrameRing
from worldattention.core.project import Project
from worldattention.core.saved_world import save_world
from worldattention.core.telemetry_lines import lines_of, records_of
from worldattention.core.timeline import Event, make_timeline
from worldattention.core.world_files import open_world

STORY = make_timeline([Event(1, 0, 9, "a red house")])


def broken(*_arguments):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def raising(error: type[BaseException]):
    def fail(*_arguments):
        raise error("can't allocate memory")

    return fail


@pytest.mark.parametrize(
    ("owner", "name", "failure", "told"),
    [
        (os, "pread", broken, UserError),
        (engine_module, "replay_decoder", raising(KeyboardInterrupt), KeyboardInterrupt),
        (FrameRing, "restore", raising(RuntimeError), RuntimeError),  # no memory for what its pages hold
    ],
)
def test_a_past_that_cannot_be_brought_back_leaves_the_present_as_it_was(
    tmp_path, monkeypatch, owner, name, failure, told
):
    """Its pages are given up again: nothing stays held, and the world goes on with equal frames."""
    engine, other = (toy_engine(folder=tmp_path / name) for name in ("one", "two"))
    for _ in range(6):
        engine.step("a red house")
        other.step("a red house")
    engine._journal.store.flush()
    store = engine.bank._store
    held = store._owners, [(entry.references, entry.pins) for entry in store._entries.values()]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failure)
        with pytest.raises(told, match="restart it" if told is UserError else None):
            engine.fork_at(4)
    assert (store._owners, [(entry.references, entry.pins) for entry in store._entries.values()]) == held
    assert np.array_equal(engine.step("a blue house").frames, other.step("a blue house").frames)
    engine.close()
    other.close()


def save(engine, folder: Path) -> None:
    history = History((Branch("Main", timeline=STORY, records=tuple(engine.records)),))
    save_world(folder, engine, Project(timeline=STORY), history)


@pytest.mark.parametrize("renames", [True, False])
def test_where_names_cannot_be_exchanged_the_new_world_or_the_old_one_is_there(
    tmp_path, monkeypatch, renames
):
    """As on a network's disk. When the second of both renames fails, the first is taken back."""
    engine, folder = toy_engine(folder=tmp_path / "cache"), tmp_path / "worlds" / "w"
    folder.parent.mkdir()
    engine.step("a red house")
    save(engine, folder)
    engine.step("a red house")
    rename = Path.rename

    def second_fails(path, target):
        if path.name.endswith(".part") and not renames:
            broken()
        return rename(path, target)

    monkeypatch.setattr(saved_world, "exchange", broken)
    monkeypatch.setattr(Path, "rename", second_fails)
    if renames:
        save(engine, folder)
    else:
        with pytest.raises(UserError, match="could not be saved"):
            save(engine, folder)
    assert open_world(folder).blocks == (2 if renames else 1)
    assert [path.name for path in folder.parent.iterdir()] == ["w"]
    engine.close()


def test_a_line_whose_pages_are_others_names_all_of_them():
    draw = random.Random()
    pages = tuple(page(number, draw) for number in range(5))
    others = tuple(replace(one, page=one.page + 7) for one in pages)
    kept = [record(0, pages), record(1, others), record(2, others), record(3, others[:2])]
    lines = list(lines_of(kept))
    assert ['"page_changes"' in line for line in lines] == [False, False, True, False]
    assert same(records_of(lines), kept)


def test_a_file_that_is_none_is_no_place_to_write_to(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(UserError, match="no ordinary file"):
        check_target(tmp_path / "pipe.mp4", "the video")


def test_a_branch_that_is_current_already_changes_no_project():
    history = History((Branch("Main", timeline=STORY), Branch("two", "Main", 0, STORY)))
    project = Project(timeline=STORY, history=history)
    assert project.on_branch("Main") is project
    assert project.on_branch("two").history.current == "two"
    with pytest.raises(UserError, match="no branch"):
        project.on_branch("three")
