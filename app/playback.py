"""The clock of the window: sixteen frames a second from the reel to the screen."""

from __future__ import annotations

import time
from collections import deque

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from worldattention.app.reel import Reel
from worldattention.core.geometry import FPS

FRAME_MS = 1000.0 / FPS


class Playback(QObject):
    """The clock of the window: shows one frame every 62.5 ms, waits where none is made, never skips one."""

    moved = Signal()  # the position or what is shown there changed
    playing_changed = Signal()

    def __init__(self, reel: Reel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reel = reel
        self._position = 0
        self._playing = False
        self._waiting = False
        self._due = 0.0
        self._shown: deque[float] = deque(maxlen=4 * FPS)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)

    @property
    def position(self) -> int:
        """Frame at the playhead; it may lie past the last made frame while paused."""
        return self._position

    @property
    def playing(self) -> bool:
        """Whether frames advance by themselves."""
        return self._playing

    @property
    def waiting(self) -> bool:
        """Whether the clock stands because the next frame is not made yet."""
        return self._playing and self._waiting

    @property
    def shown_fps(self) -> float:
        """Frames a second shown over the last two seconds, at most 16: after a wait the clock catches up."""
        now = time.perf_counter()
        recent = [moment for moment in self._shown if now - moment < 2.0]
        if len(recent) < 2:
            return 0.0
        on_time = now - recent[-1] < 2 * FRAME_MS / 1000  # else the wait for the next frame counts too
        return min(FPS, (len(recent) - 1) / ((recent[-1] if on_time else now) - recent[0]))

    def play(self) -> None:
        """Starts the clock, from the last made frame when the playhead was parked beyond it."""
        if self._playing:
            return
        self._position = min(self._position, max(0, self._reel.made - 1))
        self._playing = True
        self._waiting = True
        self._shown.clear()
        self._due = time.perf_counter()
        self._timer.start(0)
        self.playing_changed.emit()
        self.moved.emit()

    def pause(self) -> None:
        """Stops the clock at the present frame."""
        if not self._playing:
            return
        self._playing = False
        self._timer.stop()
        self.playing_changed.emit()

    def seek(self, frame: int) -> None:
        """Moves the playhead; beyond the made frames it parks there, paused."""
        frame = max(0, frame)
        if frame >= self._reel.made:
            self.pause()
        if frame != self._position:
            self._position = frame
            self.moved.emit()

    def rewind(self) -> None:
        """Back to frame 0 of a new world; playing goes on when it was on."""
        self._position = 0
        self._waiting = True
        self._shown.clear()
        self.moved.emit()

    def wake(self) -> None:
        """New frames are there: goes on at once when the clock was waiting for them."""
        if self.waiting and self._reel.made > 0:
            self._due = max(self._due, time.perf_counter())
            self._timer.start(0)
        elif self._reel.made > 0 and not self._shown:
            self.moved.emit()

    def _tick(self) -> None:
        if not self._playing:
            return
        first = not self._shown
        if self._position + (0 if first else 1) >= self._reel.made:
            self._waiting = True
            return  # wake() goes on
        if not first:
            self._position += 1
        self._waiting = False
        now = time.perf_counter()
        self._shown.append(now)
        self._due += FRAME_MS / 1000
        if now - self._due > 2 * FRAME_MS / 1000:
            self._due = now  # the window was busy: show each frame late rather than skip any
        self._timer.start(max(0, round((self._due - now) * 1000)))
        self.moved.emit()
