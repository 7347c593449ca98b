"""Recorded sessions: a video and its telemetry, written together, kept by a kill, played with no engine."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.fakes_window import FakeEngine, Script
from worldattention.core.config import EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.recorded import SessionRecording, log_path, open_recorded, write_log
from worldattention.core.replay import ReplayEngine, ReplaySession
from worldattention.core.timeline import Event, make_timeline

KOREAN = "한글 폴더 ñ"


def made(blocks: int, prompts=("a red ball", "a ribbon")):
    """Blocks of a scripted world: frames and records."""
    engine = FakeEngine(Script(step_s=0), EngineConfig())
    return [engine.step(prompts[block * len(prompts) // blocks]) for block in range(blocks)]


def record(path: Path, results) -> None:
    recording = SessionRecording(path, 128, 256, title="T")
    for result in results:
        recording.write(result.frames, result.telemetry)
    recording.close()


def test_case_22_a_recording_is_a_pair_that_opens_again(tmp_path):
    folder = tmp_path / KOREAN
    folder.mkdir()
    results = made(6)
    record(folder / "세계.mp4", results)
    assert sorted(os.listdir(folder)) == ["세계.jsonl", "세계.mp4"]
    for name in ("세계.mp4", "세계.jsonl"):
        session = open_recorded(folder / name)
        assert (session.height, session.width, session.frames) == (128, 256, 72)
    assert session.timeline == make_timeline(
        [Event(1, 0.0, 2.25, "a red ball"), Event(2, 2.25, 4.5, "a ribbon")]
    )
    for got, result in zip(session.records, results, strict=True):
        assert got.to_json() == result.telemetry.to_json()


def test_a_replay_gives_the_blocks_as_they_were(tmp_path):
    results = made(4)
    record(tmp_path / "a.mp4", results)
    session = ReplaySession(ReplayEngine(open_recorded(tmp_path / "a.mp4")))
    for _ in range(2):
        for result in results:
            again = session.step()
            assert again.telemetry.prompt == result.telemetry.prompt
            assert np.abs(again.frames.astype(int) - result.frames).mean() < 4  # a lossy video
        assert session.ended
        with pytest.raises(UserError, match="ended"):
            session.step()
        session.reset()
    with pytest.raises(UserError, match="recording"):
        session.say("a dog")
    with pytest.raises(UserError, match="recording"):
        session.engine.configure(EngineConfig())


def test_a_recording_that_began_late_counts_from_its_own_start(tmp_path):
    record(tmp_path / "late.mp4", made(12)[5:])
    session = open_recorded(tmp_path / "late.mp4")
    assert [record.block for record in session.records] == list(range(7))
    assert [record.first_frame for record in session.records] == list(range(0, 84, 12))
    assert session.records[0].pages[0].first_frame == -15  # before the recording's start


def test_a_cut_pair_shows_what_both_have(tmp_path):
    results = made(5)
    path = tmp_path / "cut.mp4"
    record(path, results)
    log = log_path(path)
    log.write_bytes(log.read_bytes()[:-40])  # killed within the last line
    session = open_recorded(path)
    assert len(session.records) == 4
    write_log(log, [result.telemetry for result in made(9)])
    assert open_recorded(path).frames == 60
    replayed = ReplaySession(ReplayEngine(open_recorded(path)))
    frames = 0
    while not replayed.ended:
        frames += len(replayed.step().frames)
    assert frames == 60


@pytest.mark.parametrize(
    ("video", "log", "sentence"),
    [
        (None, b"{}", "no video"),
        (b"x", None, "no telemetry"),
        (b"x", b"", "no block"),
        (b"x", b"{}\n", "line 1"),
        (b"x", b"\xff\n{}\n", "line 1"),
        (b"not a video", "records", "cannot be played"),
    ],
)
def test_a_bad_pair_is_one_sentence(tmp_path, video, log, sentence):
    path = tmp_path / "v.mp4"
    if video is not None:
        path.write_bytes(video)
    if log == "records":
        write_log(log_path(path), [result.telemetry for result in made(2)])
    elif log is not None:
        log_path(path).write_bytes(log)
    with pytest.raises(UserError, match=sentence):
        open_recorded(path)


def test_an_empty_recording_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match="Nothing was recorded"):
        SessionRecording(tmp_path / "a.mp4", 16, 16).close()
    assert os.listdir(tmp_path) == []


RECORDER = """
import sys, time
from pathlib import Path
from tests.test_recorded import made
from worldattention.core.recorded import SessionRecording
recording = SessionRecording(Path(sys.argv[1]), 128, 256)
results = made(20)
for result in results:
    recording.write(result.frames, result.telemetry)
    print(recording.frames, flush=True)
    time.sleep(12 / 16 / 3)  # three times as fast as a world plays
"""


def kill_a_recording(folder: Path, blocks: int) -> tuple[int, int]:
    """Frames that were written, and frames that play, of a recording whose whole process group is killed."""
    path = folder / "live.mp4"
    root = Path(__file__).parents[1]
    python_path = os.pathsep.join([str(root / "packaging" / "typing"), str(root)])
    process = subprocess.Popen(
        [sys.executable, "-c", RECORDER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path},
        start_new_session=True,
    )
    assert process.stdout is not None
    written = 0
    for _ in range(blocks):
        written = int(process.stdout.readline())
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    time.sleep(0.1 * np.random.default_rng().random())
    for child in children:  # ffmpeg has a session of its own, so that Ctrl+C is not for it
        child.kill()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    replayed = ReplaySession(ReplayEngine(open_recorded(folder / "live.recording.mp4")))
    frames = 0
    while not replayed.ended:
        frames += len(replayed.step().frames)
    return written, frames


@pytest.mark.parametrize(
    "count", [1, pytest.param(50, marks=[pytest.mark.endurance, pytest.mark.timeout(3600)])]
)
def test_case_20_a_killed_recording_plays_all_but_its_last_second(tmp_path, count):
    draw = np.random.default_rng()
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        written, frames = kill_a_recording(folder, int(draw.integers(8, 19)))
        assert frames >= written - 16


def test_case_17_recording_takes_the_worker_less_than_a_twentieth_of_a_block(tmp_path):
    results = made(30)
    recording = SessionRecording(tmp_path / "a.mp4", 128, 256)
    costs = []
    for result in results:
        begin = time.thread_time()
        recording.write(result.frames, result.telemetry)
        costs.append(time.thread_time() - begin)
    recording.close()
    assert sorted(costs)[15] < 0.05 * 12 / 16  # of what a block lasts


@pytest.mark.endurance
@pytest.mark.timeout(1800)
def test_case_17_recording_on_and_off_side_by_side(tmp_path, record_property, capsys):
    """A benchmark: blocks of the pocket world, on and off by turns in one run. Reported; asserted only loosely."""
    from worldattention.core.loading import open_engine

    engine = open_engine("pocket", "cpu")
    times = {True: [], False: []}
    try:
        recording = SessionRecording(tmp_path / "a.mp4", engine.geometry.height, engine.geometry.width)
        for block in range(80):
            on = block % 2 == 1
            begin = time.perf_counter()
            result = engine.step(
                "A man in a red shirt throws a red ball in a village street on a bright day."
            )
            if on:
                recording.write(result.frames, result.telemetry)
            times[on].append(time.perf_counter() - begin)
        recording.close()
    finally:
        engine.close()
    ratio = float(np.median(times[True][5:]) / np.median(times[False][5:]))
    record_property("recording_on_over_off", ratio)
    with capsys.disabled():
        print(f"recording on / off: {ratio:.3f}")
    assert ratio < 1.25
