"""The painted timeline: mouse and keys become edits of the model. One drag is one undo step; Esc cancels it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from worldattention.app.texts import tip
from worldattention.app.timeline import paint, rules
from worldattention.app.timeline.inline_editor import InlineEditor
from worldattention.app.timeline.layout import MARGIN, Layout, clock
from worldattention.app.timeline.model import TimelineModel
from worldattention.core.errors import UserError
from worldattention.core.timeline import Event, Timeline

DRAG_PIXELS = 4
SNAP_PIXELS = 8
MIN_SCALE, MAX_SCALE = 0.2, 400.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Drag:
    """A press on an event that may become a drag."""

    event: Event
    part: str  # start | end | body
    press: QPointF
    moving: bool = False
    preview: Timeline | None = None
    guide: float | None = None


class TimelineView(QWidget):
    """Shows and edits a `TimelineModel`."""

    seek_requested = Signal(float)  # seconds
    range_changed = Signal()  # offset, scale or width
    menu_requested = Signal(object, object)  # global position, event or None

    def __init__(self, model: TimelineModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._offset = 0.0
        self._scale = 20.0
        self._drag: _Drag | None = None
        self._scrubbing = False
        self._hovered: int | None = None
        self._editor: InlineEditor | None = None
        self._fitted = False
        self._followed = 0.0
        self._changes = 0  # of the model, since the start
        self._painted: QPixmap | None = None
        self._painted_key: object = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumHeight(118)
        self.setAccessibleName(self.tr("Timeline"))
        self.setAccessibleDescription(
            self.tr("Prompt events over time; the tab Table holds the same events as a table.")
        )
        model.changed.connect(self._events_changed)
        model.world_changed.connect(self._world_changed)
        model.playhead_moved.connect(self.update)
        model.selection_changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(900, 150)

    # Range

    @property
    def layout_now(self) -> Layout:
        """Seconds to pixels, as now."""
        return Layout(self.width(), self.height(), self._offset, self._scale)

    @property
    def offset(self) -> float:
        """Time at the left margin."""
        return self._offset

    @property
    def span(self) -> float:
        """Seconds that fit into the view."""
        return max(1.0, self.width() - 2 * MARGIN) / self._scale

    @property
    def end(self) -> float:
        """Seconds that can be scrolled to."""
        content = max(self._model.timeline.seconds, self._model.locked, self._model.playhead)
        return max(content * 1.05 + 5.0, self.span)

    def set_range(self, offset: float, scale: float | None = None) -> None:
        """Scrolls and zooms."""
        if scale is not None:
            self._scale = min(max(scale, MIN_SCALE), MAX_SCALE)
        self._offset = max(0.0, offset)
        self.range_changed.emit()
        self.update()

    def fit(self) -> None:
        """Zooms so that the whole timeline is seen."""
        seconds = max(self._model.timeline.seconds, self._model.locked, 20.0)
        self.set_range(0.0, (self.width() - 2 * MARGIN) / (seconds * 1.04))

    def zoom(self, factor: float, around: float | None = None) -> None:
        """Zooms around a time (the playhead by default)."""
        centre = self._model.playhead if around is None else around
        fixed = self.layout_now.x(centre)
        scale = min(max(self._scale * factor, MIN_SCALE), MAX_SCALE)
        self.set_range(centre - (fixed - MARGIN) / scale, scale)

    def follow(self) -> None:
        """Turns the page when the playhead runs out of sight."""
        was, self._followed = self._followed, self._model.playhead
        if self._drag is not None or self._scrubbing:
            return
        # One that was out of sight before was scrolled away from: whoever edits the future is left alone.
        if self._in_sight(was) and not self._in_sight(self._followed):
            self.set_range(self._followed - 0.6 * self.span)

    def _in_sight(self, seconds: float) -> bool:
        return self._offset <= seconds <= self._offset + 0.97 * self.span

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.drawPixmap(0, 0, self._background())
            paint.playhead(painter, self._model, self.layout_now)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the timeline could not be painted")
        finally:
            painter.end()

    def _background(self) -> QPixmap:
        """All but the playhead, painted anew only when something changed."""
        ratio = self.devicePixelRatioF()
        size = self.size() * ratio
        drag = self._drag
        preview = drag.preview if drag is not None else None
        look = paint.Look(
            timeline=preview or self._model.timeline,
            hovered=self._hovered,
            dragged=drag.event.id if drag is not None and drag.moving else None,
            guide=drag.guide if drag is not None else None,
            focused=self.hasFocus(),
        )
        key = (look, self.layout_now, self._model.selected, self._changes, ratio)
        if self._painted is None or self._painted_key != key or self._painted.size() != size:
            pixmap = QPixmap(size)
            pixmap.setDevicePixelRatio(ratio)
            painter = QPainter(pixmap)
            try:
                paint.paint(painter, self._model, self.layout_now, look)
            finally:
                painter.end()
            self._painted, self._painted_key = pixmap, key
        return self._painted

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._fitted and self.width() > 200:
            self._fitted = True
            self.fit()
        self.range_changed.emit()

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._close_editor()
        part, hit = self.layout_now.hit(self._model.timeline, event.position())
        if part == "time":
            self._scrubbing = True
            self._scrub(event.position())
        elif hit is not None:
            self._model.select(hit.id)
            self._drag = _Drag(hit, part, event.position())
        else:
            self._model.select(None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._scrubbing:
            self._scrub(event.position())
        elif self._drag is not None:
            self._continue_drag(event)
        else:
            self._hover(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._scrubbing = False
        drag, self._drag = self._drag, None
        if drag is not None and drag.moving and drag.preview is not None:
            text = self.tr("Move event") if drag.part == "body" else self.tr("Resize event")
            self._model.edit(text, self._finished(drag))
        self._hover(event.position())
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        part, hit = self.layout_now.hit(self._model.timeline, event.position())
        self._drag = None
        if hit is not None:
            self.edit_prompt(hit)
        elif part == "events":
            self.add_at(self.layout_now.seconds(event.position().x()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1.0015 ** turn.y(), self.layout_now.seconds(event.position().x()))
        else:
            steps = turn.x() or turn.y()
            limit = max(0.0, self.end - self.span)
            self.set_range(min(self._offset - steps / 120 * 0.1 * self.span, limit))
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = None
        self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        _, hit = self.layout_now.hit(self._model.timeline, QPointF(event.pos()))
        if hit is not None:
            self._model.select(hit.id)
        self.menu_requested.emit(event.globalPos(), hit)

    def _scrub(self, point: QPointF) -> None:
        self.seek_requested.emit(self.layout_now.seconds(point.x()))

    def _hover(self, point: QPointF) -> None:
        part, hit = self.layout_now.hit(self._model.timeline, point)
        self._hovered = hit.id if hit is not None else None
        locked = self._model.locked
        shape = Qt.CursorShape.ArrowCursor
        if hit is not None:
            edge_past = (hit.end if part == "end" else hit.start) < locked
            if edge_past:
                shape = Qt.CursorShape.ForbiddenCursor
            else:
                shape = Qt.CursorShape.OpenHandCursor if part == "body" else Qt.CursorShape.SizeHorCursor
            self.setToolTip(tip(f"{clock(hit.start, True)} – {clock(hit.end, True)}\n{hit.prompt}"))
        else:
            self.setToolTip("")
        self.setCursor(shape)
        self.update()

    def _continue_drag(self, event: QMouseEvent) -> None:
        drag = self._drag
        assert drag is not None
        if not drag.moving:
            if (event.position() - drag.press).manhattanLength() < DRAG_PIXELS:
                return
            drag.moving = True
            if drag.part == "body":
                self.setCursor(Qt.CursorShape.ClosedHandCursor)
        free = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        tolerance = 0.0 if free else SNAP_PIXELS / self._scale
        snapping = self._model.snapping(drag.event.id, tolerance) if tolerance else rules.NO_SNAPPING
        by = (event.position().x() - drag.press.x()) / self._scale
        try:
            drag.preview, drag.guide = self._dragged(self._model.timeline, drag, by, snapping)
        except (UserError, KeyError) as error:
            self._drag = None
            gone = self.tr("The event is gone.")
            self._model.refused.emit(str(error) if isinstance(error, UserError) else gone)
        self.update()

    def _dragged(
        self, timeline: Timeline, drag: _Drag, by: float, snapping: rules.Snapping
    ) -> tuple[Timeline, float | None]:
        locked = self._model.locked
        if drag.part == "body":
            return rules.move(timeline, drag.event.id, drag.event.start + by, locked, snapping)
        edge = drag.event.start if drag.part == "start" else drag.event.end
        return rules.resize(timeline, drag.event.id, drag.part, edge + by, locked, snapping)

    def _finished(self, drag: _Drag) -> Callable[[Timeline], Timeline]:
        """The drag as an edit of the timeline of now: the world may have moved on since the last mouse move."""
        assert drag.preview is not None
        target = drag.preview.get(drag.event.id)
        locked = self._model.locked

        def change(timeline: Timeline) -> Timeline:
            if drag.part == "body":
                return rules.move(timeline, target.id, target.start, locked)[0]
            edge = target.start if drag.part == "start" else target.end
            return rules.resize(timeline, target.id, drag.part, edge, locked)[0]

        return change

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        selected = self._model.selected
        if event.key() == Qt.Key.Key_Escape and (self._drag is not None or selected is not None):
            if self._drag is not None:
                self._drag = None
                self.setCursor(Qt.CursorShape.ArrowCursor)
            else:
                self._model.select(None)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and selected is not None:
            self.edit_prompt(selected)
        elif event.modifiers() & Qt.KeyboardModifier.AltModifier and event.key() in (
            Qt.Key.Key_Left,
            Qt.Key.Key_Right,
        ):
            self._model.nudge_selected(-1 if event.key() == Qt.Key.Key_Left else 1)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    # Prompts

    def add_at(self, seconds: float) -> None:
        """A new event there, its prompt open for typing."""
        step = 1.0 / max(self._scale, 1.0)
        snapped = self._model.snapping(-1, max(SNAP_PIXELS * step, 0.2)).nearest(seconds)
        if self._model.add(seconds if snapped is None else snapped, self.tr("New event")):
            selected = self._model.selected
            if selected is not None:
                self.edit_prompt(selected)

    def edit_prompt(self, event: Event) -> None:
        """Opens a line editor over the event."""
        self._close_editor()
        box = self.layout_now.event_rect(event).toRect()
        self._editor = InlineEditor(event.id, event.prompt, box, self)
        self._editor.finished.connect(self._prompt_typed)
        self._editor.show()
        self._editor.setFocus()

    def _prompt_typed(self, event_id: int, prompt: str, keep: bool) -> None:
        self._editor = None
        if keep:
            self._model.reword(event_id, prompt)
        self.setFocus()

    def _close_editor(self) -> None:
        if self._editor is not None:
            self._editor.finish(keep=True)

    def _world_changed(self) -> None:
        self._changes += 1
        self.update()

    def _events_changed(self) -> None:
        self._changes += 1
        if self._drag is not None and self._drag.event.id not in {e.id for e in self._model.timeline.events}:
            self._drag = None
        self.range_changed.emit()
        self.update()
