"""`bench attention`: both types, both densities, as a table and as JSON."""

import json

from worldattention.app.cli import main


def test_both_types_are_reported(capsys):
    assert (
        main(["bench", "attention", "--repeats", "1", "--device", "cpu", "--density", "0.2", "--json"]) == 0
    )
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result) == {"float32", "bfloat16"}
    for record in result.values():
        assert record["dense_ms"] > 0
        for setting in ("tau", "forced"):
            row = record[setting]
            assert row["sparse_speedup"] == record["dense_ms"] / row["sparse_ms"]
        assert 0.1 < record["forced"]["density"] < 0.3


def test_the_table_has_a_row_for_each_type_and_density(capsys):
    assert main(["bench", "attention", "--repeats", "1", "--device", "cpu"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 2 * 2
    assert {row.count("|") for row in rows} == {9}


def test_what_to_bench_must_be_known(capsys):
    assert main(["bench"]) == 2
    assert main(["bench", "everything"]) == 2
    assert "everything" in capsys.readouterr().err
