"""Rendering: the number of frames, the prompts, the figures, and that nothing half-made is left."""

import os

import numpy as np
import pytest

from tests.fakes_cli import SMALL, STEPS, FakeEngine
from tests.test_recorder import decode, metadata
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.project import Project, project_from_json
from worldattention.core.render import RenderJob, render
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.telemetry_lines import records_of
from worldattention.core.timeline import Event, make_timeline


class Playing:
    """The part of a session that a render needs."""

    def __init__(self, engine, timeline):
        self.engine, self.timeline = engine, timeline

    def step(self, cancel=None):
        prompt = self.timeline.prompt_at(self.engine.geometry.block_seconds(self.engine.block))
        return self.engine.step(prompt, cancel)


def project(seconds=None) -> Project:
    return Project("Töpfe", seconds, make_timeline([Event(1, 0.0, 1.0, "one"), Event(2, 1.0, 3.0, "two")]))


def play(job, engine, **options):
    return render(job, Playing(engine, job.project.timeline), engine.geometry, **options)


@pytest.mark.parametrize("seconds", [None, 0.0625, 0.6, 1.0, 2.53, 4.0])
def test_a_video_has_round_16_times_seconds_frames(tmp_path, seconds):
    wanted = round(16 * (3.0 if seconds is None else seconds))
    engine = FakeEngine()
    seen = []
    job = RenderJob(project(), tmp_path / "v.mp4", seconds, tmp_path / "t.jsonl")
    summary = play(job, engine, progress=lambda done, total, fps: seen.append((done, total)))
    frames = decode(tmp_path / "v.mp4", SMALL.height, SMALL.width)
    assert len(frames) == summary.frames == wanted
    red = frames[:, :, :, 0].mean((1, 2))
    assert np.abs(red - np.arange(wanted)).max() < 12  # in order, none twice, none left out
    assert np.all(np.diff(red) > -3)
    assert summary.blocks == engine.block == SMALL.blocks_for_frames(wanted)
    assert summary.seconds == wanted / 16
    assert seen[-1] == (wanted, wanted)
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    assert [record.block for record in records_of(lines)] == list(range(engine.block))
    assert sorted(os.listdir(tmp_path)) == ["t.jsonl", "v.mp4"]


def test_summary_and_prompts_follow_the_timeline():
    engine = FakeEngine()
    summary = play(RenderJob(project(), None), engine)
    starts = [SMALL.block_seconds(block) for block in range(engine.block)]
    assert engine.prompts == ["one" if start < 1.0 else "two" for start in starts]
    assert summary.density == pytest.approx((0.75 + 0.25 * (engine.block - 1)) / engine.block)
    assert summary.tier_bytes == {"device": 1000 + engine.block - 1, "dram": 0}
    assert summary.recalls == 1
    assert summary.notices == ("A page was late.",)
    assert summary.fps > 0
    assert summary.first_block_ms > 0


def test_speed_counts_from_the_first_denoising_step(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("worldattention.core.render.time.perf_counter", lambda: clock[0])

    def wait(block):
        clock[0] += 3.0

    engine = FakeEngine(on_step=wait)
    summary = play(RenderJob(project(), None, 1.0), engine)
    assert engine.block == 2
    assert summary.first_block_ms == pytest.approx(3000.0)
    assert summary.fps == pytest.approx(16 / (6.0 - 0.001))
    assert summary.steady_fps is None, "two blocks are the warm-up"


@pytest.mark.parametrize(("blocks", "known"), [(7, False), (8, True)])
def test_the_first_block_does_not_tell_how_fast_a_machine_is(monkeypatch, blocks, known):
    clock = [100.0]
    monkeypatch.setattr("worldattention.core.render.time.perf_counter", lambda: clock[0])

    def wait(block):
        clock[0] += 0.5 if block else 60.0

    engine = FakeEngine(on_step=wait)
    summary = play(RenderJob(project(), None, SMALL.block_seconds(blocks)), engine)
    assert engine.block == blocks
    assert summary.fps < 2
    assert summary.steady_fps == (pytest.approx(24.0) if known else None)


def test_title_and_project_are_in_the_video(tmp_path):
    play(RenderJob(project(), tmp_path / "v.mp4", 0.5), FakeEngine())
    text = metadata(tmp_path / "v.mp4")
    assert "title=Töpfe" in text
    comment = text.split("comment=", 1)[1].split("\nencoder", 1)[0]
    assert project_from_json(comment.replace("\\\n", "\n").replace("\\", "").strip()) == project()


def test_cancel_stops_within_a_denoising_step_and_leaves_nothing(tmp_path):
    engine = FakeEngine()
    job = RenderJob(project(), tmp_path / "v.mp4", None, tmp_path / "t.jsonl")
    with pytest.raises(Cancelled):
        play(job, engine, cancel=lambda: engine.denoise_steps >= STEPS + 2)
    assert engine.denoise_steps == STEPS + 2
    assert os.listdir(tmp_path) == []


def test_a_failing_engine_leaves_nothing_and_the_old_files(tmp_path):
    (tmp_path / "v.mp4").write_bytes(b"old")

    def fail(block):
        if block == 2:
            raise UserError("The page is lost.")

    with pytest.raises(UserError, match="page is lost"):
        play(RenderJob(project(), tmp_path / "v.mp4", None, tmp_path / "t"), FakeEngine(on_step=fail))
    assert os.listdir(tmp_path) == ["v.mp4"]
    assert (tmp_path / "v.mp4").read_bytes() == b"old"


def test_a_full_disk_is_told_of_the_file_that_met_it(tmp_path, monkeypatch):
    def full(self, _changes):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BlockTelemetry, "to_json", full)
    with pytest.raises(
        UserError, match=r"The telemetry could not be written to .*t.jsonl': the disk is full"
    ):
        play(RenderJob(project(), tmp_path / "v.mp4", None, tmp_path / "t.jsonl"), FakeEngine())
    assert os.listdir(tmp_path) == []


def test_a_failed_file_operation_of_the_engine_is_not_blamed_on_the_video(tmp_path):
    def fail(block):
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        play(RenderJob(project(), tmp_path / "v.mp4", None, tmp_path / "t"), FakeEngine(on_step=fail))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (RenderJob(Project(), None), "no events"),
        (RenderJob(Project(timeline=make_timeline([Event(4, 0, 1, " \n")])), None), "event 4 is empty"),
        (RenderJob(project(), None, 0.01), "no frame"),
        (RenderJob(project(), None, float("nan")), "cannot be made"),
        (RenderJob(project(), None, float("inf")), "cannot be made"),
        (RenderJob(project(), None, -1.0), "cannot be made"),
        (RenderJob(project(), None, 1e300), "cannot be made"),
    ],
)
def test_bad_jobs_are_refused_before_anything_is_made(job, message):
    engine = FakeEngine()
    with pytest.raises(UserError, match=message):
        play(job, engine)
    assert engine.block == 0


def test_video_and_telemetry_are_two_files(tmp_path):
    path = tmp_path / "v.mp4"
    with pytest.raises(UserError, match="same file"):
        RenderJob(project(), path, None, tmp_path / "." / "v.mp4").check()
    with pytest.raises(UserError, match="no folder"):
        RenderJob(project(), path, None, tmp_path / "x" / "t").check()
    assert os.listdir(tmp_path) == []
