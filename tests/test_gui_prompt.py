"""The prompt box: what it understands, completes and foresees, with any keyboard."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from worldattention.app import theme
from worldattention.app.memory_strip import Memory
from worldattention.app.prompt_box import PromptBox
from worldattention.core.pocket import prompts


@pytest.fixture
def box(qtbot, qapp):
    theme.apply_theme(qapp, "dark")
    widget = PromptBox()
    widget.language = prompts
    qtbot.addWidget(widget)
    widget.resize(800, 90)
    widget.show()
    qtbot.waitExposed(widget)
    widget.activateWindow()
    widget.edit.setFocus()
    widget.heard = []
    widget.said.connect(lambda text: widget.heard.append(("said", text)))
    widget.put.connect(lambda text: widget.heard.append(("put", text)))
    widget.typing.connect(lambda text: widget.heard.append(("typing", text)))
    return widget


def compose(widget, preedit="", commit=""):
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    QApplication.sendEvent(widget, event)


def memory(seconds, similarity, prompt="a red ball"):
    picture = QImage(128, 64, QImage.Format.Format_RGB32)
    picture.fill(QColor("#884422"))
    return Memory(picture, None, seconds, seconds + 2, 3, similarity, prompt)


def test_chips_show_what_was_understood(box):
    QTest.keyClicks(box.edit, "She flies a kite in the city at night")
    assert [(chip.text, chip.value is not None) for chip in box.chips.chips] == [
        ("kite", True), ("city", True), ("night", True), ("weather", False), ("shirt", False)
    ]  # fmt: skip
    assert box.answer == "understood: kite, city, night · left open: weather, shirt"
    assert box.chips.isVisible()
    assert not box.chips.grab().isNull()
    box.edit.clear()
    assert box.answer.startswith("Enter changes the world")


def test_a_prompt_of_another_world_is_warned_of_softly_and_still_said(box):
    QTest.keyClicks(box.edit, "a dragon over Tokyo")
    assert box.answer.startswith("This world does not know all of that; it will show the nearest: A man")
    box.show_nearest("a dragon", "A boy on the beach.")  # late: another text stands there by now
    assert "boy" not in box.answer
    box.show_nearest("a dragon over Tokyo", "A woman in the city.")
    assert box.answer.endswith("nearest: A woman in the city.")
    assert not box.edit.property("refused")
    QTest.keyClick(box.edit, Qt.Key.Key_Return)
    assert ("said", "a dragon over Tokyo") in box.heard


def test_korean_is_typed_without_triggering_commands(box):
    QTest.keyClicks(box.edit, "x")
    QTest.keyClick(box.edit, Qt.Key.Key_Return)
    box.heard.clear()
    for preedit in ("ㅂ", "바", "밤"):
        compose(box.edit, preedit)
        assert box.edit.composing
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Escape):
            QTest.keyClick(box.edit, key)
    assert box.heard == []
    assert box.edit.text() == ""
    compose(box.edit, "", "밤")
    compose(box.edit, "", "에 남자가 해변에서 연을 날린다")
    assert not box.edit.composing
    assert [chip.value for chip in box.chips.chips][:3] == ["kite", "beach", "night"]
    QTest.keyClick(box.edit, Qt.Key.Key_Return)
    assert box.heard[-1] == ("said", "밤에 남자가 해변에서 연을 날린다")


def test_right_takes_the_completion_and_enter_does_not(box):
    QTest.keyClicks(box.edit, "A woman in a yellow shirt fl")
    rest = box.edit.rest
    assert rest.startswith("ies a kite")
    assert box.edit.accessibleDescription().endswith(box.edit.text() + rest)
    QTest.keyClick(box.edit, Qt.Key.Key_Left)
    assert box.edit.rest == ""  # not in the middle of the text
    QTest.keyClick(box.edit, Qt.Key.Key_End)
    QTest.keyClick(box.edit, Qt.Key.Key_Right)
    assert box.edit.text() == f"A woman in a yellow shirt fl{rest}"
    box.edit.setText("A man in a red sh")
    QTest.keyClick(box.edit, Qt.Key.Key_Return)
    assert box.heard[-1] == ("said", "A man in a red sh")


def test_what_was_said_before_completes_too(box):
    box.edit.remember("my own words about a heron")
    QTest.keyClicks(box.edit, "my own w")
    assert box.edit.rest == "ords about a heron"
    QTest.keyClicks(box.edit, "h")
    assert box.edit.rest == ""


def test_a_text_that_would_recall_nothing_yet_is_asked_again_when_the_world_went_on(box, qtbot):
    QTest.keyClicks(box.edit, "a red ball")
    qtbot.waitUntil(lambda: box.heard == [("typing", "a red ball")], timeout=20000)
    box.world_went_on()  # not answered yet
    box.show_foreseen("a red ball", ())
    assert len(box.heard) == 1
    box.world_went_on()
    assert box.heard == [("typing", "a red ball")] * 2
    box.show_foreseen("a red ball", (memory(4.0, 0.81),))
    box.world_went_on()
    assert len(box.heard) == 2


def test_the_list_of_completions_is_reached_by_keys(box, qtbot):
    QTest.keyClicks(box.edit, "A boy in a ")
    QTest.keyClick(box.edit, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    popup = box.edit._completer.popup()
    qtbot.waitUntil(popup.isVisible, timeout=20000)
    assert popup.model().rowCount() > 1
    QTest.keyClick(popup, Qt.Key.Key_Down)
    QTest.keyClick(popup, Qt.Key.Key_Return)
    assert box.edit.text().startswith("A boy in a ")
    assert box.edit.text().endswith(".")
    assert not any(kind == "said" for kind, _ in box.heard)


def test_the_world_is_asked_once_typing_rests(box, qtbot):
    QTest.keyClicks(box.edit, "a red ball")
    assert not box.heard
    qtbot.waitUntil(lambda: box.heard == [("typing", "a red ball")], timeout=20000)
    QTest.keyClicks(box.edit, "!")
    box.edit.clear()  # nothing is asked of an empty line
    qtbot.wait(400)
    assert box.heard == [("typing", "a red ball")]


def test_moments_that_would_be_recalled_replace_the_recalled_and_leave_with_the_text(box):
    box.show_memories((memory(1.0, None),))
    assert box.memories.caption == "recalled"
    height, answer = box.sizeHint().height(), box._words.geometry().top()
    QTest.keyClicks(box.edit, "a red ball")
    box.show_foreseen("a red", (memory(9.0, 0.2),))  # late: another text stands there by now
    assert box.memories.caption == "recalled"
    box.show_foreseen("a red ball", (memory(4.0, 0.81), memory(8.0, 0.62), memory(2.0, 0.58)))
    assert box.memories.caption == "would recall"
    assert [button.memory.similarity for button in box.memories.buttons] == [0.81, 0.62, 0.58]
    assert "similarity 0.81" in box.memories.buttons[0].accessibleName()
    assert (box.sizeHint().height(), box._words.geometry().top()) == (height, answer)  # nothing jumps
    box.edit.clear()
    assert box.memories.caption == "recalled"
    box.show_memories(())
    assert box.memories.caption == ""
    assert box.memories.buttons == ()
    assert (box.sizeHint().height(), box._words.geometry().top()) == (height, answer)


def test_another_world_forgets_the_moments_and_is_asked_about_the_text(box, qtbot):
    box.show_memories((memory(1.0, None),))
    QTest.keyClicks(box.edit, "a red ball")
    box.show_foreseen("a red ball", (memory(4.0, 0.81),))
    box.heard.clear()
    box.forget_world()
    assert box.memories.buttons == ()
    assert box.edit.text() == "a red ball"
    qtbot.waitUntil(lambda: box.heard == [("typing", "a red ball")], timeout=20000)
    box.edit.clear()
    assert box.memories.buttons == ()
    assert box.answer.startswith("Enter changes the world")


def test_a_moment_is_shown_by_mouse_and_by_keyboard(box, qtbot):
    chosen = []
    box.memory_chosen.connect(chosen.append)
    QTest.keyClicks(box.edit, "a red ball")
    box.show_foreseen("a red ball", (memory(4.0, 0.81), memory(8.0, 0.62)))
    first, second = box.memories.buttons
    QTest.mouseClick(second, Qt.MouseButton.LeftButton, pos=QPoint(20, 12))
    for _ in range(10):
        if QApplication.focusWidget() is first:
            break
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is first
    QTest.keyClick(first, Qt.Key.Key_Space)
    assert chosen == [8.0, 4.0]


@pytest.mark.parametrize("width", [380, 480, 640, 1200])
def test_everything_fits_at_any_width(box, width):
    box.resize(width, 90)
    QTest.keyClicks(box.edit, "A woman in a yellow shirt flies a kite in the city at night")
    box.show_foreseen(box.edit.text(), tuple(memory(float(n), 0.9 - n / 10) for n in range(3)))
    QApplication.processEvents()
    row = [box._words.geometry(), box.memories.geometry()]
    assert row[0].right() < row[1].left()
    assert row[1].right() <= box.width()
    assert row[0].width() >= 60
    for button in box.memories.buttons:
        assert box.memories.rect().contains(button.geometry())
    assert len(box.memories.buttons) >= 1


def test_a_pasted_text_that_is_too_long_is_counted_whole_and_stays(box, qapp):
    qapp.clipboard().setText("a" * 100_000)
    box.edit.paste()
    QTest.keyClick(box.edit, Qt.Key.Key_Return)
    assert box.answer == "The prompt has 100,000 characters: shorten it to at most 10,000."
    assert len(box.edit.text()) == 100_000
    assert not box.heard
