"""Typed times: where the playhead is, and where the selected event begins and ends."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from worldattention.app.line_edit import LineEdit
from worldattention.app.texts import plain_label, worded
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.timecode import parse_time, timecode
from worldattention.core.errors import UserError
from worldattention.core.timeline import MAX_SECONDS

FIELD_WIDTH = 74


class TimeField(LineEdit):
    """A time that can be typed over; Enter takes it, Esc and leaving do not."""

    def __init__(self, take: Callable[[str], bool], parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._take = take
        self._shown = ""
        self.setObjectName("time")
        self.setFixedWidth(FIELD_WIDTH)
        self.setMaxLength(40)
        self.setPlaceholderText("–")
        self.setAlignment(Qt.AlignmentFlag.AlignRight)

    def set_name(self, name: str) -> None:
        """Which time it is."""
        self.setAccessibleName(name)
        self.setToolTip(self.tr("{}: seconds (12.5), a clock (1:05.5) or a block (b16)").format(name))

    def show_time(self, seconds: float | None) -> None:
        """Another time; None: there is none. What is being typed stays."""
        self._shown = "" if seconds is None else timecode(seconds)
        self.setEnabled(seconds is not None)
        if not self.hasFocus() or not self.isModified():
            self.setText(self._shown)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self.composing:
            if not self.isModified() or self._take(self.text()):
                self._reset()
            self.selectAll()
        elif key == Qt.Key.Key_Escape and not self.composing:
            self._reset()
            self.selectAll()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._reset()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # no key of the window while typing here
            return True
        return super().event(event)

    def _reset(self) -> None:
        self.setModified(False)
        self.setText(self._shown)


class TimeFields(QWidget):
    """Playhead, start and end in the title bar of the timeline."""

    seek_requested = Signal(float)

    def __init__(self, model: TimelineModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.playhead = TimeField(self._seek)
        self.start = TimeField(lambda text: self._retime("start", text))
        self.end = TimeField(lambda text: self._retime("end", text))
        self._at, self._event, to = plain_label(), plain_label(), plain_label("–")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for label, field in ((self._at, self.playhead), (self._event, self.start), (to, self.end)):
            label.setObjectName("muted")
            row.addWidget(label)
            row.addWidget(field)
        model.playhead_moved.connect(self._show_playhead)
        model.selection_changed.connect(self._show_event)
        model.changed.connect(self._show_event)
        self._show_playhead()
        self._show_event()
        worded(self, self._speak)

    def _speak(self) -> None:
        self._at.setText(self.tr("at"))
        self._event.setText(self.tr("event"))
        self.playhead.set_name(self.tr("Time of the playhead"))
        self.start.set_name(self.tr("Start of the event"))
        self.end.set_name(self.tr("End of the event"))

    def _show_playhead(self) -> None:
        self.playhead.show_time(self._model.cursor)

    def _show_event(self) -> None:
        event = self._model.selected
        self.start.show_time(event.start if event is not None else None)
        self.end.show_time(event.end if event is not None else None)

    def _seek(self, text: str) -> bool:
        try:
            seconds = parse_time(text, self._model.geometry.block_seconds)
        except UserError as error:
            self._model.refused.emit(str(error))
            return False
        self.seek_requested.emit(min(max(0.0, seconds), MAX_SECONDS))
        return True

    def _retime(self, edge: str, text: str) -> bool:
        event = self._model.selected
        return event is not None and self._model.retime(event.id, edge, text)
