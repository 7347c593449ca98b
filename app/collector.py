"""Python's garbage collector, tamed: it runs in the window's thread, and no longer than the window can wait."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject, QTimer

from worldattention.app.world import World

PERIOD_MS = 500


class Collector(QObject):
    """In the world's thread, the collector could end Qt objects in a thread that they do not belong to.

    And it would walk over all that the libraries brought along, which holds up every thread for a quarter of a
    second: so that is left out from the moment when the world is there.
    """

    def __init__(self, world: World, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD_MS)
        self._timer.timeout.connect(self._collect)
        self._was_enabled = False
        world.ready.connect(self._leave_out)

    def start(self) -> None:
        """Takes the collector over."""
        self._was_enabled = gc.isenabled()
        gc.disable()

    def stop(self) -> None:
        """Gives it back as it was."""
        self._timer.stop()
        gc.unfreeze()
        if self._was_enabled:
            gc.enable()

    def _leave_out(self) -> None:
        if self._timer.isActive():  # another world: what was left out may be of the one before
            gc.unfreeze()
            gc.collect()
        gc.freeze()
        self._timer.start()

    def _collect(self) -> None:
        """The oldest generation whose turn it is."""
        due = [count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if any(due):
            gc.collect(max(generation for generation, its_turn in enumerate(due) if its_turn))


@contextmanager
def collecting(world: World) -> Iterator[Collector]:
    """While it lasts, garbage is collected by the window."""
    collector = Collector(world)
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()
