"""Provenance: the moments that the world remembers now, as pictures with their time and their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QIcon, QImage, QPixmap
from PySide6.QtWidgets import QLabel, QListView, QListWidget, QListWidgetItem, QStackedLayout, QWidget

from worldattention.app import theme
from worldattention.app.panels.dock import PanelDock
from worldattention.app.texts import fit_text, worded
from worldattention.app.timeline.layout import clock
from worldattention.core.telemetry import BlockTelemetry, PageRecord

PICTURE = QSize(108, 54)
RECALLS = 500
"""Recalls that are kept: a world that is rewound goes back to an older one."""

Thumbnail = Callable[[int], QImage | None]
"""The picture of a pixel frame."""
Span = Callable[[PageRecord], tuple[float, float]]
"""Start and end of a page in seconds."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What a block recalled: its pages, the best first."""

    block: int
    prompt: str
    pages: tuple[PageRecord, ...]
    missed: frozenset[int]


def recall_of(record: BlockTelemetry) -> Recall | None:
    """The recall of a block, if it made one."""
    if record.recall is None:
        return None
    by_number = {page.page: page for page in record.pages}
    pages = [by_number[number] for number in record.recall.chosen if number in by_number]
    pages.sort(key=lambda page: -(page.score if page.score is not None else -2.0))
    return Recall(record.block, record.prompt, tuple(pages), frozenset(record.recall.missed))


class ProvenancePanel(PanelDock):
    """Shows the newest recall, the best page first; a click shows its moment."""

    page_pointed = Signal(object)  # PageRecord under the mouse or the cursor, or None
    page_chosen = Signal(object)  # PageRecord

    def __init__(self, thumbnail: Thumbnail, span: Span, parent: QWidget | None = None) -> None:
        super().__init__("provenance", parent)
        self._thumbnail, self._span = thumbnail, span
        self.list = PageList()
        self.hint = QLabel()
        self.hint.setObjectName("faint")
        self.hint.setWordWrap(True)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        body = QWidget()
        self._stack = QStackedLayout(body)
        self._stack.addWidget(self.hint)
        self._stack.addWidget(self.list)
        self.fill(body)
        self._recalls: list[Recall] = []
        self._shown: Recall | None = None
        self.list.left.connect(lambda: self.page_pointed.emit(None))
        self.list.itemEntered.connect(lambda item: self.page_pointed.emit(self._page(item)))
        self.list.currentItemChanged.connect(self._current_changed)
        self.list.itemActivated.connect(lambda item: self.page_chosen.emit(self._page(item)))
        self.list.itemClicked.connect(lambda item: self.page_chosen.emit(self._page(item)))
        worded(self, self._speak)

    def _speak(self) -> None:
        self.set_title(self.tr("Remembered moments"))
        self.setToolTip(
            self.tr(
                "The pages of the past that the newest recall put into the attention window. Click one to see it."
            )
        )
        self.hint.setText(
            self.tr("When the prompt changes, the moments that the world goes back to are shown here.")
        )
        self._show()

    @property
    def shown(self) -> Recall | None:
        """The recall whose pages are shown."""
        return self._shown

    def show_blocks(self, telemetry: list[BlockTelemetry]) -> None:
        """Takes in blocks, in order."""
        for record in telemetry:
            recall = recall_of(record)
            if recall is not None and recall.pages:
                while self._recalls and self._recalls[-1].block >= record.block:
                    self._recalls.pop()  # another future than the one that is made now
                self._recalls.append(recall)
        del self._recalls[:-RECALLS]
        self._choose()

    def clear(self) -> None:
        """A new world: nothing to remember."""
        self._recalls.clear()
        self._choose()

    def highlight(self, page: PageRecord | None) -> None:
        """Selects the picture of a page that something else points at."""
        for row in range(self.list.count()):
            item = self.list.item(row)
            item.setSelected(page is not None and self._page(item).page == page.page)

    def _choose(self) -> None:
        recall = self._recalls[-1] if self._recalls else None
        if recall is not self._shown:
            self._shown = recall
            self._show()

    def _show(self) -> None:
        recall = self._shown
        self.list.clear()
        self._stack.setCurrentIndex(0 if recall is None else 1)
        if recall is None:
            self.set_readout("")
            return
        for page in recall.pages:
            self.list.addItem(self._item(page, page.page in recall.missed))
        count = self.tr("{} page") if len(recall.pages) == 1 else self.tr("{} pages")
        self.set_readout(
            self.tr("recalled at block {0} · {1} · {2}").format(
                recall.block, count.format(len(recall.pages)), recall.prompt
            )
        )

    def _item(self, page: PageRecord, missed: bool) -> QListWidgetItem:
        start, end = self._span(page)
        scores = self.tr("score {0} · sim. {1}").format(fit_text(page.score), fit_text(page.similarity))
        second = self.tr("not read in time") if missed else scores
        item = QListWidgetItem(f"{clock(start, True)}\n{second}")
        picture = self._thumbnail(round(8 * (start + end)))  # the middle, at 16 frames a second
        image = QPixmap.fromImage(picture) if picture is not None else QPixmap(PICTURE)
        item.setIcon(QIcon(image))
        item.setData(Qt.ItemDataRole.UserRole, page)
        words = self.tr("page {0}, {1} to {2}, {3}, {4}").format(
            page.page, clock(start, True), clock(end, True), scores, theme.tier_name(page.tier)
        )
        item.setToolTip(words)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, words)
        return item

    def _page(self, item: QListWidgetItem) -> PageRecord:
        page = item.data(Qt.ItemDataRole.UserRole)
        assert isinstance(page, PageRecord)
        return page

    def _current_changed(self, item: QListWidgetItem | None) -> None:
        if self.list.hasFocus():
            self.page_pointed.emit(self._page(item) if item is not None else None)


class PageList(QListWidget):
    """Pictures in rows; arrow keys go from one to the next, Enter chooses."""

    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        worded(self, lambda: self.setAccessibleName(self.tr("Remembered moments")))
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setMovement(QListView.Movement.Static)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setIconSize(PICTURE)
        self.setGridSize(QSize(PICTURE.width() + 9, PICTURE.height() + 36))
        self.setFont(theme.font(10))
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFrameShape(self.Shape.NoFrame)
        self.setMinimumHeight(40)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.left.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()
