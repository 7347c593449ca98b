"""Where the playhead goes: back and forth in what is made, to the live frame, and a mark in what is to come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from worldattention.core.geometry import FPS

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow
    from worldattention.app.world import World


class Seeking(QObject):
    """Keys, the ruler and typed times end here."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._model = window, window.model

    def handlers(self) -> dict[str, Callable[[], object]]:
        """What the actions of this controller do."""
        return {
            "back": lambda: self._by(-5 * FPS),
            "forward": lambda: self._by(5 * FPS),
            "frame_back": lambda: self._by(-1, hold=True),
            "frame_forward": lambda: self._by(1, hold=True),
            "second_back": lambda: self._by(-FPS),
            "second_forward": lambda: self._by(FPS),
            "home": lambda: self._world.playback.seek(self._world.reel.first),
            "end": self.back_to_live,
        }

    @property
    def _world(self) -> World:
        return self._window.world

    def back_to_live(self) -> None:
        """Follows the world again; a mark in what is to come goes."""
        self._model.aim_at(None)
        self._world.playback.back_to_live()

    def to(self, seconds: float) -> None:
        """Shows a moment; of one to come the newest before it, and what is added next comes there."""
        frame = max(round(seconds * FPS), self._world.reel.first)
        ahead = frame >= self._world.reel.made and not self._window.replay.active
        self._model.aim_at(frame / FPS if ahead else None)
        if not ahead:
            self._world.playback.seek(frame)
        elif self._world.playback.past:
            self._world.playback.back_to_live()

    def _by(self, frames: int, hold: bool = False) -> None:
        playback, reel = self._world.playback, self._world.reel
        if hold:
            playback.hold()
        target = max(reel.first, playback.position + frames)
        playback.seek(min(target, max(0, reel.made - 1)))
