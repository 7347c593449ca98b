"""Prompts and marks in the whole window: what a person types, and what the world then does with it."""

import re
import threading
import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolButton

from tests.window_hands import blocks, read
from worldattention.app.timeline.marks import Marker
from worldattention.core.project import Project, load_project, save_project
from worldattention.core.timeline import Event, Timeline, make_timeline

TWO = make_timeline([Event(1, 0, 3, "a red house by the sea"), Event(2, 3, 30, "a green hill in the rain")])


def test_enter_changes_the_world_and_says_at_which_block(make_window, qtbot):
    one = make_window()
    blocks(qtbot, one, 2)
    edit = one.prompt_box.edit
    edit.setFocus()
    QTest.keyClicks(edit, "a yellow boat")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "takes effect at block" in one.prompt_box.answer, timeout=60000)
    block = int(one.prompt_box.answer.split("block ")[1].split(" ")[0])
    assert edit.text() == ""
    event = one.model.timeline.event_at(block * 0.75)
    assert (event.prompt, event.start) == ("a yellow boat", block * 0.75)
    blocks(qtbot, one, block + 1)
    assert dict(one.script.steps)[block] == "a yellow boat"
    shown = re.compile(r"Enter to picture \d+\.\d s")
    qtbot.waitUntil(lambda: shown.fullmatch(one.status.latency.text()) is not None, timeout=60000)


def test_undo_of_a_typed_prompt_gives_the_old_one_back_to_what_is_to_come(make_window, qtbot):
    one = make_window()
    blocks(qtbot, one, 1)
    one.say("a yellow boat")
    qtbot.waitUntil(lambda: one.model.undo_stack.count() == 1, timeout=60000)
    said = next(event for event in one.model.timeline.events if event.prompt == "a yellow boat")
    blocks(qtbot, one, round(said.start / 0.75) + 1)
    one.actions_by_name["undo"].trigger()
    now = one.world.reel.made // 12 + 2
    blocks(qtbot, one, now + 1)
    assert dict(one.script.steps)[now] in ("a red house by the sea", "a green hill in the rain")


def test_control_enter_puts_the_prompt_on_the_timeline(make_window, qtbot):
    one = make_window()
    blocks(qtbot, one, 1)
    one.world.playback.pause()
    one.seeking.to(12.0)
    assert one.model.aim == 12.0
    QTest.keyClicks(one.prompt_box.edit, "fog over the hill")
    QTest.keyClick(one.prompt_box.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert one.model.timeline.event_at(12.5).prompt == "fog over the hill"
    assert one.model.timeline.event_at(12.5).start == 12.0
    one.actions_by_name["undo"].trigger()
    assert one.model.timeline == TWO


def test_the_prompt_has_a_history_and_refuses_in_words(make_window, qtbot):
    one = make_window()
    edit = one.prompt_box.edit
    for text in ("first", "second"):
        edit.setText(text)
        QTest.keyClick(edit, Qt.Key.Key_Return)
    QTest.keyClicks(edit, "draft")
    for key, seen in (
        ("Up", "second"),
        ("Up", "first"),
        ("Up", "first"),
        ("Down", "second"),
        ("Down", "draft"),
    ):
        QTest.keyClick(edit, getattr(Qt.Key, f"Key_{key}"))
        assert edit.text() == seen
    edit.setText("x" * 10_001)
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert "shorten it" in one.prompt_box.answer
    assert len(edit.text()) == 10_001
    edit.setText("   ")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert edit.history == ("first", "second")


def test_an_empty_project_waits_for_the_first_prompt(make_window, qtbot):
    one = make_window(timeline=Timeline())
    qtbot.waitUntil(lambda: one.viewport.overlay is not None and "remembers" in one.viewport.overlay.title)
    assert one.script.steps == []
    QTest.keyClicks(one.prompt_box.edit, "a boat")
    QTest.keyClick(one.prompt_box.edit, Qt.Key.Key_Return)
    blocks(qtbot, one, 1)
    assert one.script.steps[0] == (0, "a boat")
    assert one.viewport.overlay is None
    assert one.model.timeline.events[0].start == 0.0


def test_a_prompt_typed_while_loading_counts(make_window, qtbot):
    one = make_window(timeline=Timeline(), load_s=0.4)
    one.say("a boat at dawn")
    blocks(qtbot, one, 1)
    assert one.script.steps[0] == (0, "a boat at dawn")


def test_case_27_space_plays_and_pauses_but_not_while_typing(make_window, qtbot):
    one = make_window()
    blocks(qtbot, one, 1)
    edit = one.prompt_box.edit
    edit.setFocus()
    QTest.keyClicks(edit, "k j l s ? ")
    assert edit.text() == "k j l s ? "
    assert one.world.playback.playing
    one.viewport.setFocus()
    QTest.keyClick(one.viewport, Qt.Key.Key_Space)
    assert not one.world.playback.playing
    assert one.viewport.chip == "paused"
    button = one.findChild(QToolButton)
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert one.world.playback.playing


def test_a_prompt_that_waits_survives_a_restart(make_window, qtbot):
    hold = threading.Event()
    one = make_window(hold=hold)
    qtbot.waitUntil(lambda: one.model.locked > 0, timeout=60000)
    one.say("typed just before")
    one.restart()
    hold.set()
    qtbot.waitUntil(
        lambda: any(e.prompt == "typed just before" for e in one.model.timeline.events), timeout=60000
    )


def test_words_that_look_like_html_are_shown_as_words(make_window, qtbot):
    one = make_window()
    blocks(qtbot, one, 1)
    prompt = "<h1>big</h1> <img src='file:///etc/passwd'> & 走"
    one.prompt_box.edit.setText(prompt)
    QTest.keyClick(one.prompt_box.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: prompt in one.prompt_box.answer, timeout=60000)
    assert one.prompt_box._answer.textFormat() == Qt.TextFormat.PlainText
    assert "<img" not in one.prompt_box._answer.toolTip()
    assert "&lt;img" in one.prompt_box._answer.toolTip()
    one.notifications.tell(prompt)
    labels = [label for label in one.notifications._toasts[-1].findChildren(QLabel) if label.text() == prompt]
    assert [label.textFormat() for label in labels] == [Qt.TextFormat.PlainText]


@pytest.mark.parametrize("prompt", ["😀" * 2000, "مرحبا بالعالم " * 50, "a\tb", "x" * 10_000])
def test_any_prompt_is_said_shown_and_painted_quickly(make_window, qtbot, prompt):
    one = make_window()
    blocks(qtbot, one, 1)
    one.prompt_box.edit.setText(prompt)
    QTest.keyClick(one.prompt_box.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: any(e.prompt == prompt.strip() for e in one.model.timeline.events), timeout=60000)
    begin = time.process_time()
    one.timeline.view._changes += 1
    one.timeline.view.grab()
    assert time.process_time() - begin < 0.25
    assert one.width() == 1280


def test_undo_says_what_it_undoes(make_window, qtbot):
    one = make_window()
    one.model.put(40.0, "an owl")
    assert one.actions_by_name["undo"].text() == "Undo add event"
    one.actions_by_name["undo"].trigger()
    assert one.actions_by_name["redo"].text() == "Redo add event"
    assert one.actions_by_name["undo"].text() == "Undo"


def test_a_recalled_picture_points_at_its_time_and_a_click_goes_there(make_window, qtbot):
    one = make_window(
        timeline=make_timeline([Event(1, 0, 4.5, "a red house"), Event(2, 4.5, 60, "a red hill")])
    )
    blocks(qtbot, one, 8)
    one.world.playback.pause()
    strip = one.prompt_box.memories
    memory = strip.memories[0]
    QTest.mouseMove(strip.buttons[0], QPoint(30, 15))
    qtbot.waitUntil(lambda: one.model.highlight == (memory.seconds, memory.end), timeout=60000)
    QTest.mouseClick(strip.buttons[0], Qt.MouseButton.LeftButton, pos=QPoint(30, 15))
    assert one.world.playback.position == round(16 * memory.seconds)


def test_typing_shows_the_moments_that_would_be_recalled_and_a_click_shows_one(make_window, qtbot):
    one = make_window(
        timeline=make_timeline([Event(1, 0, 3, "a red house"), Event(2, 3, 60, "a green hill")])
    )
    blocks(qtbot, one, 8)
    box = one.prompt_box
    QTest.keyClicks(box.edit, "the red house")
    qtbot.waitUntil(lambda: box.memories.caption == "would recall", timeout=60000)
    best = box.memories.memories[0]
    assert (best.prompt, best.seconds) == ("a red house", 0.0)
    assert best.picture is not None
    assert one.script.prefetched
    QTest.mouseClick(box.memories.buttons[0], Qt.MouseButton.LeftButton)
    assert one.world.playback.position == 0
    assert not one.world.playback.playing  # it stands still, the world goes on
    blocks(qtbot, one, one.world.blocks + 1)


def test_markers_live_in_the_project_and_foreign_ones_do_no_harm(make_window, qtbot, tmp_path):
    one = make_window()
    blocks(qtbot, one, 2)
    one.world.playback.pause()
    one.world.playback.seek(8)
    one.timeline.view.setFocus()
    QTest.keyClick(one.timeline.view, Qt.Key.Key_M)
    assert one.isWindowModified()
    path = tmp_path / "marked.world"
    assert one.files.save_to(path)
    assert load_project(path).extra["markers"] == [0.5]
    one.model.toggle_marker()
    assert one.isWindowModified()
    one.files.accept_present()
    one.files.open(path)
    read(qtbot, one)
    assert one.model.markers == (Marker(0.5),)
    for odd in ("soon", {"a": 1}, [None, "x", -3, 1e300, True]):
        save_project(Project("Odd", timeline=TWO, extra={"markers": odd}), path)
        one.files.open(path)
        read(qtbot, one)
        assert one.model.markers == ()
        assert not one.isWindowModified()
        assert one.files.project.extra == {"markers": odd}
