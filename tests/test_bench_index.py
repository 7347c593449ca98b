"""`bench index` at toy size: a long past beside a fresh world, lost pages in the index that never come back."""

import json

import pytest
import torch

from tests.banks import make_bank, new_frames, usage
from worldattention.app.cli import main
from worldattention.app.commandline.bench_index import table
from worldattention.core.config import EngineConfig
from worldattention.core.engine import Engine
from worldattention.core.evaluation import bench_index
from worldattention.core.evaluation.bench_index import STEADY_BLOCKS, add_lost_pages
from worldattention.core.evaluation.bench_playback import fill
from worldattention.core.evaluation.made_up import SIZES, made_up_model

TOY = ["--random-weights", "toy", "--device", "cpu", "--past-seconds", "18", "--repeats", "1"]


def test_a_long_past_beside_a_fresh_world(capsys, monkeypatch):
    timed, real = 0, bench_index._row

    def row(world):
        nonlocal timed
        timed += len(world.lines)
        return real(world)

    monkeypatch.setattr(bench_index, "_row", row)
    assert main(["bench", "index", *TOY, "--index-pages", "100", "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    fresh, long = record["fresh"], record["long"]
    assert fresh["pages"] < 20 < 95 <= long["pages"]
    kept = [sum(tier["pages"] for tier in row["tiers"].values()) for row in (fresh, long)]
    assert kept[0] == fresh["pages"]
    assert 9 <= kept[1] < 30
    assert fresh["recalled_pages"] == long["recalled_pages"] == 3
    for kind in ("steady", "recall", "block", "told"):
        assert record["over"][kind] == pytest.approx(fresh[f"{kind}_ms"] / long[f"{kind}_ms"], abs=1e-4)
    for row in (fresh, long):
        assert row["told_ms"] == pytest.approx(row["block_ms"] + row["line_ms"], abs=0.01)
        assert 0 < row["steady_ms"] <= row["slowest_steady_ms"]
    assert record["scoring"]["pages"] == 100
    assert timed == 2 * 1 * (1 + STEADY_BLOCKS)  # of both worlds, without those that warm up
    lines = table(record)
    assert sum(line.startswith("| fresh ") or line.startswith("| long ") for line in lines) == 3


def test_lost_pages_have_a_row_and_nothing_else(tmp_path):
    bank = make_bank(tmp_path, 2, 2, 2)
    rows = torch.randn(7, 2, 2, 4)
    for row in rows:
        bank.add_lost(8, row, block=3)
    bank.append(*new_frames(8), 4)
    assert [(page.first_frame, page.frames) for page in bank.pages] == [(8 * page, 8) for page in range(8)]
    assert [page.chunk_id for page in bank.pages] == [0] * 5 + [1] * 3
    assert [bank.tier_of(page) for page in range(8)] == ["dropped"] * 7 + ["device"]
    assert bank.frames_done == 64
    assert usage(bank).drops == 7
    found = bank.retrieve(rows[2], torch.ones(4))
    assert found.candidates == found.chosen == (7,)
    with bank.recall([2, 7]) as recall:
        assert recall.missed == (2,)
        assert list(recall.pages) == [7]
    bank.close()


def test_a_world_goes_on_behind_lost_pages():
    engine = Engine(made_up_model(SIZES["toy"], torch.device("cpu")), EngineConfig())
    add_lost_pages(engine, 30, 18.0)
    lost = len(engine.bank.pages)
    assert engine.memory.ring.frames_done == engine.bank.frames_done == 8 * lost
    fill(engine, 18.0)
    assert 28 <= len(engine.bank.pages) <= 32
    record = engine.step("A third scene.").telemetry
    assert len(record.recall.chosen) == 3
    assert min(record.recall.chosen) >= lost
    assert [page.tier for page in record.pages[:lost]] == ["dropped"] * lost
    engine.close()
