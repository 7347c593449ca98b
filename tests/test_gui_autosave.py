"""Unsaved work after a crash: kept, offered once, and only of programs that are gone."""

import errno
import os
import threading

import pytest
from PySide6.QtWidgets import QWidget

from worldattention.app.autosave import Autosave, find_lost
from worldattention.app.opening import Opening
from worldattention.app.project_files import Present, ProjectFiles
from worldattention.core.project import Project, ProjectSettings, load_project, save_project
from worldattention.core.timeline import Event, Timeline, make_timeline

OWL = make_timeline([Event(1, 0, 5, "an owl 🦉")])


@pytest.fixture
def files(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    opening = Opening(parent)
    made = ProjectFiles(
        parent, opening, Project("Night"), None, lambda: Present(made.events, (), made.settings)
    )
    made.events, made.settings = Timeline(), ProjectSettings()
    return made


def crash(autosave):
    """The process ends without closing: the lock goes, the copy stays."""
    autosave._timer.stop()
    autosave._lock.unlock()


def test_a_close_without_a_question_keeps_the_work_of_this_moment(files, tmp_path):
    autosave = Autosave(tmp_path, files)
    files.events = OWL
    autosave.close(keep=True)
    (lost,) = find_lost(tmp_path)
    assert lost.project.timeline == OWL


def test_work_that_was_lost_is_offered_once(files, tmp_path):
    folder = tmp_path / "unsaved"
    autosave = Autosave(folder, files)
    autosave.keep()
    assert list(folder.glob("*.recovery")) == []  # nothing has changed
    files.events = OWL
    autosave.keep()
    assert find_lost(folder) == []  # this program is alive
    crash(autosave)
    (lost,) = find_lost(folder)
    assert (lost.project.timeline, lost.project.name, lost.path) == (OWL, "Night", None)
    assert find_lost(folder) == []  # it is being offered
    lost.discard()
    assert find_lost(folder) == []
    assert list(folder.iterdir()) == []


def test_a_proper_end_leaves_nothing(files, tmp_path):
    autosave = Autosave(tmp_path, files)
    files.events = OWL
    autosave.keep()
    autosave.close()
    assert list(tmp_path.iterdir()) == []


def test_saving_removes_the_copy(files, tmp_path):
    autosave = Autosave(tmp_path / "unsaved", files)
    files.events = OWL
    autosave.keep()
    assert files.save_to(tmp_path / "night.world")
    autosave.keep()
    crash(autosave)
    assert find_lost(tmp_path / "unsaved") == []


def test_recovered_work_is_open_and_still_unsaved(files, qtbot, tmp_path):
    path = tmp_path / "night.world"
    save_project(Project("Night"), path)
    opened = []
    files.opened.connect(lambda: opened.append(files.saved.timeline))
    files.recover(Project("Night", timeline=OWL), path)
    files.events = opened[0]
    assert files.events == OWL
    assert files.changed
    assert files.path == path
    qtbot.waitUntil(lambda: files.saved == load_project(path), timeout=20000)
    assert files.changed


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"path": 3, "project": "x"}', b"\xff\xfe"])
def test_a_broken_copy_is_thrown_away_not_offered_for_ever(tmp_path, content):
    (tmp_path / "x.recovery").write_bytes(content)
    assert find_lost(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_no_place_for_copies_is_no_failure(files, tmp_path):
    (tmp_path / "file").write_text("")
    autosave = Autosave(tmp_path / "file" / "unsaved", files)
    files.events = OWL
    autosave.keep()
    autosave.close()
    assert find_lost(tmp_path / "nowhere") == []


@pytest.mark.parametrize("fate", ["full", "gone", "a link to nowhere"])
def test_case_12_unsaved_work_that_is_not_kept_is_said_once_until_it_is(
    files, tmp_path, qtbot, monkeypatch, fate
):
    folder = tmp_path / "unsaved"
    autosave = Autosave(folder, files)
    told = []
    autosave.failed.connect(told.append)
    files.events = OWL
    with monkeypatch.context() as patch:
        if fate == "full":
            patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        else:
            folder.rename(tmp_path / "moved")
        if fate == "a link to nowhere":
            folder.symlink_to(tmp_path / "nowhere")
        for _ in range(3):
            assert not autosave.keep()
    qtbot.waitUntil(lambda: len(told) > 0, timeout=20000)
    assert len(told) == 1
    if fate != "full":
        folder.unlink(missing_ok=True)
        (tmp_path / "moved").rename(folder)
    assert autosave.keep()
    assert len(list(folder.glob("*.recovery"))) == 1
    autosave.close()
    assert len(told) == 1


def test_a_disk_that_hangs_does_not_stall_the_window(files, tmp_path, qtbot, monkeypatch):
    autosave = Autosave(tmp_path, files)
    gate, writes, fsync = threading.Event(), [], os.fsync

    def hangs(descriptor):
        writes.append(descriptor)
        gate.wait(60)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", hangs)
    files.events = OWL
    for _ in range(3):
        autosave._timer.timeout.emit()  # returns, though the disk does not
    qtbot.waitUntil(lambda: len(writes) > 0, timeout=20000)
    assert len(writes) == 1
    assert find_lost(tmp_path) == []  # nor is what is half written taken for lost
    gate.set()
    assert autosave.keep()
    assert len(list(tmp_path.glob("*.recovery"))) == 1
    autosave.close()
