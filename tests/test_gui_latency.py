"""From Enter to the picture, measured in a window over a scripted engine."""

import pytest

from tests.fakes_window import FakeSession, Script, opener
from worldattention.app import theme
from worldattention.app.latency import Gap, LatencyProbe, LatencyReport
from worldattention.app.main_window import MainWindow, Setup
from worldattention.core.errors import UserError
from worldattention.core.project import Project


@pytest.fixture
def window(qtbot, qapp, tmp_path):
    theme.apply_theme(qapp, "dark")
    script = Script(step_s=0.01, load_s=0.01)
    made = MainWindow(
        Setup(
            open_engine=opener(script),
            open_session=FakeSession,
            configure=lambda settings: settings.engine_config(),
            project=Project("Test"),
            cache_folder=tmp_path / "cache",
        )
    )
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def test_every_prompt_is_timed_until_it_is_painted(window, qtbot):
    probe = LatencyProbe(window, repeats=3, settle_blocks=1)
    with qtbot.waitSignal(probe.done, timeout=60_000):
        window.start()
    record = probe.report().to_json()
    assert record["n"] == len(record["seconds"]) == 3
    assert 0 < record["median_s"] <= record["worst_s"] < 30
    assert 0 < record["longest_gap_s"] < 30
    made = {block.block: block for block in window.world.telemetry}
    for gap in record["gaps"]:
        assert gap["stage_ms"] == made[gap["block"]].stage_ms
        assert gap["frame"] <= 12 * gap["block"]  # nothing that is made later can be waited for
    said = [record.prompt for record in window.world.telemetry if record.prompt_changed]
    assert len(set(said)) >= 3


def test_a_world_that_is_too_slow_is_said_so(window, qtbot):
    probe = LatencyProbe(window, repeats=1000, settle_blocks=1, deadline_s=0.2)
    with qtbot.waitSignal(probe.done, timeout=60_000):
        window.start()
    with pytest.raises(UserError, match="too slow"):
        probe.report()


def test_a_window_that_was_closed_has_no_report(window):
    with pytest.raises(UserError, match="closed"):
        LatencyProbe(window, repeats=1).report()


def test_the_report_names_median_and_longest_gap():
    gaps = tuple(Gap(seconds, 36, 3, 11, {"text": 20.0, "total": 900.4}) for seconds in (0.07, 0.3, 0.06))
    record = LatencyReport((0.5, 2.0, 1.0), gaps).to_json()
    assert (record["median_s"], record["worst_s"], record["longest_gap_s"]) == (1.0, 2.0, 0.3)
    assert record["gaps"][1] == {
        "seconds": 0.3,
        "frame": 36,
        "block": 3,
        "ahead_frames": 11,
        "stage_ms": {"text": 20.0, "total": 900.4},
    }
    assert "0.300 s before frame 36" in str(gaps[1])
    assert "block 3 was made, which was begun 11 frames ahead: text 20, total 900 ms" in str(gaps[1])
