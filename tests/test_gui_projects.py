"""Projects in the window: saved, opened, dropped, refused, and asked about before they go."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import (
    QMenu,
)

from tests.window_hands import blocks, read, texts
from worldattention.app import file_dialogs, project_files
from worldattention.core.project import Project, load_project, save_project
from worldattention.core.timeline import Event, make_timeline

TWO = make_timeline([Event(1, 0, 3, "a red house by the sea"), Event(2, 3, 30, "a green hill in the rain")])


@pytest.fixture
def window(make_window):
    return make_window


def test_save_and_open(window, qtbot, tmp_path, monkeypatch):
    one = window()
    assert not one.isWindowModified()
    one.model.put(40.0, "an owl")
    assert one.isWindowModified()
    path = tmp_path / "my world.world"
    monkeypatch.setattr(
        file_dialogs,
        "save_file",
        lambda _w, _t, _s, kinds: file_dialogs.ended(path.with_suffix(""), kinds, kinds),
    )
    one.actions_by_name["save"].trigger()
    assert not one.isWindowModified()
    assert "my world" in one.windowTitle()
    assert load_project(path).timeline == one.model.timeline
    other = tmp_path / "other.world"
    save_project(Project("Other", timeline=make_timeline([Event(5, 0, 4, "a pond")])), other)
    monkeypatch.setattr(file_dialogs, "open_file", lambda *_: other)
    one.actions_by_name["open"].trigger()
    read(qtbot, one)
    assert [event.prompt for event in one.model.timeline.events] == ["a pond"]
    blocks(qtbot, one, 1)
    assert one.script.steps[-1][1] == "a pond"
    assert not one.model.undo_stack.canUndo()


def test_a_broken_project_is_refused_and_the_open_one_stays(window, qtbot, tmp_path):
    one = window()
    bad = tmp_path / "bad.world"
    bad.write_text("{")
    one.files.open(bad)
    read(qtbot, one)
    assert "cannot be opened" in texts(one)[-1]
    assert one.model.timeline == TWO


def test_a_world_file_can_be_dropped(window, qtbot, tmp_path):
    one = window()
    path = tmp_path / "dropped.world"
    save_project(Project("Dropped", timeline=make_timeline([Event(1, 0, 4, "a pond")])), path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    action, button, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    one.dropEvent(QDropEvent(QPointF(9, 9), action, data, button, none))
    read(qtbot, one)
    assert one.model.timeline.events[0].prompt == "a pond"


@pytest.mark.parametrize("answer", ["save", "discard", "cancel"])
def test_unsaved_changes_are_asked_for(window, qtbot, tmp_path, monkeypatch, answer):
    one = window()
    one._setup = replace(one._setup, state_file=tmp_path / "state.ini")
    one.files.path = tmp_path / "mine.world"
    one.model.put(40.0, "an owl")
    monkeypatch.setattr(project_files, "ask_save", lambda *_: answer)
    assert one.close() == (answer != "cancel")
    assert (tmp_path / "mine.world").exists() == (answer == "save")
    one._setup = replace(one._setup, state_file=None)


def test_samples_open_from_the_menu(window, qtbot):
    one = window()
    menu = next(menu for menu in one.findChildren(QMenu) if menu.title() == "Samples")
    action = next(action for action in menu.actions() if action.text() == "The red ball returns")
    action.trigger()
    read(qtbot, one)
    assert len(one.model.timeline.events) == 6
    assert "The red ball returns" in one.windowTitle()
