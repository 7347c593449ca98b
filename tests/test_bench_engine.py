"""`bench engine` and `bench block` at toy size: every rung is run, and the record says what was measured."""

import json

import pytest

from worldattention.app.cli import main
from worldattention.app.commandline import bench_engine
from worldattention.core.evaluation.bench_block import PARTS

RUNGS = ["dense window", "+ HKV", "+ HSA", "+ kernels", "+ forced density"]
TOY = ["--random-weights", "toy", "--device", "cpu", "--scene-blocks", "4", "--repeats", "1"]


def test_the_ladder(capsys):
    assert main(["bench", "engine", *TOY, "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(record["rungs"]) == [*RUNGS]
    first = record["rungs"]["dense window"]
    for name, rung in record["rungs"].items():
        assert rung["ms"] > 0
        assert rung["over_first"] == pytest.approx(first["ms"] / rung["ms"], abs=0.001)
        assert rung["fps"] == pytest.approx(12_000 / rung["ms"], abs=0.001)
        assert (rung["recalled_pages"] > 0) == (name != "dense window")
        assert (rung["density"] == 1.0) == (name in RUNGS[:2])
        assert rung["backend"].startswith("torch")
        assert set(rung["stage_ms"]) >= {"denoise", "decode", "install", "total"}
    for entry in ("device", "torch", "triton", "date", "block", "dtype", "frame_tokens", "window_frames"):
        assert record[entry]
    assert tuple(record["parts"]["ms"]) == PARTS
    assert sum(record["parts"]["share"].values()) == pytest.approx(1)
    assert record["over_dense"] == pytest.approx(
        record["rungs"]["+ HKV"]["ms"] / record["rungs"]["+ forced density"]["ms"], abs=0.001
    )
    assert record["recall"]["stage_ms"]["retrieve"] > 0
    assert 0.5 < record["telemetry_on_over_off"] <= 1
    assert record["fp8_linears"]["over"] > 0
    assert record["decode"]["over"] == pytest.approx(
        record["decode"]["diffusers_ms"] / record["decode"]["ms"]
    )


def test_the_ladder_as_a_table():
    row = {"ms": 10.0, "fps": 1200.0, "over_first": 2.0, "density": 0.05, "backend": "gluon"}
    record = {
        "rungs": {"dense window": row, "+ HSA": {"failure": "out of memory"}},
        "recall": row,
        "fp8_linears": {"failure": "no layer for fp8"},
        "over_dense": 2.5,
        "telemetry_on_over_off": 0.99,
    }
    lines = bench_engine._ladder(record)
    assert "| dense window | 10.00 | 1200.00 | 2.00 | 0.05 | gluon |" in lines
    assert "| + HSA | out of memory |" in lines
    assert "| + forced density, fp8 linears | no layer for fp8 |" in lines
    assert any("dense attention: 2.50" in line for line in lines)


def test_the_parts_of_a_block_as_a_table(capsys):
    assert main(["bench", "block", *TOY, "--fp8-linears"]) == 0
    out = capsys.readouterr().out
    assert "made-up, fp8 linears" in out
    for part in PARTS:
        assert f"| {part} |" in out
    assert "24 queries over" in out
    assert "| rung |" not in out
