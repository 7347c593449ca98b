"""The attention benchmark measures what it says on tensors that it is given."""

import json

import pytest
import torch

from worldattention.core.config import AttentionConfig
from worldattention.core.evaluation import bench_rows
from worldattention.core.evaluation.bench_attention import (
    AttentionSample,
    AttentionShape,
    benchmark_attention,
    made_up_sample,
)
from worldattention.core.hsa import attend

SHAPE = AttentionShape(frame_tokens=16, memory_frames=9, heads=3, channels=16)
CONFIG = AttentionConfig(block=16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_record_is_complete(dtype: torch.dtype) -> None:
    samples = [made_up_sample(SHAPE, 16, seed=seed) for seed in range(2)]
    record = benchmark_attention(dtype, samples, CONFIG, forced_density=0.5, repeats=2)
    record = json.loads(json.dumps(record))
    assert record["dtype"] == str(dtype).removeprefix("torch.")
    assert record["torch"] == torch.__version__
    assert record["device"]
    assert record["threads"] == torch.get_num_threads()
    assert (record["q_tokens"], record["k_tokens"], record["samples"]) == (48, 192, 2)
    assert record["forced"]["density"] == pytest.approx(0.5)
    for name in ("tau", "forced"):
        part = record[name]
        assert part["sparse_speedup"] == pytest.approx(record["dense_ms"] / part["sparse_ms"])
        assert part["hsa_speedup"] == pytest.approx(record["dense_ms"] / part["hsa_ms"])


def test_density_is_that_of_the_given_tensors() -> None:
    sample = made_up_sample(SHAPE, 16, seed=7)
    _, statistics = attend(sample.q, sample.window, sample.parameters, CONFIG, "hsa")
    record = benchmark_attention(torch.float32, [sample], CONFIG, repeats=1)
    assert record["tau"]["density"] == pytest.approx(statistics.density.mean().item())
    assert 0 < record["tau"]["density"] < 1


def test_given_tensors_are_left_alone() -> None:
    sample = made_up_sample(SHAPE, 16)
    before = [x.clone() for x in (sample.q, sample.window.keys, sample.window.pooled)]
    benchmark_attention(torch.float32, [sample], CONFIG, repeats=1)
    after = (sample.q, sample.window.keys, sample.window.pooled)
    assert all(torch.equal(x, y) for x, y in zip(before, after, strict=True))


def test_a_model_without_parameters_has_no_hybrid() -> None:
    sample = made_up_sample(SHAPE, 16)
    bare = AttentionSample(sample.q, sample.window, None)
    record = benchmark_attention(torch.float32, [bare], CONFIG, repeats=1)
    assert record["tau"]["hsa_ms"] is None
    assert record["tau"]["hsa_speedup"] is None
    assert record["tau"]["sparse_ms"] > 0


def test_rows_hold_every_geometry_and_density() -> None:
    geometries = (bench_rows.Geometry(3, 9, 16, (0.5, None)), bench_rows.Geometry(6, 9, 32, (0.25,)))
    record = bench_rows.benchmark_rows(
        SHAPE, geometries, torch.float32, torch.device("cpu"), repeats=1, sets=2
    )
    record = json.loads(json.dumps(record))
    assert [(row["q_tokens"], row["k_tokens"], row["block"]) for row in record["rows"]] == [
        (48, 144, 16), (48, 144, 16), (96, 144, 32),
    ]  # fmt: skip
    assert [row["asked_density"] for row in record["rows"]] == [0.5, None, 0.25]
    assert record["rows"][0]["density"] == pytest.approx(5 / 9)
    assert record["rows"][2]["density"] == pytest.approx(2 / 5)
    for row in record["rows"]:
        assert row["sparse_speedup"] == pytest.approx(row["dense_ms"]["torch"] / row["parts_ms"]["sparse"])
        assert sum(row["shares"].values()) == pytest.approx(1)
    assert len(bench_rows.table(record)) == 4 + len(record["rows"])
