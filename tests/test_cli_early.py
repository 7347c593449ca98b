"""The command line: what files, numbers and names tell is answered before torch is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import save_file

from tests.toy import save_toy_folder, toy_engine
from worldattention.core.project import Project
from worldattention.core.saved_world import save_world
from worldattention.core.session import Session
from worldattention.core.timeline import Timeline

SLOW = ("torch", "transformers", "diffusers", "PySide6")
SCRIPT = """
import contextlib, io, json, sys
from worldattention.app.cli import main
answers = []
for arguments in json.load(sys.stdin):
    with contextlib.redirect_stderr(io.StringIO()) as told:
        status = main(arguments)
    answers.append((status, told.getvalue()))
json.dump(answers, sys.stdout)
"""


def answers(tmp_path: Path, commands: list[list[object]]) -> list[tuple[int, str]]:
    """Status and stderr of each command, in a process where loading any of `SLOW` is an error."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name in SLOW:
        (stubs / f"{name}.py").write_text(f"raise RuntimeError('{name} was loaded')")
    paths = os.pathsep.join([str(stubs), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps([[str(argument) for argument in command] for command in commands]),
        env={**os.environ, "PYTHONPATH": paths, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [(status, told) for status, told in json.loads(done.stdout)]


def sentences(tmp_path: Path, cases: list[tuple[str, list[object]]]) -> None:
    """Each command is refused with exit code 1 and one sentence that holds the words beside it."""
    for (words, command), (status, told) in zip(
        cases, answers(tmp_path, [command for _, command in cases]), strict=True
    ):
        assert (status, len(told.splitlines())) == (1, 1), (command, told)
        assert words in told, command


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A saved world of one block."""
    timeline = Timeline().add(0.0, 2.0, "a red house by the sea")
    session = Session(toy_engine(0), timeline)
    session.step()
    save_world(tmp_path / "saved", session.engine, Project(timeline=timeline), session.history)
    session.close()
    return tmp_path / "saved"


def test_models_quotas_and_packs(world, tmp_path):
    lfs = save_toy_folder(tmp_path / "lfs")
    (lfs / "transformer" / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    foreign = save_toy_folder(tmp_path / "foreign")
    (foreign / "autoencoder" / "config.json").write_text('{"_class_name": "AutoencoderKL"}')
    pack = tmp_path / "other.safetensors"
    save_file({}, pack)
    render: list[object] = ["render", world, "-o", "null"]
    missing = "no model folder '/nope'"
    cases: list[tuple[str, list[object]]] = [
        (missing, ["--model", "/nope"]),
        (missing, [world, "--model", "/nope", "--screenshot", tmp_path / "s.png"]),
        (missing, [*render, "--model", "/nope"]),
        (missing, ["soak", "--model", "/nope"]),
        (missing, ["bench", "attention", "--model", "/nope"]),
        (missing, ["bench", "block", "--model", "/nope"]),
        (missing, ["bench", "latency", "--model", "/nope"]),
        (missing, ["eval", "density", "--model", "/nope"]),
        (missing, ["eval", "autoencoder", "--model", "/nope"]),
        (missing, ["calibrate", "/nope", "-o", tmp_path / "hsa.safetensors"]),
        (missing, ["train", "pocket", "--out", tmp_path / "new", "--resume-from", "/nope"]),
        ("holds no transformer/", [*render, "--model", tmp_path]),
        ("git lfs pull", [*render, "--model", lfs]),
        ("'AutoencoderKL'", [*render, "--model", foreign]),
        ("cannot be read", [*render, "--text-pack", tmp_path / "no.safetensors"]),
        ("has no tokenizer", ["soak", "--text-pack", pack]),
        ("disk quota asks for", [*render, "--disk-quota", "900PB"]),
        ("device quota asks for", ["soak", "--device", "cpu", "--device-quota", "900PB"]),
    ]
    sentences(tmp_path, cases)
    assert not (tmp_path / "new").exists()


def test_projects_worlds_and_blocks(world, saved, tmp_path):
    bare, short = tmp_path / "bare", tmp_path / "short"
    bare.mkdir()
    short.mkdir()
    (short / "world.json").write_bytes((saved / "world.json").read_bytes())
    render = ["render", "-o", "null"]
    sentences(
        tmp_path,
        [
            ("is a file, and a saved world is a folder", [*render, "--world", world]),
            ("There is no folder", [*render, "--world", tmp_path / "none"]),
            ("has no world.json", [*render, "--world", bare]),
            ("latents-00000.safetensors' cannot be read", [*render, "--world", short]),
            ("ends before block 9", [*render, "--world", saved, "--from-block", 9]),
            ("ends before block 9", [*render, world, "--from-block", 9]),
            (
                "ends before block 9999: begin at block",
                [*render, world, "--from-block", 9999, "--seconds", 1],
            ),
            ("longest world", [*render, world, "--from-block", 10**12, "--seconds", 1]),
            ("no branch", [*render, world, "--branch", "Boat"]),
            ("no folder", [*render, world, "--telemetry", tmp_path / "none" / "t.jsonl"]),
            ("no folder", [*render, world, "--save-world", tmp_path / "none" / "w"]),
            ("holds other things", [*render, world, "--save-world", world.parent]),
            ("the name is too long", [*render, world, "--save-world", tmp_path / ("w" * 300)]),
            ("cannot be replaced", [*render, world, "--save-world", "/"]),
            (
                "cannot lie where the world is saved",
                [*render, world, "--telemetry", bare / "t", "--save-world", bare],
            ),
            ("no such file", [tmp_path / "none.world"]),
            ("end it with .png", ["--screenshot", tmp_path / "s.jpg"]),
        ],
    )


def test_measuring_converting_and_training(tmp_path):
    out, text, none = tmp_path / "out", tmp_path / "t.jsonl", tmp_path / "none" / "x"
    text.write_text('{"what": "drift"}\n')
    done = save_toy_folder(tmp_path / "done")
    sentences(
        tmp_path,
        [
            ("reader's weights", ["eval", "recall", "--reader", none]),
            ("are broken", ["eval", "reader", "--reader", text]),
            ("no records of `eval recall`", ["eval", "ablation", "--from", text]),
            ("cannot be read", ["eval", "drift", "--from", none]),
            ("for the table", ["eval", "density", "--markdown", none]),
            ("for the records", ["eval", "recall", "--records", none]),
            (".jpg or .png", ["eval", "looks", "--sheet", tmp_path / "s.gif"]),
            ("for the animation", ["eval", "looks", "--gif", none]),
            ("for the HSA parameters", ["calibrate", "pocket", "-o", none]),
            ("There is no file", ["convert", tmp_path / "none.pt", "-o", out]),
            ("is damaged or no safetensors", ["convert", tmp_path / "none.safetensors", "-o", out]),
            ("holds weights already", ["convert", text, "-o", done]),
            ("a part of the path is a file", ["convert", text, "-o", text / "out"]),
            ("Unknown stage 'polish'", ["train", "pocket", "--out", out, "--stages", "polish"]),
            ("--minutes takes STAGE=NUMBER", ["train", "pocket", "--out", out, "--minutes", "hsa"]),
            ("cannot be made", ["train", "pocket", "--out", text]),
        ],
    )
    assert not out.exists()
