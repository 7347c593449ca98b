"""Unsaved work after a crash: kept, offered once, and only of programs that are gone."""

import pytest
from PySide6.QtWidgets import QWidget

from worldattention.app.autosave import Autosave, find_lost
from worldattention.app.project_files import Present, ProjectFiles
from worldattention.core.project import Project, ProjectSettings, save_project
from worldattention.core.timeline import Event, Timeline, make_timeline

OWL = make_timeline([Event(1, 0, 5, "an owl 🦉")])


@pytest.fixture
def files(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    made = ProjectFiles(parent, Project("Night"), None, lambda: Present(made.events, (), made.settings))
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


def test_recovered_work_is_open_and_still_unsaved(files, tmp_path):
    path = tmp_path / "night.world"
    save_project(Project("Night"), path)
    opened = []
    files.opened.connect(lambda: opened.append(files.saved.timeline))
    files.recover(Project("Night", timeline=OWL), path)
    files.events = opened[0]
    assert files.events == OWL
    assert files.changed
    assert files.path == path


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
