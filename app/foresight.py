"""What is being typed, answered before it is said: which moments it would recall. No Qt in here."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from worldattention.app.engine_like import ForeseeingEngine, UnderstandingEngine
from worldattention.app.messages import Typing, WouldRecall

log = logging.getLogger(__name__)


class Foresight:
    """Holds the newest typed text only; the engine's thread answers it whenever it has a moment.

    The pages that an answer names begin to move to the device, so that Enter finds them there.
    """

    def __init__(self, publish: Callable[[WouldRecall], None]) -> None:
        self._publish = publish
        self._lock = threading.Lock()
        self._typed: Typing | None = None

    @property
    def waiting(self) -> bool:
        """Whether a text waits for its answer."""
        return self._typed is not None

    def typed(self, command: Typing) -> None:
        """Takes the place of what was typed before; from any thread."""
        with self._lock:
            self._typed = command

    def answer(self, engine: object, epoch: int) -> None:
        """Answers on the engine's thread, between blocks or denoising steps.

        A preview is a courtesy: when it fails, the block that is being made does not.
        """
        with self._lock:
            command = self._typed
            self._typed = None
        if command is None or command.epoch != epoch or not isinstance(engine, ForeseeingEngine):
            return
        try:
            preview = engine.preview(command.text)
            engine.prefetch(preview)
            nearest = _nearest(engine, command.text)
        except Exception:
            log.exception("no preview of what a prompt would recall")
        else:
            self._publish(WouldRecall(epoch, command.text, preview, nearest))


def _nearest(engine: object, text: str) -> str | None:
    """What would be shown instead of a text that the world does not know."""
    understood = engine.understand(text) if isinstance(engine, UnderstandingEngine) and text.strip() else None
    return None if understood is None or understood.known else understood.nearest
