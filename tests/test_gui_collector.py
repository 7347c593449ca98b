"""Garbage is collected by the window's thread only, and what the libraries brought along is left out."""

import gc
import threading

import pytest
from PySide6.QtCore import QObject, Signal

from worldattention.app.collector import collecting


class World(QObject):
    ready = Signal(object)


class Litter:
    """A cycle that tells in which thread it ended."""

    def __init__(self, ends):
        self._ends, self.own = ends, self

    def __del__(self):
        self._ends.append(threading.current_thread())


def litter(ends, count):
    thread = threading.Thread(target=lambda: [Litter(ends) for _ in range(count)])
    thread.start()
    thread.join()


def test_litter_of_any_thread_ends_in_the_windows(qtbot):
    world, ends = World(), []
    with collecting(world):
        litter(ends, 5000)  # far more than what starts a collection by itself
        assert ends == []
        world.ready.emit(None)
        litter(ends, 5000)
        qtbot.waitUntil(lambda: len(ends) >= 5000, timeout=20000)
        assert set(ends) == {threading.main_thread()}


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_given_back_as_it_was(qtbot, enabled):
    world = World()
    if enabled:
        gc.enable()
    try:
        with collecting(world):
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        gc.disable()


def test_where_there_is_no_world_no_litter_ends_in_another_thread_either():
    """Or an engine that one test left to itself would end the windows of another."""
    ends = []
    litter(ends, 5000)
    assert ends == []


def test_what_was_there_before_the_world_is_left_out_until_it_ends(qtbot):
    world, ends = World(), []
    with collecting(world):
        world.ready.emit(None)
        left_out = gc.get_freeze_count()
        assert left_out > 10_000
        litter(ends, 10)
        world.ready.emit(None)  # another world: the litter of the one before goes
        assert len(ends) == 10
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0
