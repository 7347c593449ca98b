"""Closing and cancelling at any moment: soon, with exit code 0, and with nothing left running or lying about."""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.fakes_window import FakeSession, Script, opener
from tests.test_recorded import made, record
from worldattention.app import messages as m
from worldattention.app.export import ExportJob
from worldattention.app.reel import Reel
from worldattention.app.worker import Worker
from worldattention.core.config import EngineConfig
from worldattention.core.recorded import open_recorded
from worldattention.core.timeline import Event, make_timeline

ROOT = Path(__file__).parents[1]
STATES = ("loading", "generating", "exporting", "recording", "recorded session")
DEADLINE_S = 2.0
STEP_S = 1.0
"""A denoising step of the pocket world on a slow machine."""


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("state", STATES)
def test_case_16_closing_at_random_moments_leaves_nothing(make_window, qtbot, tmp_path, state):
    record(tmp_path / "old.mp4", made(4))
    before = files_below(tmp_path)
    children = {child.pid for child in psutil.Process().children(recursive=True)}
    step_s = 0.05
    for number in range(2):
        one = make_window(step_s=step_s, load_s=0.3 if state == "loading" else 0.01)
        video = tmp_path / f"{number}.mp4"
        if state != "loading":
            qtbot.waitUntil(lambda one=one: one.world.blocks > 0, timeout=20000)
        if state == "exporting":
            one.export_flow.begin(ExportJob(video, 16 * 600, "t"))
        elif state == "recording":
            one.recording_flow.begin(video)
        elif state == "recorded session":
            one.replay.open(tmp_path / "old.mp4")
        qtbot.wait(random.randrange(400))
        begin = time.perf_counter()
        one.close()
        assert time.perf_counter() - begin < DEADLINE_S + 3 * step_s
        assert one.world_ended
        if state == "recording" and video.exists():
            assert open_recorded(video).frames % 12 == 0
            for path in (video, video.with_suffix(".jsonl")):
                path.unlink()
    assert not [thread for thread in threading.enumerate() if thread.name == "world"]
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= children
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("phase", ["export", "load"])
def test_case_15_cancel_takes_no_longer_than_a_denoising_step(tmp_path, phase):
    """The scripted engine asks between steps of 10 ms; a block of it lasts ten minutes."""
    script = Script(step_s=600.0 if phase == "export" else 0.01, load_s=4.0 if phase == "load" else 0.01)
    reel = Reel()
    timeline = make_timeline([Event(1, 0, 60, "a pond")])
    worker = Worker(opener(script), FakeSession, reel, lambda: None, EngineConfig(), timeline)
    worker.start()
    messages = []

    def wait(kind):
        end = time.perf_counter() + 20
        while time.perf_counter() < end:
            messages.extend(worker.take())
            if any(isinstance(message, kind) for message in messages):
                return
            time.sleep(0.005)
        raise AssertionError(f"no {kind.__name__} came")

    wait(m.Loading if phase == "load" else m.Ready)
    if phase == "export":
        worker.post(m.Export(worker.new_id(), 0, ExportJob(tmp_path / "a.mp4", 160)))
        wait(m.Begun)
        worker.cancel_export()
        wait(m.ExportDone)
        assert next(one for one in messages if isinstance(one, m.ExportDone)).cancelled
        assert script.cancelled == 1
    begin = time.perf_counter()
    assert worker.close(15)
    # A stage of the scripted loading lasts a second: it is left at the next report.
    assert time.perf_counter() - begin < DEADLINE_S
    reel.close()
    assert os.listdir(tmp_path) == []


PROGRAM = """
import os, sys, time
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from worldattention.app.commandline.options import Options
from worldattention.app.export import ExportJob
from worldattention.app.main_window import MainWindow
from worldattention.app.window_run import make_setup

sample, state, out, after_ms = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
app = QApplication([])
window = MainWindow(make_setup(sample, Options(), remember=False))
window.show()
window.start()


def close():
    begin = time.perf_counter()
    window.close()
    print(time.perf_counter() - begin, flush=True)


def ready(_message):
    if state == "exporting":
        window.export_flow.begin(ExportJob(out, 16 * 60, "t"))
    elif state == "recording":
        window.recording_flow.begin(out)


window.world.ready.connect(ready)
if state == "loading":
    QTimer.singleShot(after_ms, window, close)
else:
    window.world.ready.connect(lambda _m: QTimer.singleShot(after_ms, window, close))
status = app.exec()
if not window.world_ended:
    os._exit(status)  # as the program does: an import cannot be cancelled
sys.exit(status)
"""


@pytest.mark.endurance
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("count", [100])
def test_case_16_the_real_program_closes_at_random_moments(tmp_path, count):
    sample = ROOT / "assets" / "samples" / "red_ball.world"
    home = tmp_path / "home"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "packaging" / "typing"),
        **{f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "CACHE", "DATA", "STATE")},
    }
    for number in range(count):
        state = STATES[number % 4]
        out = tmp_path / "out" / f"{number}.mp4"
        out.parent.mkdir(exist_ok=True)
        after_ms = random.randrange(8000)
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(sample), state, str(out), str(after_ms)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        took_s, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        assert float(took_s) < DEADLINE_S + STEP_S, state
        assert not [one for one in psutil.process_iter() if _group(one.pid) == process.pid]
        left = [path for path in (home / "CACHE").rglob("*") if path.is_file() or "session-" in path.name]
        assert left == []
        rest = [name for name in os.listdir(out.parent) if ".part" in name or ".recording" in name]
        assert rest == []


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return -1
