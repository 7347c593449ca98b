"""The clock of the window: sixteen frames a second from the reel to the screen, live or at a moment of the past."""

from __future__ import annotations

import time
from collections import deque

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from worldattention.app.reel import Reel
from worldattention.core.geometry import FPS

FRAME_MS = 1000.0 / FPS
LONGEST = 3
"""A frame before a late block is shown for at most so many times as long as others."""
RATE_SECONDS = 5.0
"""Over which the shown rate is taken: several blocks, since slow machines show each in a burst."""


class Playback(QObject):
    """Two heads on one clock: `live` is the newest frame that was let through, `position` the frame shown.

    Every 62.5 ms the live head goes on by one frame; it waits where none is made and skips none. Where the next block
    is known to be late, the frames before it are spread over the time until it is there. The frame shown
    follows it, until somebody looks at the past: then the world goes on while the past is stepped through, held,
    or played at the same speed.
    """

    moved = Signal()  # a head moved, or what is shown changed
    playing_changed = Signal()  # whether what is shown advances
    running_changed = Signal()  # whether the world goes on

    def __init__(self, reel: Reel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reel = reel
        self._position = 0
        self._live = 0
        self._running = False
        self._held = False
        self.free = False  # all is there: a recording has no live frame to stay behind
        self._waiting = False
        self._first = True  # the present frame itself is still to be shown
        self._due = 0.0
        self._expected: tuple[float, int] | None = (
            None  # when the next block will be there, and frames before it
        )
        self._shown: deque[float] = deque(maxlen=round(RATE_SECONDS * FPS) + FPS)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)

    @property
    def position(self) -> int:
        """Frame at the playhead; it may lie past the last made frame while paused."""
        return self._position

    @property
    def live(self) -> int:
        """The newest frame that the clock let through."""
        return self._live

    @property
    def past(self) -> bool:
        """Whether the frame shown lies behind the live one."""
        return self._position < self._live

    @property
    def running(self) -> bool:
        """Whether the world goes on, seen or not."""
        return self._running

    @property
    def playing(self) -> bool:
        """Whether what is shown advances by itself."""
        return self._running and not self._held

    @property
    def waiting(self) -> bool:
        """Whether the clock stands because the next frame is not made yet."""
        return self.playing and self._waiting

    @property
    def shown_fps(self) -> float:
        """Frames a second shown of late, at most 16: after a wait the clock catches up."""
        now = time.perf_counter()
        older = sum(now - moment >= RATE_SECONDS for moment in self._shown)
        recent = list(self._shown)[max(older - 1, 0) :]  # from the wait on that came before the first of them
        if len(recent) < 2:
            return 0.0
        on_time = now - recent[-1] < 2 * FRAME_MS / 1000  # else the wait for the next frame counts too
        return min(FPS, (len(recent) - 1) / ((recent[-1] if on_time else now) - recent[0]))

    def play(self) -> None:
        """Lets what is shown advance, and the world go on; a parked playhead starts at the newest frame."""
        if self.playing:
            return
        newest = max(0, self._reel.made - 1)
        if self.free and self._position >= newest:
            self._position = self._live = 0
        if self._position > newest:
            self._position = self._live = newest
        before, self._running, self._held = self._running, True, False
        self._start_clock()
        self._tell(before)
        self.moved.emit()

    def pause(self) -> None:
        """Stops the clock: the world stands at the present frame."""
        if not self._running:
            return
        self._running = self._held = False
        self._timer.stop()
        self._tell(True)

    def toggle(self) -> None:
        """Play or stop: in the past what is shown, else the world."""
        if not self.playing:
            self.play()
        elif self.past:
            self.hold()
        else:
            self.pause()

    def hold(self) -> None:
        """What is shown stands still; a running world goes on unseen."""
        if self.free:
            self.pause()
        elif self.playing:
            self._held = True
            self.playing_changed.emit()
            self.moved.emit()

    def seek(self, frame: int) -> None:
        """Moves the playhead: into the past, to the live frame, or beyond all frames, where it parks, paused."""
        frame = max(0, frame)
        if frame >= self._reel.made:
            self.pause()
        elif self.free:
            self._live = frame
        elif frame >= self._live:
            frame = self._live = self._live if self._running else frame
        if frame != self._position:
            self._position = frame
            self.moved.emit()
            if self.past:
                self.wake()

    def show_moment(self, frame: int) -> None:
        """Shows a moment of the past, standing still; a running world goes on meanwhile."""
        if not self._reel.made:
            return
        self.hold()
        self.seek(min(max(frame, self._reel.first), self._reel.made - 1))

    def back_to_live(self) -> None:
        """Follows the world again; of a paused world the newest frame is shown."""
        self._held, held = False, self._held
        self._live = self._live if self._running and not self.free else max(0, self._reel.made - 1)
        self._position = self._live
        if held:
            self.playing_changed.emit()
        self.moved.emit()

    def rewind(self, frame: int = 0) -> None:
        """To a frame of another world or branch, the live one there; playing goes on when it was on."""
        self._position = self._live = frame
        self._held, held = False, self._held
        self._first = self._waiting = True
        self._expected = None
        self._shown.clear()
        if held:
            self.playing_changed.emit()
        self.moved.emit()

    def expect(self, moment: float | None) -> None:
        """The block behind what is made will be there at `moment`, by `time.perf_counter`; None where nobody knows."""
        self._expected = None if moment is None else (moment, self._reel.made)

    def wake(self) -> None:
        """New frames are there: goes on at once when the clock was waiting for them."""
        if self._running and self._waiting and self._reel.made > 0:
            self._due = max(self._due, time.perf_counter())
            self._timer.start(0)
        elif self._reel.made > 0 and not self._shown:
            self.moved.emit()  # the first picture of a world that stands

    def _start_clock(self) -> None:
        if self._timer.isActive():
            return  # a held world's clock runs already
        self._first = self._waiting = True
        self._shown.clear()
        self._due = time.perf_counter()
        self._timer.start(0)

    def _tell(self, ran: bool) -> None:
        if ran != self._running:
            self.running_changed.emit()
        self.playing_changed.emit()

    def _tick(self) -> None:
        if not self._running:
            return
        if not self._advance():
            self._waiting = True
            return  # wake() goes on
        self._waiting = False
        now = time.perf_counter()
        if not self._held:
            self._shown.append(now)
        self._due += self._shown_for_s(now)
        if now - self._due > 2 * FRAME_MS / 1000:
            self._due = now  # the window was busy: show each frame late rather than skip any
        self._timer.start(max(0, round((self._due - now) * 1000)))
        self.moved.emit()

    def _shown_for_s(self, now: float) -> float:
        """How long the frame that is shown now stays: longer where a standing picture would follow else."""
        usual = FRAME_MS / 1000
        if self._expected is None or self.past or self._held:
            return usual
        moment, made = self._expected
        ahead = made - 1 - self._live
        if ahead < 0 or self._reel.made > made:
            return usual
        return min(max(usual, (moment - now) / (ahead + 1)), LONGEST * usual)

    def _advance(self) -> bool:
        """Moves the heads by a frame. False when neither could move."""
        made = self._reel.made
        if self._first:
            self._first = made <= self._live
            return not self._first
        followed = not self.past and not self._held
        went_on = self._live + 1 < made
        if went_on:
            self._live += 1
        if followed:
            self._position = self._live
            return went_on
        if not self._held:
            self._position += 1
            return True
        return went_on
