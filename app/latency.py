"""From Enter to the picture, measured in the window itself: keys go in, painted frames are watched."""

from __future__ import annotations

import itertools
import statistics
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from worldattention.core.errors import UserError
from worldattention.core.geometry import FPS

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow
    from worldattention.app.messages import Begun

PROMPTS = (
    "A woman in a yellow shirt flies a kite on the beach at sunset.",
    "A man in a red shirt throws and catches a red ball in a village street during the day.",
    "A man in a green shirt walks a dog in the city at night.",
)
SETTLE_BLOCKS = 5
"""Blocks between two prompts, so that each meets a world that runs."""
STRIDE = 7
"""Prompts fall at evenly spread moments of a block, one after the other seven apart."""
DEADLINE_S = 600.0


@dataclass(frozen=True, slots=True)
class Gap:
    """The longest time between two painted frames between an Enter and its picture, and what was made meanwhile."""

    seconds: float
    frame: int
    """The frame that ended it."""
    block: int
    """The one that the frame waited for: its own, if it is the first of it, else the next."""
    ahead_frames: int
    """Frames that were not shown yet when the block was begun."""
    stage_ms: dict[str, float]
    """What the block spent its time on."""

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {spent:.0f}" for name, spent in self.stage_ms.items() if spent >= 1)
        return (
            f"{self.seconds:.3f} s before frame {self.frame}, while block {self.block} was made, "
            f"which was begun {self.ahead_frames} frames ahead: {stages} ms"
        )


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """Seconds from each Enter to the first painted frame under its prompt; the longest gap meanwhile."""

    seconds: tuple[float, ...]
    gaps: tuple[Gap, ...]

    def to_json(self) -> dict[str, Any]:
        """Medians, extremes and every value."""
        return {
            "median_s": statistics.median(self.seconds),
            "worst_s": max(self.seconds),
            "longest_gap_s": max(gap.seconds for gap in self.gaps),
            "n": len(self.seconds),
            "seconds": list(self.seconds),
            "gaps_s": [gap.seconds for gap in self.gaps],
            "gaps": [asdict(gap) for gap in self.gaps],
        }


class LatencyProbe(QObject):
    """Types prompts into a window whose world runs. `done` when it has all or gives up."""

    done = Signal()

    def __init__(
        self,
        window: MainWindow,
        repeats: int,
        settle_blocks: int = SETTLE_BLOCKS,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        super().__init__(window)
        self._window, self._world = window, window.world
        self._repeats, self._settle = repeats, settle_blocks
        self._prompts = itertools.cycle(PROMPTS)
        self._prompt = ""
        self._due = False  # a prompt waits for its moment
        self._entered = 0.0
        self._wait_until = settle_blocks
        self._frame: int | None = None  # the first one under the prompt
        self._shown = (-1, 0.0)  # frame on screen, since when
        self._longest = (0.0, 0)  # seconds, and the frame that ended them
        self._ahead: dict[int, int] = {}  # by block: frames not shown yet when it was begun
        self._seconds: list[float] = []
        self._gaps: list[Gap] = []
        self.failure: str | None = None
        window.viewport.installEventFilter(self)
        self._world.begun.connect(self._begun)
        self._world.made.connect(self._made)
        self._world.ready.connect(lambda _ready: self._world.playback.play())
        self._world.failed.connect(lambda failed: self._end(failed.sentence))
        QTimer.singleShot(
            int(deadline_s * 1000), self, lambda: self._end("The world was too slow to be measured in time.")
        )

    def report(self) -> LatencyReport:
        """What was measured. Raises UserError when it was not all."""
        if self.failure is not None or len(self._seconds) < self._repeats:
            raise UserError(self.failure or "The window was closed before all was measured.")
        return LatencyReport(tuple(self._seconds), tuple(self._gaps))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Looks at what the viewport has just painted."""
        if event.type() == QEvent.Type.Paint:
            QTimer.singleShot(0, self, self._painted)
        return False

    def _begun(self, message: Begun) -> None:
        self._ahead[message.block] = self._world.reel.made - 1 - self._world.playback.position

    def _made(self, records: list[Any]) -> None:
        for record in records:
            if self._frame is None and record.prompt == self._prompt and record.prompt_changed:
                self._frame = record.first_frame
        if not self._prompt and not self._due and self._world.blocks >= self._wait_until:
            self._due = True
            phase = (STRIDE * len(self._seconds) + 0.5) % self._repeats / self._repeats
            block_ms = 1000 * self._world.geometry.block_frames / FPS
            QTimer.singleShot(round(phase * block_ms), self, self._enter)

    def _enter(self) -> None:
        """Types the next prompt and presses Enter."""
        self._due = False
        self._prompt, self._frame, self._longest = next(self._prompts), None, (0.0, 0)
        edit = self._window.prompt_box.edit
        edit.setText(self._prompt)
        self._entered = time.perf_counter()
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            QApplication.sendEvent(edit, QKeyEvent(kind, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier))

    def _painted(self) -> None:
        position, now = self._world.playback.position, time.perf_counter()
        if position == self._shown[0]:
            return
        if self._shown[0] >= 0:
            self._longest = max(self._longest, (now - self._shown[1], position))
        self._shown = (position, now)
        if self._frame is not None and self._prompt and position >= self._frame:
            self._seconds.append(now - self._entered)
            self._gaps.append(self._gap(*self._longest))
            self._prompt, self._wait_until = "", self._world.blocks + self._settle
            if len(self._seconds) == self._repeats:
                self._end(None)

    def _gap(self, seconds: float, frame: int) -> Gap:
        sizes = self._world.geometry
        newest = self._world.telemetry[-1].block
        block = min(sizes.blocks_for_frames(frame), newest)
        stages = next(record.stage_ms for record in reversed(self._world.telemetry) if record.block == block)
        return Gap(seconds, frame, block, self._ahead.get(block, 0), stages)

    def _end(self, failure: str | None) -> None:
        if len(self._seconds) < self._repeats:
            self.failure = self.failure or failure
        self.done.emit()


def measure_latency(window: MainWindow, app: QApplication, repeats: int) -> LatencyReport:
    """Shows the window, measures, closes it. Raises UserError."""
    probe = LatencyProbe(window, repeats)
    probe.done.connect(window.close)
    window.show()
    window.start()
    app.exec()
    return probe.report()
