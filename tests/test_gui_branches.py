"""Branches as a person meets them: key B, the dock, undo, the locked past. With the scripted engine."""

from __future__ import annotations

import threading
import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMessageBox, QPushButton, QToolButton

from tests.fakes_window import FakeSession, Script, opener
from tests.toy import toy_model
from worldattention.app import file_dialogs, playback, saved_worlds, theme, world
from worldattention.app import messages as m
from worldattention.app.branches_dock import FROM, NAME
from worldattention.app.main_window import MainWindow, Setup
from worldattention.app.reel import Reel
from worldattention.app.worker import Worker
from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.history import ROOT
from worldattention.core.project import Project, load_project
from worldattention.core.session import Session
from worldattention.core.timeline import Event, make_timeline

TWO = make_timeline([Event(1, 0, 3, "a red house by the sea"), Event(2, 3, 90, "a green hill in the rain")])
WAIT = 20000


@pytest.fixture
def window(qtbot, qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(playback, "FRAME_MS", 10.0)
    theme.apply_theme(qapp, "dark")
    script = Script(step_s=0.01, load_s=0.01)
    made = MainWindow(
        Setup(
            open_engine=opener(script),
            open_session=FakeSession,
            configure=lambda settings: settings.engine_config(),
            project=Project("Test", timeline=TWO),
            cache_folder=tmp_path / "cache",
        )
    )
    made.script = script
    made.show()
    qtbot.waitExposed(made)
    made.start()
    qtbot.waitUntil(lambda: made.world.blocks >= 6, timeout=WAIT)
    yield made
    made.close()
    assert made.world_ended
    made.deleteLater()
    qapp.processEvents()


def names(window):
    tree = window.branching.dock.tree
    found, todo = [], [tree.topLevelItem(0)]
    while todo:
        item = todo.pop()
        found.append(item.text(NAME))
        todo += [item.child(index) for index in range(item.childCount())]
    return found


def current(window):
    return window.world.history(window.model.timeline).current


def looks_equal(one, other):
    """The past is kept as video on disk."""
    return abs(one.astype(float) - other).mean() < 3


def press_b_at(window, qtbot, frame):
    """Looks at a past frame and goes on from there."""
    window.world.playback.show_moment(frame)
    before = len(names(window))
    window.viewport.setFocus()
    QTest.keyClick(window.viewport, Qt.Key.Key_B)
    qtbot.waitUntil(lambda: len(names(window)) == before + 1, timeout=WAIT)


def test_key_b_goes_on_from_the_moment_that_is_shown_and_undo_comes_back(window, qtbot):
    old = [window.world.reel.frame(frame).copy() for frame in range(72)]
    press_b_at(window, qtbot, 37)  # in block 3, nearer to its start
    assert names(window) == [ROOT, "Branch 1"]
    assert current(window) == "Branch 1"
    assert window.model.locked >= 3 * 0.75
    item = window.branching.dock.tree.topLevelItem(0).child(0)
    assert item.text(FROM) == "0:02.2"
    assert "the one that goes on" in item.data(NAME, Qt.ItemDataRole.AccessibleTextRole)
    assert any("Branch 1" in notice.text for notice in window.notifications.history)
    window.say("a yellow boat")
    qtbot.waitUntil(lambda: window.world.blocks >= 6, timeout=WAIT)
    for frame in (0, 20, 35):  # the parent's past stays
        assert looks_equal(window.world.reel.frame(frame), old[frame])
    window.world.playback.pause()
    stack = window.model.undo_stack
    assert stack.undoText() == "Say"
    QTest.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert stack.undoText() == "Continue from here"
    QTest.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: current(window) == ROOT, timeout=WAIT)
    assert window.model.timeline == TWO
    for frame in (0, 40, 71):
        assert looks_equal(window.world.reel.frame(frame), old[frame])
    assert max(window.model.pictures) >= 5
    QTest.keyClick(
        window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    qtbot.waitUntil(lambda: current(window) == "Branch 1", timeout=WAIT)
    assert window.model.timeline.prompt_at(80) == TWO.events[1].prompt


def test_the_dock_switches_renames_and_deletes_by_keyboard(window, qtbot):
    press_b_at(window, qtbot, 14)
    qtbot.waitUntil(lambda: window.world.blocks >= 4, timeout=WAIT)
    dock = window.branching.dock
    dock.show()
    dock.raise_()
    tree = dock.tree
    qtbot.waitUntil(tree.isVisible, timeout=WAIT)
    tree.setFocus()
    assert dock.selected == "Branch 1"
    assert not dock.delete.isEnabled()  # it goes on
    QTest.keyClick(tree, Qt.Key.Key_F2)
    qtbot.waitUntil(lambda: tree.findChild(QLineEdit) is not None, timeout=WAIT)
    editor = tree.findChild(QLineEdit)
    QTest.keyClicks(editor, "Boat two")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: names(window) == [ROOT, "Boat two"], timeout=WAIT)
    window.model.undo_stack.undo()
    qtbot.waitUntil(lambda: names(window) == [ROOT, "Branch 1"], timeout=WAIT)
    window.model.undo_stack.redo()
    qtbot.waitUntil(lambda: names(window) == [ROOT, "Boat two"], timeout=WAIT)
    QTest.keyClick(tree, Qt.Key.Key_Up)
    assert dock.selected == ROOT
    assert dock.go.isEnabled()
    QTest.keyClick(tree, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: current(window) == ROOT, timeout=WAIT)
    QTest.keyClick(tree, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: dock.selected == "Boat two", timeout=WAIT)
    QTest.keyClick(tree, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: names(window) == [ROOT], timeout=WAIT)
    assert "undo brings it back" in window.notifications.history[-1].text
    press_b_at(window, qtbot, 14)
    qtbot.waitUntil(lambda: len(names(window)) == 2, timeout=WAIT)
    assert names(window)[1] not in ("Boat two", "Branch 1")  # a name that may come back is not given again
    window.model.undo_stack.undo()
    window.model.undo_stack.undo()
    qtbot.waitUntil(lambda: "Boat two" in names(window), timeout=WAIT)
    dock.switch_wanted.emit("Boat two")
    qtbot.waitUntil(lambda: current(window) == "Boat two", timeout=WAIT)
    for button in dock.findChildren(QToolButton):
        assert button.accessibleName()


def test_a_name_that_is_taken_is_refused_and_the_old_one_stays(window, qtbot):
    press_b_at(window, qtbot, 14)
    item = window.branching.dock.tree.topLevelItem(0).child(0)
    item.setText(NAME, ROOT)
    said = lambda: [notice.text for notice in window.notifications.history]  # noqa: E731
    qtbot.waitUntil(lambda: any("already" in text for text in said()), timeout=WAIT)
    assert names(window) == [ROOT, "Branch 1"]


def test_an_edit_of_the_locked_past_offers_to_branch_there(window, qtbot):
    assert not window.model.reword(1, "a blue house by the lake")
    toast = next(t for t in window.notifications._toasts if "made already" in t.notice.text)
    button = next(b for b in toast.findChildren(QPushButton) if b.text() == "Branch there")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(4, 4))
    qtbot.waitUntil(lambda: current(window) == "Branch 1", timeout=WAIT)
    qtbot.waitUntil(lambda: window.model.timeline.prompt_at(1) == "a blue house by the lake", timeout=WAIT)
    qtbot.waitUntil(lambda: window.world.blocks >= 2, timeout=WAIT)
    assert (0, "a blue house by the lake") in window.script.steps


def test_branches_are_saved_with_the_project_and_count_as_changes(window, qtbot, tmp_path):
    path = tmp_path / "world.world"
    assert window.files.save_to(path)
    assert not window.files.changed
    qtbot.waitUntil(lambda: window.world.blocks >= 8, timeout=WAIT)
    assert not window.files.changed  # that the world goes on is no edit
    press_b_at(window, qtbot, 14)
    assert window.files.changed
    assert window.files.save_to(path)
    history = load_project(path).history
    assert [branch.name for branch in history.branches] == [ROOT, "Branch 1"]
    assert history.current == "Branch 1"
    assert len(history.get(ROOT).records) >= 8
    assert history.get(ROOT).timeline == TWO


def test_the_settings_of_then_come_back_and_the_bar_shows_them(window, qtbot):
    bar = window.settings_bar
    bar.attention.setCurrentText("dense")
    bar.attention.activated.emit(bar.attention.currentIndex())
    qtbot.waitUntil(lambda: window.world.telemetry[-1].attention == "dense", timeout=WAIT)
    assert bar.settings.attention == "dense"
    press_b_at(window, qtbot, 14)
    qtbot.waitUntil(lambda: bar.settings.attention == "hsa", timeout=WAIT)
    assert bar.attention.currentText() == "hsa"


def test_a_world_is_saved_as_a_folder_from_the_menu(window, qtbot, tmp_path, monkeypatch):
    folder = tmp_path / "한글 saved"
    monkeypatch.setattr(file_dialogs, "save_file", lambda *_: folder)
    monkeypatch.setattr(saved_worlds.QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
    window.actions_by_name["save_world"].trigger()
    told = lambda: [notice.text for notice in window.notifications.history]  # noqa: E731
    qtbot.waitUntil(lambda: any("saved in" in text for text in told()), timeout=WAIT)
    assert (folder / "pages").exists()
    assert len((folder / "telemetry.jsonl").read_text("utf-8").splitlines()) >= 6


def test_case_1_and_4_a_prompt_survives_a_rewind_and_no_frame_of_the_old_branch_comes_after_it() -> None:
    """Rows 1 and 4: what was said while the world is rewound is answered, and old frames carry an old epoch."""
    script, reel, heard = Script(step_s=0.005, load_s=0.004, hold=threading.Event()), Reel(), []
    script.hold.set()
    worker = Worker(opener(script), FakeSession, reel, lambda: None, EngineConfig(), TWO)
    worker.start()

    def until(test):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            heard.extend(worker.take())
            if any(test(message) for message in heard):
                return next(message for message in heard if test(message))
            time.sleep(0.002)
        raise AssertionError(heard[-5:])

    worker.post(m.SetRunning(worker.new_id(), 0, True))
    worker.played(60)
    until(lambda x: isinstance(x, m.Made) and x.telemetry.block == 5)
    script.hold.clear()  # a block is under way and does not end by itself
    worker.played(200)
    until(lambda x: isinstance(x, m.Begun) and x.block >= 6)
    worker.post(m.Rewind(worker.new_id(), 1, 2, "Again", m.SetTimeline(worker.new_id(), 0, TWO, 0)))
    said = worker.new_id()
    worker.post(m.Say(said, 1, "a yellow boat"))
    worker.post(m.SetRunning(worker.new_id(), 1, True))
    answer = until(lambda x: isinstance(x, m.Acknowledged) and x.id == said)
    script.hold.set()
    assert (answer.block, answer.refused, script.cancelled) == (2, None, 1)
    branched = next(x for x in heard if isinstance(x, m.Branched))
    assert (branched.block, branched.history.current, branched.moved) == (2, "Again", True)
    until(lambda x: isinstance(x, m.Made) and x.epoch == 1 and x.telemetry.block == 2)
    after = heard[heard.index(branched) :]
    assert all(x.epoch == 1 for x in after if isinstance(x, m.Made | m.Begun))
    assert dict(script.steps)[2] == "a yellow boat"
    assert reel.made >= 36
    assert worker.close(10)
    reel.close()


def test_a_saved_world_is_opened_in_the_window_and_goes_on_where_it_ended(qtbot, qapp, tmp_path, monkeypatch):
    """The real session over the toy model: its past is there to be looked at, and the next block is the right one."""
    monkeypatch.setattr(playback, "FRAME_MS", 10.0)
    theme.apply_theme(qapp, "dark")
    model, folder = toy_model(), tmp_path / "world"
    straight = Session(Engine(model, EngineConfig()), TWO)
    lines = [straight.step().telemetry.to_json() for _ in range(5)]
    straight.save(folder, Project("Saved", timeline=TWO), False, lines)
    wanted = straight.step().frames
    straight.close()
    one = MainWindow(
        Setup(
            open_engine=lambda config, _progress: Engine(model, config),
            open_session=Session,
            configure=lambda settings: settings.engine_config(),
            project=Project("Other"),
            cache_folder=tmp_path / "cache",
        )
    )
    one.show()
    one.start()
    qtbot.waitUntil(lambda: one.world.state == "ready", timeout=WAIT)
    one.saved_worlds.open(tmp_path)
    qtbot.waitUntil(lambda: not one.opening.busy, timeout=WAIT)
    assert "no saved world" in one.notifications.history[-1].text or "cannot be read" in (
        one.notifications.history[-1].text
    )
    one.library.open(folder)
    qtbot.waitUntil(lambda: one.world.blocks >= 6, timeout=WAIT)
    assert looks_equal(one.world.reel.frame(5 * 12 + 3), wanted[3])
    assert one.world.reel.frame(7) is not None
    assert one.world.playback.position >= 5 * 12 - 1
    assert len(one.world.history(one.model.timeline).records(ROOT)) >= 6
    one.close()
    assert one.world_ended
    one.deleteLater()
    qapp.processEvents()


def test_the_panels_show_the_history_of_the_branch_that_goes_on(window, qtbot, monkeypatch):
    """Its ancestors' too, with their pages, however long ago they were made: those come from the telemetry log."""
    monkeypatch.setattr(world, "PAGED_BLOCKS", 4)  # what the window itself keeps
    qtbot.waitUntil(lambda: window.world.blocks >= 8, timeout=3 * WAIT)
    window.world.playback.pause()
    press_b_at(window, qtbot, 6 * 12 + 1)
    qtbot.waitUntil(lambda: window.panels.pages.history.blocks >= 6, timeout=WAIT)
    history = window.panels.pages.history
    assert history.first_block == 0
    assert all(record.pages for record in window.world.telemetry)
    assert history.pages
    window.branching.dock.switch_wanted.emit(ROOT)
    qtbot.waitUntil(lambda: current(window) == ROOT, timeout=WAIT)
    qtbot.waitUntil(lambda: window.panels.pages.history.blocks >= 8, timeout=WAIT)
    assert window.panels.pages.history.first_block == 0
