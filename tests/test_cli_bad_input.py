"""The command line: bad projects, outputs, devices, weights and quotas are answered in one sentence."""

import json
import sys
from pathlib import Path

import pytest

from tests.fakes_cli import FakeEngine, failure, tree
from worldattention.app.cli import main
from worldattention.core import loading
from worldattention.core.project import Project, save_project


@pytest.mark.parametrize("command", [["render"], []], ids=["render", "window"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.world", None, "no such file"),
        ("folder.world", "folder", "is a folder"),
        ("broken.world", '{"format"', "breaks off or is broken at line 1"),
        ("foreign.world", '{"kdenlive": 1}', "no WorldAttention project"),
        ("video.world", "\0\0\0 ftypisom", "broken"),
        ("huge.world", "huge", "take another"),
    ],
)
def test_bad_projects(tmp_path, capsys, command, name, content, message):
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 30)
    elif content is not None:
        path.write_text(content, encoding="utf-8")
    before = tree(tmp_path)
    rest = ["-o", tmp_path / "v.mp4"] if command else ["--screenshot", tmp_path / "s.png"]
    assert message in failure(capsys, [*command, path, *rest])
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": -1.0}, "before 0 s"),
        ({"end": 0.0}, "positive length"),
        ({"end": 1e999}, "no finite number"),
        ({"start": float("nan")}, "no finite number"),
        ({"end": 1.5}, "overlap"),
        ({"prompt": "x" * 100_000}, "100,000 characters"),
        ({"prompt": "a\0"}, "NUL"),
        ({"prompt": "\ud800"}, "surrogate"),
        ({"prompt": ""}, "is empty"),
        ({"prompt": " \t"}, "is empty"),
    ],
)
def test_bad_events(world, capsys, change, message):
    document = json.loads(world.read_text(encoding="utf-8"))
    document["events"][0].update(change)
    world.write_text(json.dumps(document), encoding="utf-8")
    assert message in failure(capsys, ["render", world, "-o", world.parent / "v.mp4"])
    assert tree(world.parent) == ["w.world"]


def test_a_project_without_events(tmp_path, capsys):
    save_project(Project(), tmp_path / "w.world")
    assert "no events" in failure(capsys, ["render", tmp_path / "w.world", "-o", "null"])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("missing/v.mp4", "no folder"),
        ("v.avi", "end its name with .mp4"),
        ("w.world", "end its name with .mp4"),
        ("folder.mp4", "is a folder"),
        ("locked.mp4", "read-only"),
        ("w.world/v.mp4", "a file, not a folder"),
        ("x" * 252 + ".mp4", "too long"),
    ],
)
def test_bad_outputs_are_refused_before_the_model_is_loaded(world, capsys, monkeypatch, output, message):
    def never(*arguments):
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(loading, "open_engine", never)
    (world.parent / "folder.mp4").mkdir()
    (world.parent / "locked.mp4").write_text("x")
    (world.parent / "locked.mp4").chmod(0o444)
    before = tree(world.parent)
    assert message in failure(capsys, ["render", world, "-o", world.parent / output])
    assert message.replace("the video", "") or failure(capsys, ["render", world, "-o", "null"])
    assert tree(world.parent) == before


@pytest.mark.parametrize(
    ("log", "message"), [("missing/t", "no folder"), ("", "is a folder"), ("v.mp4", "same")]
)
def test_bad_telemetry_targets(world, capsys, log, message):
    command = ["render", world, "-o", world.parent / "v.mp4", "--telemetry", world.parent / log]
    assert message in failure(capsys, command)
    assert tree(world.parent) == ["w.world"]


def test_missing_ffmpeg(world, capsys, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere/ffmpeg")
    assert "no ffmpeg" in failure(capsys, ["render", world, "-o", world.parent / "v.mp4"])
    assert tree(world.parent) == ["w.world"]


@pytest.mark.parametrize("device", ["tpu", "mps", "", "cpu:x", "cuda:", "cuda:-1"])
def test_devices_that_do_not_exist_are_told_before_anything_is_loaded(world, capsys, device):
    assert main(["render", str(world), "-o", "null", "--device", device]) == 2
    told = capsys.readouterr().err
    assert f"unknown device '{device}'" in told
    assert "Load" not in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_devices_that_are_not_there(world, capsys, device, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    sentence = failure_after_loading(capsys, ["render", world, "-o", "null", "--device", device])
    assert "device" in sentence.lower()


def failure_after_loading(capsys, arguments) -> str:
    """Like `failure`, but progress may have been reported before the last line."""
    assert main([str(argument) for argument in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    lines = [line for line in captured.err.splitlines() if not line.startswith("Load: ")]
    assert len(lines) == 1, captured.err
    return lines[0]


def model_folder(folder: Path, weights: bytes) -> Path:
    (folder / "transformer").mkdir(parents=True)
    (folder / "transformer" / "config.json").write_text('{"_class_name": "CausalWanTransformer3DModel"}')
    (folder / "transformer" / "model.safetensors").write_bytes(weights)
    return folder


@pytest.mark.parametrize(
    "weights",
    [
        b"",
        b"\x10\0\0\0\0\0\0\0{}",
        b"\xff" * 64,
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        b"PK\x03\x04" + bytes(100),
    ],
)
def test_broken_weights_are_named(world, tmp_path, capsys, weights):
    folder = model_folder(tmp_path / "model", weights)
    sentence = failure_after_loading(capsys, ["render", world, "-o", "null", "--model", folder])
    assert "model.safetensors" in sentence


def test_quotas_past_the_machine(toy, world, capsys):
    command = ["render", str(world), "-o", "null", "--seconds", "0.5"]
    assert main([*command, "--dram-quota", "900PB"]) == 0
    assert "dram quota asks for" in capsys.readouterr().err
    assert toy[-1].config.cache.dram_quota_bytes == 900 * 10**15
    assert "disk quota" in failure_after_loading(capsys, [*command, "--disk-quota", "900PB"])


@pytest.mark.parametrize("model", ["/nowhere", "", "pocketx"])
def test_missing_models(world, capsys, model):
    sentence = failure_after_loading(capsys, ["render", world, "-o", "null", "--model", model])
    assert "model" in sentence


def test_a_missing_package_is_said_plainly(monkeypatch, world, capsys):
    monkeypatch.setitem(sys.modules, "worldattention.core.session", None)
    monkeypatch.setattr(loading, "open_engine", lambda *arguments: FakeEngine())
    assert "install WorldAttention again" in failure_after_loading(capsys, ["render", world, "-o", "null"])
