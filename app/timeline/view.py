"""The painted timeline: what is seen of it, and mouse and keys that become gestures and edits of the model."""

from __future__ import annotations

import logging

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QRegion,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from worldattention.app import theme
from worldattention.app.texts import tip, worded
from worldattention.app.timeline import gestures, paint, signs
from worldattention.app.timeline.gestures import Draft, Gesture, Hand, Ways
from worldattention.app.timeline.inline_editor import InlineEditor
from worldattention.app.timeline.keys import press_key
from worldattention.app.timeline.layout import MARGIN, RULER_HEIGHT, Layout
from worldattention.app.timeline.marks import Marker
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.timeline.pointing import Pointed, pointed_at, pressed
from worldattention.app.timeline.rules import PastError
from worldattention.app.timeline.words import selection_words
from worldattention.core.errors import UserError
from worldattention.core.timeline import MAX_SECONDS, Event

SNAP_PIXELS = 8
SCROLL_PIXELS = 28
"""Near an edge, a drag scrolls."""
SCROLL_MS = 30
MIN_SCALE, MAX_SCALE = 0.05, 400.0

log = logging.getLogger(__name__)


class TimelineView(QWidget):
    """Shows and edits a `TimelineModel`."""

    seek_requested = Signal(float)  # seconds
    moment_requested = Signal(float)  # seconds of a moment that was remembered
    arc_pointed = Signal(object)  # Arc under the mouse, or None
    range_changed = Signal()  # offset, scale or width
    menu_requested = Signal(object, object)  # global position, event or None

    def __init__(self, model: TimelineModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._offset = 0.0
        self._scale = 20.0
        self._gesture: Gesture | None = None
        self._hand: Hand | None = None  # where a gesture was last
        self._pointed = Pointed()
        self._editor: InlineEditor | None = None
        self._fitted = False
        self._followed = 0.0
        self._changes = 0  # of the model, since the start
        self._painted: QPixmap | None = None
        self._painted_key: object = None
        self._strip = QRegion()  # what the playhead was painted on
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumHeight(132)
        self._scroller = QTimer(self)
        self._scroller.setInterval(SCROLL_MS)
        self._scroller.timeout.connect(self._scroll_along)
        model.changed.connect(self._events_changed)
        model.world_changed.connect(self._world_changed)
        model.playhead_moved.connect(self._playhead_moved)
        model.selection_changed.connect(self.update)
        model.selection_changed.connect(self._describe)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setAccessibleName(self.tr("Timeline"))
        self._describe()
        self._world_changed()

    def sizeHint(self) -> QSize:
        return QSize(900, 150)

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
        content = max(self._model.timeline.seconds, self._model.locked, self._model.cursor)
        return max(min(content, MAX_SECONDS) * 1.05 + 5.0, self.span)

    def set_range(self, offset: float, scale: float | None = None) -> None:
        """Scrolls and zooms."""
        if scale is not None:
            self._scale = min(max(scale, MIN_SCALE), MAX_SCALE)
        self._offset = min(max(0.0, offset), MAX_SECONDS)
        self.range_changed.emit()
        self.update()

    def fit(self) -> None:
        """Zooms so that the whole timeline is seen."""
        seconds = max(self._model.timeline.seconds, self._model.locked, 20.0)
        self.set_range(0.0, (self.width() - 2 * MARGIN) / (seconds * 1.04))

    def zoom(self, factor: float, around: float | None = None) -> None:
        """Zooms around a time (the cursor by default)."""
        centre = self._model.cursor if around is None else around
        fixed = self.layout_now.x(centre)
        scale = min(max(self._scale * factor, MIN_SCALE), MAX_SCALE)
        self.set_range(centre - (fixed - MARGIN) / scale, scale)

    def follow(self) -> None:
        """Turns the page when the playhead runs out of sight."""
        was, self._followed = self._followed, self._model.playhead
        if self._gesture is not None:
            return
        # One that was out of sight before was scrolled away from: whoever edits the future is left alone.
        if self._in_sight(was) and not self._in_sight(self._followed):
            self.set_range(self._followed - 0.6 * self.span)

    def reveal(self, seconds: float) -> None:
        """Scrolls so that a time is seen."""
        if not self._in_sight(seconds):
            self.set_range(seconds - 0.3 * self.span)

    def _in_sight(self, seconds: float) -> bool:
        return self._offset <= seconds <= self._offset + 0.97 * self.span

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.drawPixmap(0, 0, self._background())
            paint.playhead(painter, self._model, self.layout_now)
            self._strip = paint.playhead_strip(self._model, self.layout_now)
        except Exception:  # an exception that leaves a paint event ends the process
            log.exception("the timeline could not be painted")
        finally:
            painter.end()

    def _playhead_moved(self) -> None:
        self.update(self._strip)
        self.update(paint.playhead_strip(self._model, self.layout_now))

    def _background(self) -> QPixmap:
        """All but the playhead, painted anew only when something changed."""
        ratio = self.devicePixelRatioF()
        size = self.size() * ratio
        draft = self._gesture.draft if self._gesture is not None else Draft()
        look = paint.Look(
            timeline=draft.timeline or self._model.timeline,
            markers=self._model.markers if draft.markers is None else draft.markers,
            selection=frozenset(self._model.selection),
            hovered=self._pointed.event,
            arc=self._pointed.arc,
            dragged=draft.dragged,
            guide=draft.guide,
            band=draft.band,
            focused=self.hasFocus(),
        )
        key = (look, self.layout_now, self._changes, ratio, theme.colours())
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
        if self._gesture is not None:
            return
        self._close_editor()
        hand = self._hand_of(event)
        if event.button() == Qt.MouseButton.LeftButton:
            ways = Ways(self._seek, self.moment_requested.emit)
            self._begin(pressed(self._model, self.layout_now, hand, event.modifiers(), ways), hand)
        elif event.button() == Qt.MouseButton.MiddleButton:
            self._begin(gestures.PanGesture(hand, self._offset, self._scale, self.set_range), hand)
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._gesture is None:
            self._hover(event.position())
        else:
            self._drag(self._hand_of(event))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        if (gesture := self._end()) is not None:
            gesture.finish()
        self._hover(event.position())
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._end()
        part, hit = self.layout_now.hit(self._model.timeline, event.position())
        marker = signs.marker_at(self.layout_now, self._model.markers, event.position())
        if marker is not None:
            self.name_marker(marker)
        elif hit is not None:
            self.edit_prompt(hit)
        elif part == "events":
            self.add_at(self.layout_now.seconds(event.position().x()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1.0015 ** turn.y(), self.layout_now.time(event.position().x()))
        else:
            steps = turn.x() or turn.y()
            limit = max(0.0, self.end - self.span)
            self.set_range(min(self._offset - steps / 120 * 0.1 * self.span, limit))
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if self._pointed.arc is not None:
            self.arc_pointed.emit(None)
        self._pointed = Pointed()
        self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        point = QPointF(event.pos())
        _, hit = self.layout_now.hit(self._model.timeline, point)
        marker = signs.marker_at(self.layout_now, self._model.markers, point)
        if hit is not None and hit.id not in self._model.selection:
            self._model.select(hit.id)
        self.menu_requested.emit(event.globalPos(), marker or hit)

    def _hand_of(self, event: QMouseEvent) -> Hand:
        held = event.modifiers()
        free = bool(held & Qt.KeyboardModifier.AltModifier)
        adds = bool(held & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier))
        seconds = self.layout_now.time(event.position().x())
        return Hand(event.position(), seconds, 0.0 if free else SNAP_PIXELS / self._scale, adds)

    def _seek(self, seconds: float) -> None:
        self.seek_requested.emit(self._model.sought(seconds, SNAP_PIXELS / self._scale))

    def _begin(self, gesture: Gesture, hand: Hand) -> None:
        self._gesture, self._hand = gesture, hand
        if gesture.scrolls:
            self._scroller.start()

    def _drag(self, hand: Hand) -> None:
        gesture, self._hand = self._gesture, hand
        if gesture is None:
            return
        try:
            gesture.move(hand)
        except (UserError, KeyError) as error:
            self._end()
            if isinstance(error, PastError):
                self._model.past_refused.emit(error, lambda: True)
                return
            gone = self.tr("The event is gone.")
            self._model.refused.emit(str(error) if isinstance(error, UserError) else gone)
        if gesture.draft.dragged:
            resizes = isinstance(gesture, gestures.ResizeGesture)
            self.setCursor(Qt.CursorShape.SizeHorCursor if resizes else Qt.CursorShape.ClosedHandCursor)
        self.update()

    def _end(self) -> Gesture | None:
        gesture, self._gesture, self._hand = self._gesture, None, None
        self._scroller.stop()
        return gesture

    def cancel_gesture(self) -> bool:
        """Ends the gesture under way as if it had not been. False when there is none."""
        gesture = self._end()
        if gesture is not None:
            gesture.cancel()
            self.setCursor(Qt.CursorShape.ArrowCursor)
            self.update()
        return gesture is not None

    def _scroll_along(self) -> None:
        """While a drag is held near an edge or beyond it, the sheet moves; the farther, the faster."""
        if self._gesture is None or self._hand is None or not self._gesture.moving:
            return
        x = self._hand.point.x()
        beyond = min(x - SCROLL_PIXELS, 0.0) or max(x - (self.width() - SCROLL_PIXELS), 0.0)
        if not beyond or (beyond < 0 and self._offset == 0):
            return
        self.set_range(self._offset + min(max(beyond / 2, -40.0), 40.0) / self._scale)
        hand = self._hand
        self._drag(Hand(hand.point, self.layout_now.time(x), hand.tolerance, hand.adds))

    def _hover(self, point: QPointF) -> None:
        before, self._pointed = self._pointed, pointed_at(self._model, self.layout_now, point)
        self.setCursor(self._pointed.cursor)
        self.setToolTip(tip(self._pointed.words))
        if before.arc is not self._pointed.arc:
            self.arc_pointed.emit(self._pointed.arc)
        if before != self._pointed:
            self.update()

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not press_key(self, self._model, event):
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def add_at(self, seconds: float) -> None:
        """A new event there, its prompt open for typing."""
        reach = max(SNAP_PIXELS / max(self._scale, 1.0), 0.2)
        snapped = self._model.snapping((), reach).nearest(seconds)
        if self._model.add(seconds if snapped is None else snapped, self.tr("New event")):
            selected = self._model.selected
            if selected is not None:
                self.edit_prompt(selected)

    def edit_prompt(self, event: Event) -> None:
        """Opens a line editor over the event."""
        box = self.layout_now.event_rect(event).toRect()
        editor = self._open_editor(self.tr("Prompt of the event"), event.prompt, box)
        editor.finished.connect(lambda text, keep: keep and self._model.reword(event.id, text))

    def name_marker(self, marker: Marker) -> None:
        """Opens a line editor for a marker's name."""
        box = QRect(round(self.layout_now.x(marker.at)), round(RULER_HEIGHT), 160, 36)
        editor = self._open_editor(self.tr("Name of the marker"), marker.name, box)
        editor.setPlaceholderText(self.tr("Name of the marker"))
        editor.finished.connect(lambda text, keep: keep and self._model.name_marker(marker, text))

    def _open_editor(self, name: str, text: str, box: QRect) -> InlineEditor:
        self._close_editor()
        editor = self._editor = InlineEditor(name, text, box, self)
        editor.finished.connect(self._editor_closed)
        editor.show()
        editor.setFocus()
        return editor

    def _editor_closed(self) -> None:
        self._editor = None
        self.setFocus()

    def _close_editor(self) -> None:
        if self._editor is not None:
            self._editor.finish(keep=True)

    def _world_changed(self) -> None:
        self._changes += 1
        self.update()

    def _describe(self) -> None:
        self.setAccessibleDescription(selection_words(self._model))

    def _events_changed(self) -> None:
        gesture = self._gesture
        if isinstance(gesture, gestures.MoveGesture | gestures.ResizeGesture) and gesture.gone:
            self.cancel_gesture()
        self._describe()
        self.range_changed.emit()
        self._world_changed()
