"""`bench engine` and `bench block` at toy size: every rung is run, and the record says what was measured."""

import json

import pytest

from worldattention.app.cli import main
from worldattention.core.evaluation.bench_block import PARTS

TOY = ["--random-weights", "toy", "--device", "cpu", "--scene-blocks", "4", "--repeats", "1"]


def test_the_ladder(capsys):
    assert main(["bench", "engine", *TOY, "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(record["rungs"]) == ["dense window", "+ HKV", "+ HSA", "+ kernels"]
    first = record["rungs"]["dense window"]
    for name, rung in record["rungs"].items():
        assert rung["ms"] > 0
        assert rung["over_first"] == pytest.approx(first["ms"] / rung["ms"])
        assert rung["fps"] == pytest.approx(12_000 / rung["ms"])
        assert (rung["recalled_pages"] > 0) == (name != "dense window")
        assert rung["density"] == 1.0 if "HSA" not in name and "kernels" not in name else rung["density"] < 1
        assert rung["backend"].startswith("torch")
        assert set(rung["stage_ms"]) >= {"denoise", "decode", "install", "total"}
    for entry in ("device", "torch", "triton", "date", "block", "dtype", "frame_tokens", "window_frames"):
        assert record[entry]
    assert tuple(record["parts"]["ms"]) == PARTS
    assert sum(record["parts"]["share"].values()) == pytest.approx(1)


def test_the_parts_of_a_block_as_a_table(capsys):
    assert main(["bench", "block", *TOY, "--fp8-linears"]) == 0
    out = capsys.readouterr().out
    assert "made-up, fp8 linears" in out
    for part in PARTS:
        assert f"| {part} |" in out
    assert "24 queries over" in out
    assert "| rung |" not in out
