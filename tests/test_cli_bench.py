"""`bench attention`: both types, both densities, on made-up tensors and on those of a world."""

import json

import pytest
import torch

from tests.toy import toy_engine, toy_model
from worldattention.app.cli import main
from worldattention.core import loading
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.evaluation import attention_samples
from worldattention.core.evaluation.attention_samples import samples_of

QUICK = ["bench", "attention", "--repeats", "1", "--device", "cpu"]
SHORT = (("a red ball", 8), ("a blue kite", 8), ("the red ball", 1))


def test_both_types_are_reported(capsys):
    assert main([*QUICK, "--made-up", "--density", "0.2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result) == {"source", "float32", "bfloat16"}
    for name in ("float32", "bfloat16"):
        record = result[name]
        assert record["dense_ms"] > 0
        for setting in ("tau", "forced"):
            row = record[setting]
            assert row["sparse_speedup"] == record["dense_ms"] / row["sparse_ms"]
        assert 0.1 < record["forced"]["density"] < 0.3


def test_the_table_of_a_world_has_a_row_for_each_type_and_density(capsys, monkeypatch):
    monkeypatch.setattr(attention_samples, "PROMPTS", SHORT)
    monkeypatch.setattr(
        loading, "open_engine", lambda model, device, config, progress=None: Engine(toy_model(), config)
    )
    assert main(QUICK) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 2 * 2
    assert {row.count("|") for row in rows} == {9}
    assert "just recalled pages: 4 layers, 24 queries" in out


def test_samples_are_what_the_last_pass_attended_with():
    engine = toy_engine()
    samples = samples_of(engine, SHORT)
    tokens = engine.geometry.frame_tokens
    assert len(samples) == 4
    record = engine.step("the red ball").telemetry
    assert [span.kind for span in record.window].count("page") == 3
    for sample in samples:
        assert sample.q.shape[1] == 3 * tokens
        assert sample.window.keys.shape[1] == (32 + 3) * tokens
        assert sample.parameters is not None
        assert torch.isfinite(sample.q).all()
    assert not torch.equal(samples[0].q, samples[1].q)
    assert engine.attention_observer is None


def test_observing_changes_nothing():
    watched, alone = toy_engine(), toy_engine()
    watched.attention_observer = lambda layer, q, window, parameters: None
    for prompt in ("a", "a", "b"):
        assert (watched.step(prompt).frames == alone.step(prompt).frames).all()


def test_a_world_without_recalls_cannot_be_measured():
    with pytest.raises(UserError, match="No page was recalled"):
        samples_of(toy_engine(), (("a red ball", 2), ("a blue kite", 1)))


def test_what_to_bench_must_be_known(capsys):
    assert main(["bench"]) == 2
    assert main(["bench", "everything"]) == 2
    assert "everything" in capsys.readouterr().err
