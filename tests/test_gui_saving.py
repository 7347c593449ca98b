"""Files that take long to write or read: other threads wait for them, and the picture goes on."""

import json
import threading

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest

from tests.window_hands import blocks, texts
from worldattention.app import dialogs, library, project_files
from worldattention.app.recent import Recent
from worldattention.core.errors import UserError
from worldattention.core.project import Project, load_project, save_project
from worldattention.core.timeline import Timeline

WINDOW = threading.main_thread()


class SlowSave:
    """Saving that lasts until `go`, and then does it or fails."""

    def __init__(self, monkeypatch, fault=None):
        self.go, self.threads, self._fault = threading.Event(), [], fault
        monkeypatch.setattr(project_files, "save_project", self._save)

    def _save(self, project, path):
        self.threads.append(threading.current_thread())
        assert self.go.wait(60)
        if self._fault is not None:
            raise self._fault
        save_project(project, path)


@pytest.fixture
def opened(make_window, qtbot, tmp_path):
    one = make_window(remember=True, path=tmp_path / "a.world", step_s=0.002)
    blocks(qtbot, one, 2)
    one.model.put(60.0, "an owl")
    return one


def when(true, act):
    """Does `act` once `true` says so, from the window's loop, whichever runs."""
    timer = QTimer()

    def look():
        if true():
            timer.stop()
            act()

    timer.timeout.connect(look)
    timer.start(5)
    return timer


def test_the_world_plays_on_while_a_save_takes_long(opened, monkeypatch, tmp_path):
    one, slow = opened, SlowSave(monkeypatch)
    saved = one.model.timeline
    painted, made = one.viewport.frames_painted, one.world.blocks
    timer = when(
        lambda: one.viewport.frames_painted > painted + 5 and one.world.blocks > made + 1, slow.go.set
    )
    QTimer.singleShot(20, one, lambda: one.model.put(80.0, "a fox"))  # by the world, say: no hand does it
    QTest.keySequence(one, "Ctrl+S")
    assert not timer.isActive()
    assert slow.threads != [WINDOW]
    assert load_project(tmp_path / "a.world").timeline == saved
    assert "Saved as a.world." in texts(one)
    assert one.isWindowModified()  # what came meanwhile is not in the file
    QTest.keySequence(one, "Ctrl+S")
    assert not one.isWindowModified()


def test_a_save_that_fails_late_is_told_and_nothing_counts_as_saved(opened, monkeypatch, tmp_path):
    one = opened
    slow = SlowSave(monkeypatch, UserError("The project could not be written: the disk is full."))
    timer = when(lambda: bool(slow.threads), slow.go.set)
    QTest.keySequence(one, "Ctrl+S")
    assert not timer.isActive()
    assert "The project could not be written: the disk is full." in texts(one)
    assert one.isWindowModified()
    assert not (tmp_path / "a.world").exists()


def test_case_16_a_window_that_is_closed_during_a_save_closes_behind_it(opened, monkeypatch, qtbot, tmp_path):
    one, slow = opened, SlowSave(monkeypatch)
    timer = when(lambda: bool(slow.threads), lambda: (one.leave(), QTimer.singleShot(60, slow.go.set)))
    QTest.keySequence(one, "Ctrl+S")
    assert not timer.isActive()
    assert load_project(tmp_path / "a.world").timeline == one.model.timeline
    qtbot.waitUntil(lambda: not one.isVisible(), timeout=20000)
    assert one.world_ended


def test_what_is_remembered_between_sittings_is_read_and_written_elsewhere(
    make_window, qtbot, monkeypatch, tmp_path
):
    threads = []

    def noted(real):
        def call(*arguments):
            threads.append(threading.current_thread())
            return real(*arguments)

        return call

    monkeypatch.setattr(library, "find_lost", noted(library.find_lost))
    monkeypatch.setattr(Recent, "_write", noted(Recent._write))
    monkeypatch.setattr(dialogs, "ask_recover", lambda _window, name: asked.append(name) or "recover")
    asked = []
    copy = {
        "path": None,
        "project": project_files.project_to_json(
            Project("Lost", 9.0, timeline=Timeline().add(0.0, 5.0, "a pond"))
        ),
    }
    folder = tmp_path / "config" / "unsaved"
    folder.mkdir(parents=True)
    (folder / "0123456789abcdef.recovery").write_text(json.dumps(copy))
    one = make_window(remember=True, path=tmp_path / "a.world")
    qtbot.waitUntil(lambda: asked == ["Lost"], timeout=20000)
    qtbot.waitUntil(
        lambda: [event.prompt for event in one.model.timeline.events] == ["a pond"], timeout=20000
    )
    assert (one.files.project.name, one.files.project.seconds) == ("Lost", 9.0)
    assert one.isWindowModified()
    qtbot.waitUntil(lambda: (tmp_path / "config" / "recent.json").exists(), timeout=20000)
    assert len(threads) >= 2
    assert WINDOW not in threads
