"""One funnel for everything that people are told: quiet toasts over the picture, and a log of all of them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from worldattention.app.panels.dock import flat_button, name_button
from worldattention.app.sentences import spoken
from worldattention.app.texts import plain_label, worded

INFO, WARNING, ERROR = "info", "warning", "error"
SHOWN_MS = {INFO: 5000, WARNING: 9000, ERROR: 0}
MAX_TOASTS = 3
LINE_INSET = 4
"""Above and below a sentence, so that one of a single line stands level with the button beside it."""
_MARKS = {INFO: ("i", "accent"), WARNING: ("!", "warning"), ERROR: ("×", "danger")}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Notice:
    """What was said, how grave it is, and what it is about if a newer word on that replaces it."""

    level: str
    text: str
    topic: Hashable = None


class Notifications(QObject):
    """Shows toasts in the upper right corner of `host`; the newest 200 notices stay in `history`."""

    faded = Signal(object)  # the newest Notice: its toast is gone, and it may stand elsewhere

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._host = host
        self._toasts: list[_Toast] = []
        self.history: deque[Notice] = deque(maxlen=200)
        host.installEventFilter(self)

    def tell(
        self,
        text: str,
        level: str = INFO,
        action: str = "",
        act: Callable[[], None] | None = None,
        topic: Hashable = None,
    ) -> None:
        """Shows a sentence; with `action` also a button that does `act`. The same sentence is shown once.

        Of notices with one `topic` only the newest is shown and kept.
        """
        log.log(logging.INFO if level == INFO else logging.WARNING, "%s", text)
        notice = Notice(level, spoken(text), topic)
        outdated = [old for old in self.history if topic is not None and old.topic == topic]
        for old in outdated:
            self.history.remove(old)
        self.history.append(notice)
        for toast in [toast for toast in self._toasts if toast.notice in (notice, *outdated)]:
            self._remove(toast)
        while len(self._toasts) >= MAX_TOASTS:
            self._remove(self._toasts[0])
        toast = _Toast(notice, action, act, self._host)
        toast.closed.connect(lambda: self._fade(toast))
        self._toasts.append(toast)
        toast.show()
        self._place()
        if SHOWN_MS[level]:
            QTimer.singleShot(SHOWN_MS[level], toast, toast.closed.emit)

    def clear(self, level: str | None = None) -> None:
        """Takes toasts away (of one level, or all)."""
        for toast in list(self._toasts):
            if level is None or toast.notice.level == level:
                self._remove(toast)

    def withdraw(self, topic: Hashable) -> None:
        """What was said on a topic is no longer so: its toast goes, the log keeps it."""
        for toast in [toast for toast in self._toasts if toast.notice.topic == topic]:
            self._remove(toast)

    @property
    def shown(self) -> list[Notice]:
        """The notices that are on the screen."""
        return [toast.notice for toast in self._toasts]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._host and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _fade(self, toast: _Toast) -> None:
        newest = toast in self._toasts and toast.notice is self.history[-1]
        self._remove(toast)
        if newest:
            self.faded.emit(toast.notice)

    def _remove(self, toast: _Toast) -> None:
        if toast in self._toasts:
            self._toasts.remove(toast)
            toast.hide()
            toast.deleteLater()
            self._place()

    def _place(self) -> None:
        y = 12
        for toast in self._toasts:
            width = max(min(380, self._host.width() - 24), 120)
            toast.fit(width)
            toast.move(self._host.width() - toast.width() - 12, y)
            toast.raise_()
            y += toast.height() + 8


class _Toast(QFrame):
    closed = Signal()

    def __init__(self, notice: Notice, action: str, act: Callable[[], None] | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.notice = notice
        mark, tone = _MARKS[notice.level]
        self.setObjectName("toast")
        self.setProperty("tone", tone)
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 6, 8)
        row.setSpacing(10)
        sign = QLabel(mark)
        sign.setObjectName("mark")
        sign.setProperty("tone", tone)
        sign.setFixedWidth(14)
        sign.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        sign.setContentsMargins(0, LINE_INSET, 0, 0)
        column = QVBoxLayout()
        column.setContentsMargins(0, LINE_INSET, 0, LINE_INSET)
        column.setSpacing(6)
        text = plain_label(notice.text)
        text.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)  # else it is asked for before the label knows that it wraps
        text.setSizePolicy(policy)
        self.setAccessibleName(f"{notice.level}: {notice.text}")
        column.addWidget(text)
        if act is not None:
            button = QPushButton(action)
            button.setAccessibleName(action)
            button.clicked.connect(act)
            button.clicked.connect(self.closed)
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        row.addLayout(column, 1)
        close = flat_button("close", 12)
        worded(close, lambda: name_button(close, self.tr("Dismiss")))
        close.clicked.connect(self.closed)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)

    def fit(self, width: int) -> None:
        """So wide, and as high as the words then are."""
        self.setFixedSize(width, self._row.totalHeightForWidth(width))
