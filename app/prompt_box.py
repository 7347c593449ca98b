"""Where people talk to the world: a line with history, its answer, and the moments that the world remembers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from worldattention.app import icons, theme
from worldattention.app.chips import ChipRow, chips_of
from worldattention.app.memory_strip import CELL_HEIGHT, RECALLED, WOULD_RECALL, Memory, MemoryStrip
from worldattention.app.prompt_edit import PromptEdit
from worldattention.app.sentences import spoken
from worldattention.app.texts import ElidedLabel, worded
from worldattention.core.errors import UserError
from worldattention.core.pocket.prompts import Understood
from worldattention.core.timeline import check_prompt

TYPING_MS = 250
"""The world is asked what a text would recall when no key was pressed for so long."""
STRIP_SHARE = 0.55
"""Of the width, at most this belongs to moments."""


class PromptLanguage(Protocol):
    """What a world makes of words; both are quick enough for every key press."""

    def understand(self, text: str) -> Understood: ...
    def complete(self, text: str) -> tuple[str, ...]: ...


class PromptBox(QWidget):
    """The prompt line, its button, and a line that answers."""

    said = Signal(str)
    put = Signal(str)
    left = Signal()
    memory_chosen = Signal(float)  # seconds
    typing = Signal(str)  # what stands here when no key was pressed for a moment

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.edit = PromptEdit()
        self.edit.said.connect(self._say)
        self.edit.put.connect(self._put)
        self.edit.left.connect(self.left)
        self.edit.textChanged.connect(self._text_changed)
        self._language: PromptLanguage | None = None
        self._send = QPushButton()
        self._send.setIcon(icons.icon("send", icons.ON_PRIMARY))
        self._send.setProperty("primary", True)
        self._send.setMinimumHeight(36)
        self._send.clicked.connect(lambda: self._say(self.edit.text()))
        self._answer = ElidedLabel()
        self._answer.setObjectName("muted")
        self.chips = ChipRow()
        self._words = QStackedWidget()
        self._words.addWidget(self._answer)
        self._words.addWidget(self.chips)
        self.memories = MemoryStrip()
        self.memories.chosen.connect(self.memory_chosen)
        self._recalled: tuple[Memory, ...] = ()
        self._foreseen: tuple[Memory, ...] | None = None  # None: not asked, or not answered yet
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(TYPING_MS)
        self._pause.timeout.connect(lambda: self.typing.emit(self.edit.text().strip()))
        self._lay_out()
        self.hint()
        worded(self, self._speak)

    def _speak(self) -> None:
        self._send.setText(self.tr("Enter"))
        self._send.setAccessibleName(self.tr("Say it now"))
        self._send.setToolTip(
            self.tr("Changes the world at the next block (Enter); Ctrl+Enter puts it on the timeline")
        )
        self._answer.setAccessibleName(self.tr("Answer to the prompt"))
        self._answer.show_text(self._words_of_answer())

    @property
    def language(self) -> PromptLanguage | None:
        """What the world makes of words, where it can say so before it is there."""
        return self._language

    @language.setter
    def language(self, language: PromptLanguage | None) -> None:
        self._language = language
        self.edit.complete = language.complete if language is not None else None

    @property
    def answer(self) -> str:
        """The line below the prompt."""
        return self.chips.sentence if self._words.currentWidget() is self.chips else self._answer.text()

    def hint(self) -> None:
        """What the keys do."""
        self._show_answer(
            lambda: self.tr("Enter changes the world at the next block · Ctrl+Enter puts it on the timeline"),
            "muted",
        )

    def show_acknowledged(self, prompt: str, block: int, clock: str) -> None:
        """The prompt is taken, and from which block on it shows."""
        words = prompt if len(prompt) <= 60 else prompt[:59] + "…"
        self._show_answer(
            lambda: self.tr("✓ takes effect at block {0} ({1}): {2}").format(block, clock, words), "good"
        )

    def show_refused(self, sentence: str) -> None:
        """The prompt is not taken, and why."""
        self._refuse(sentence)

    def show_memories(self, memories: tuple[Memory, ...]) -> None:
        """The pages that the last recall brought back."""
        self._recalled = memories
        self._show_strip()

    def show_foreseen(self, text: str, memories: tuple[Memory, ...]) -> None:
        """The moments that `text` would recall; nothing when another text stands here by now."""
        if text == self.edit.text().strip():
            self._foreseen = memories
            self._show_strip()

    def forget_world(self) -> None:
        """Another world, or another past of it: nothing that was recalled or foreseen counts any more."""
        self._recalled, self._foreseen = (), None
        self._show_strip()
        self._text_changed(self.edit.text())

    def world_went_on(self) -> None:
        """A block was made: a text that would have recalled nothing may recall something now."""
        if self._foreseen == () and not self._pause.isActive() and self.edit.text().strip():
            self._foreseen = None
            self.typing.emit(self.edit.text().strip())

    def show_nearest(self, text: str, nearest: str) -> None:
        """`text` is of another world: what would be shown instead, if it still stands in the line."""
        if text == self.edit.text().strip():
            self._show_answer(
                lambda: self.tr("This world does not know all of that; it will show the nearest: {}").format(
                    nearest
                ),
                "warning",
            )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.memories.set_room(round(self.width() * STRIP_SHARE))

    def _show_strip(self) -> None:
        if self._foreseen is not None and self.edit.text().strip():
            self.memories.show_memories(self._foreseen, WOULD_RECALL)
        else:
            self.memories.show_memories(self._recalled, RECALLED)
        self.memories.set_room(round(self.width() * STRIP_SHARE))

    def _lay_out(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(theme.SPACE)
        line.addWidget(self.edit, 1)
        line.addWidget(self._send)
        below = QHBoxLayout()
        below.setContentsMargins(4, 0, 0, 0)
        below.setSpacing(8)
        below.addWidget(self._words, 1)
        below.addWidget(self.memories)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(4)
        column.addLayout(line)
        column.addLayout(below)
        below.addStrut(CELL_HEIGHT)

    def _say(self, text: str) -> None:
        if (prompt := self._usable(text)) is not None:
            self.edit.remember(prompt)
            self._show_answer(lambda: self.tr("sent …"), "muted")
            self.said.emit(prompt)

    def _put(self, text: str) -> None:
        if (prompt := self._usable(text)) is not None:
            self.edit.remember(prompt)
            self.put.emit(prompt)

    def _usable(self, text: str) -> str | None:
        prompt = text.strip()
        if not prompt:
            self.edit.setFocus()
            return None
        try:
            check_prompt(prompt)
        except UserError as error:
            self._refuse(str(error))
            return None
        return prompt

    def _text_changed(self, text: str) -> None:
        if not text.strip():
            self._pause.stop()
            self._foreseen = None
            self._show_strip()
        else:
            self._pause.start()
        self._refuse("")
        if not text.strip() or self._language is None:
            self.hint()
            return
        understood = self._language.understand(text)
        if understood.known:
            self.chips.show_chips(chips_of(understood))
            self._words.setCurrentWidget(self.chips)
        else:
            self.show_nearest(text.strip(), understood.nearest)

    def _refuse(self, sentence: str) -> None:
        refused = bool(sentence)
        if self.edit.property("refused") != refused:
            self.edit.setProperty("refused", refused)
            self.edit.style().unpolish(self.edit)
            self.edit.style().polish(self.edit)
        if refused:
            self._show_answer(lambda: spoken(sentence), "danger")

    def _show_answer(self, words: Callable[[], str], tone: str) -> None:
        """`words` are asked for again when the language changes."""
        self._words_of_answer = words
        self._answer.show_text(words())
        theme.set_tone(self._answer, tone)
        self._words.setCurrentWidget(self._answer)
