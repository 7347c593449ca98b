"""The table twin: everything that the painted timeline does, with keys and exact numbers (case_35)."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from tests.timeline_hands import THREE
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
        ["12.00", "18.00", "playing", "two"],
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
