"""Where things stand on the painted timeline: seconds <-> pixels, lanes, and what lies under the mouse."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

from worldattention.core.timeline import Event, Timeline

SECONDS_HEIGHT = 20.0
RULER_HEIGHT = 32.0
"""Seconds, and below them blocks."""
SIGN_HEIGHT = 13.0
EVENT_HEIGHT = 38.0
FILM_HEIGHT = 26.0
GAP = 3.0
HANDLE_PIXELS = 7.0
MARGIN = 12.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Geometry of one painting: `offset` is the time at the left margin, `scale` pixels a second."""

    width: float
    height: float
    offset: float = 0.0
    scale: float = 20.0

    def x(self, seconds: float) -> float:
        """Pixel of a time."""
        return MARGIN + (seconds - self.offset) * self.scale

    def seconds(self, x: float) -> float:
        """Time of a pixel; never negative."""
        return max(0.0, self.time(x))

    def time(self, x: float) -> float:
        """Time of a pixel, negative left of the beginning."""
        return self.offset + (x - MARGIN) / self.scale

    @property
    def last(self) -> float:
        """Time at the right edge."""
        return self.seconds(self.width)

    @property
    def events(self) -> QRectF:
        """The lane of the events, at the bottom."""
        return QRectF(0, self.height - EVENT_HEIGHT - GAP, self.width, EVENT_HEIGHT)

    @property
    def film(self) -> QRectF:
        """The lane of the past's pictures."""
        return QRectF(0, self.events.top() - GAP - FILM_HEIGHT, self.width, FILM_HEIGHT)

    @property
    def signs(self) -> QRectF:
        """The row of names below the ruler: markers and mode changes."""
        return QRectF(0, RULER_HEIGHT, self.width, SIGN_HEIGHT)

    @property
    def arcs(self) -> QRectF:
        """The space between ruler and film, where recalls leap."""
        return QRectF(0, RULER_HEIGHT, self.width, max(0.0, self.film.top() - RULER_HEIGHT))

    def visible(self, timeline: Timeline, left: float = 0.0, right: float | None = None) -> tuple[Event, ...]:
        """The events that are seen between two pixels; found without looking at all others."""
        low, high = self.time(left), self.time(self.width if right is None else right)
        events = timeline.events
        first = max(0, bisect_right(events, low, key=_start) - 1)
        return events[first : bisect_right(events, high, key=_start)]

    def event_rect(self, event: Event) -> QRectF:
        """The box of an event."""
        lane = self.events
        return QRectF(self.x(event.start), lane.top(), event.seconds * self.scale, lane.height())

    def hit(self, timeline: Timeline, point: QPointF) -> tuple[str, Event | None]:
        """What is at a point: ("start" | "end" | "body", event), ("events" | "time", None)."""
        if not self.events.contains(point):
            return "time", None
        near: list[tuple[float, str, Event]] = []
        for event in self.visible(timeline, point.x() - HANDLE_PIXELS, point.x() + HANDLE_PIXELS):
            rect = self.event_rect(event)
            handle = min(HANDLE_PIXELS, rect.width() / 3)
            inside = rect.left() <= point.x() < rect.right()
            for edge, x in (("start", rect.left()), ("end", rect.right())):
                distance = abs(point.x() - x)
                if distance <= handle and (inside or distance <= 2):
                    near.append((distance + (0 if inside else 1), edge, event))
            if inside:
                near.append((handle + 1, "body", event))
        if not near:
            return "events", None
        _, part, event = min(near, key=lambda item: item[0])
        return part, event


def _start(event: Event) -> float:
    return event.start


def tick_step(scale: float) -> float:
    """Seconds between labelled ticks of the ruler so that labels do not touch."""
    for step in (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0):
        if step * scale >= 64:
            return step
    return 3600.0


def block_step(block_pixels: float) -> int:
    """Blocks between labelled ticks so that labels do not touch."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if step * block_pixels >= 44:
            return step
    return 5000


def clock(seconds: float, tenths: bool = False) -> str:
    """`1:05` or, with tenths, `1:05.3`."""
    if tenths:
        whole = int(seconds * 10 + 1e-6)
        return f"{whole // 600}:{whole // 10 % 60:02d}.{whole % 10}"
    whole = int(seconds + 1e-6)
    return f"{whole // 60}:{whole % 60:02d}"
