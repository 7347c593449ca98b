"""`train pocket` on the command line: what it asks the recipe for, and what it answers to nonsense."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from worldattention.app.cli import main
from worldattention.core.pocket.training import recipe
from worldattention.core.pocket.training.options import RECIPE, TrainOptions


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[TrainOptions]:
    seen: list[TrainOptions] = []
    monkeypatch.setattr(recipe, "train_pocket", lambda options: seen.append(options.checked()))
    return seen


def test_defaults_train_every_stage(asked: list[TrainOptions], tmp_path: Path) -> None:
    assert main(["train", "pocket", "--out", str(tmp_path)]) == 0
    assert asked == [TrainOptions(folder=tmp_path)]
    assert asked[0].stages == RECIPE


def test_every_option_arrives(
    asked: list[TrainOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (
        "--stages memory,hsa --minutes memory=1.5,hsa=2 --scale 0.5 --processes 2 --batch 8 --toy --fresh"
    )
    rest = ["--within", "100", "--seed", "3", "--device", "cpu", "--json"]
    assert main(["train", "pocket", "--out", str(tmp_path), *options.split(), *rest]) == 0
    (got,) = asked
    assert got.stages == ("memory", "hsa")
    assert got.seconds("memory") == 45
    assert got.deadline is not None
    assert 50 < got.deadline - time.time() <= 100
    assert (got.processes, got.batch, got.toy, got.resume, got.seed, got.device) == (
        2,
        8,
        True,
        False,
        3,
        "cpu",
    )
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["stages"] == ["memory", "hsa"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["pocket"], 2),
        (["world", "--out", "x"], 2),
        (["pocket", "--out", "x", "--scale", "0"], 2),
        (["pocket", "--out", "x", "--batch", "-1"], 2),
        (["pocket", "--out", "x", "--stages", "sleep"], 1),
        (["pocket", "--out", "x", "--stages", ""], 1),
        (["pocket", "--out", "x", "--minutes", "hsa"], 1),
        (["pocket", "--out", "x", "--minutes", "hsa=nan"], 1),
        (["pocket", "--out", "x", "--minutes", "sleep=1"], 1),
        (["pocket", "--out", "x", "--device", "tpu"], 2),
    ],
)
def test_nonsense_is_answered_in_a_sentence(
    asked: list[TrainOptions], arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *arguments]) == code
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1
    assert asked == []


def test_a_stop_says_that_the_work_is_kept(monkeypatch, tmp_path, capsys):
    def stopped(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("worldattention.core.pocket.training.recipe.train_pocket", stopped)
    assert main(["train", "pocket", "--out", str(tmp_path)]) == 1
    assert "goes on from there" in capsys.readouterr().err
