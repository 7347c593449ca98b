"""The table twin: everything that the painted timeline does, with keys and exact numbers (case_35)."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from tests.timeline_hands import THREE
from worldattention.app.timeline.marks import Arc, Marker, ModeChange
from worldattention.app.timeline.marks_table import TIME, WHAT, MarksTableView
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.table import END, PROMPT, START, STATE, EventTable, EventTableView
from worldattention.app.timeline.timecode import parse_time
from worldattention.core.errors import UserError
from worldattention.core.timeline import Timeline


@pytest.fixture
def table(qtbot):
    model = TimelineModel()
    model.open(THREE)
    widget = EventTableView(model)
    widget.events_model = model
    qtbot.addWidget(widget)
    widget.show()
    return widget


def texts(table):
    rows = table.model()
    return [
        [rows.index(row, column).data() for column in (START, END, STATE, PROMPT)]
        for row in range(rows.rowCount())
    ]


def test_the_table_shows_the_same_events(table):
    table.events_model.set_locked(13.0)
    assert texts(table) == [
        ["0.00", "9.00", "made", "one"],
        ["12.00", "18.00", "being made", "two"],
        ["30.00", "39.00", "to come", "three"],
    ]


@pytest.mark.parametrize("text", ["20,5", "20.5", " 20.50 s"])
def test_the_table_takes_numbers_as_people_type_them(table, text):
    rows = table.model()
    assert rows.setData(rows.index(1, END), text)
    assert table.events_model.timeline.get(2).end == 20.5
    table.events_model.undo_stack.undo()
    assert table.events_model.timeline == THREE


def test_the_table_refuses_what_is_no_time_or_overlaps(table):
    refusals = []
    table.events_model.refused.connect(refusals.append)
    rows = table.model()
    for text in ("soon", "nan", "inf", "31", "-4", "11", ""):
        assert not rows.setData(rows.index(1, END), text)
    assert len(refusals) == 7
    assert table.events_model.timeline == THREE
    with pytest.raises(UserError):
        parse_time("1e999")


def test_the_table_adds_edits_and_deletes_by_keys(table):
    QTest.keyClick(table, Qt.Key.Key_Insert)
    assert len(texts(table)) == 4
    rows = table.model()
    assert rows.setData(rows.index(3, PROMPT), "four")
    table.selectRow(0)
    assert table.events_model.selected.id == 1
    QTest.keyClick(table, Qt.Key.Key_Delete)
    assert [row[3] for row in texts(table)] == ["two", "three", "four"]


def test_the_table_is_a_sound_model(table, qtmodeltester):
    qtmodeltester.check(table.model())
    assert isinstance(table.model(), EventTable)
    table.events_model.open(Timeline())
    assert texts(table) == []


def test_the_table_opens_the_prompt_of_an_added_event(table, qtbot):
    table.resize(700, 200)
    QTest.keyClick(table, Qt.Key.Key_Insert)
    editor = table.findChild(QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, "typed at once")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(table)[-1][3] == "typed at once")


ALT, CONTROL, SHIFT = (
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


def spans(table):
    return {event.id: (event.start, event.end) for event in table.events_model.timeline.events}


def test_case_35_rows_are_selected_together_and_moved_by_keys(table):
    model = table.events_model
    table.setFocus()
    table.selectRow(0)
    QTest.keyClick(table, Qt.Key.Key_Down, SHIFT)
    assert model.selection == (1, 2)
    QTest.keyClick(table, Qt.Key.Key_Right, ALT)
    assert spans(table) == {1: (0.75, 9.75), 2: (12.75, 18.75), 3: (30, 39)}
    assert model.selection == (1, 2)
    model.select(3)
    assert [index.row() for index in table.selectionModel().selectedRows()] == [2]
    QTest.keyClick(table, Qt.Key.Key_Left, ALT | SHIFT)
    QTest.keyClick(table, Qt.Key.Key_Right, ALT | CONTROL)
    assert spans(table)[3] == (30.75, 38.25)
    QTest.keyClick(table, Qt.Key.Key_A, CONTROL)
    assert set(model.selection) == {1, 2, 3}
    QTest.keyClick(table, Qt.Key.Key_Delete)
    assert texts(table) == []
    while model.undo_stack.canUndo():
        model.undo_stack.undo()
    assert model.timeline == THREE


def test_case_35_split_and_marker_need_no_mouse(table):
    model = table.events_model
    model.set_playhead(15.0)
    table.setFocus()
    table.selectRow(1)
    QTest.keyClick(table, Qt.Key.Key_S)
    assert [row[:2] for row in texts(table)][1:3] == [["12.00", "15.00"], ["15.00", "18.00"]]
    QTest.keyClick(table, Qt.Key.Key_M)
    assert model.markers == (Marker(15.0),)


def test_an_edit_keeps_the_row_under_the_cursor(table):
    table.setCurrentIndex(table.model().index(1, END))
    assert table.model().setData(table.model().index(1, END), "0:17,5")
    assert table.currentIndex().row() == 1
    table.events_model.set_playhead(1.0)
    table.events_model.set_locked(2.0)
    assert (table.currentIndex().row(), table.currentIndex().column()) == (1, END)


@pytest.fixture
def marks(qtbot):
    model = TimelineModel()
    model.open(THREE, (Marker(5.0, "tea"), Marker(20.0)))
    model.add_arcs([Arc(12.0, 1.0, 3.0, 0.4, 0.83)])
    model.mode_changes.append(ModeChange(20, 15.0, "attention", "hsa", "dense"))
    model.world_changed.emit()
    widget = MarksTableView(model)
    widget.marks_model = model
    qtbot.addWidget(widget)
    widget.show()
    widget.setFocus()
    return widget


def rows(marks):
    source = marks.model()
    return [[source.index(row, column).data() for column in range(3)] for row in range(source.rowCount())]


def test_case_35_markers_recalls_and_modes_are_rows(marks, qtbot, qtmodeltester):
    qtmodeltester.check(marks.model())
    assert rows(marks) == [
        ["0:05.00", "marker", "tea"],
        ["0:12.00", "recall", "0:01.0 – 0:03.0, similarity 0.83, score 0.40"],
        ["0:15.00", "mode", "attention hsa → dense"],
        ["0:20.00", "marker", ""],
    ]
    marks.setCurrentIndex(marks.model().index(1, TIME))
    with qtbot.waitSignal(marks.moment_requested) as shown:
        QTest.keyClick(marks, Qt.Key.Key_Return)
    assert shown.args == [1.0]
    marks.setCurrentIndex(marks.model().index(2, TIME))
    with qtbot.waitSignal(marks.seek_requested) as sought:
        QTest.keyClick(marks, Qt.Key.Key_Return)
    assert sought.args == [15.0]


def test_case_35_markers_are_named_moved_and_removed_by_keys(marks, qtbot):
    model = marks.marks_model
    marks.setCurrentIndex(marks.model().index(3, WHAT))
    QTest.keyClick(marks, Qt.Key.Key_F2)
    editor = marks.findChild(QLineEdit)
    QTest.keyClicks(editor, "the end")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: model.markers[-1] == Marker(20.0, "the end"), timeout=20000)
    assert marks.model().setData(marks.model().index(3, TIME), "b40")
    assert model.markers[-1] == Marker(30.0, "the end")
    assert not marks.model().setData(marks.model().index(1, TIME), "5")  # what happened is not edited
    marks.setCurrentIndex(marks.model().index(3, TIME))
    QTest.keyClick(marks, Qt.Key.Key_Delete)
    assert model.markers == (Marker(5.0, "tea"),)
    for _ in range(3):
        model.undo_stack.undo()
    assert model.markers == (Marker(5.0, "tea"), Marker(20.0))
