"""A long session in the window: its memory is bounded, whatever it shows (CASES 7).

What still grows in ten minutes is bounded too: a small picture of every block (30 MB), records of 2,000 blocks.
"""

import gc

import psutil
import pytest

from tests.fakes_window import Script, scripted
from tests.test_gui_heartbeat import open_all, story
from worldattention.app import playback, theme
from worldattention.app.collector import collecting
from worldattention.app.main_window import MainWindow

MINUTE = 80
"""Blocks of a minute at 16 frames a second."""


def resident_mb():
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


@pytest.mark.parametrize(
    ("settled", "blocks", "most_mb"),
    [
        (12, 24, 40),
        pytest.param(3 * MINUTE, 10 * MINUTE, 80, marks=[pytest.mark.endurance, pytest.mark.timeout(1800)]),
    ],
)
def test_case_7_a_long_session_in_the_window_grows_by_its_small_pictures_only(
    qtbot, qapp, tmp_path, monkeypatch, capsys, settled, blocks, most_mb
):
    monkeypatch.setattr(playback, "FRAME_MS", 2.0)
    theme.apply_theme(qapp, "dark")
    window = MainWindow(scripted(Script(step_s=0.002), story(), tmp_path))
    open_all(window)
    with collecting(window.world):
        window.start()
        sizes = []
        for end in range(settled, settled + blocks + 1, max(6, blocks // 10)):
            qtbot.waitUntil(lambda end=end: window.world.blocks >= end, timeout=600_000)
            sizes.append(resident_mb())
        window.close()
    with capsys.disabled():
        print(f"the window's memory over {blocks} blocks: {[round(size) for size in sizes]} MB")
    assert sizes[-1] - sizes[0] < most_mb
