"""`bench tiers`: what it reports, on pages small enough for any machine."""

import json

import numpy as np
import pytest
import torch

from tests.toy import save_toy_folder, toy_config, toy_model
from worldattention.app.cli import main
from worldattention.app.commandline.bench_tiers import table
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.evaluation import bench_codecs, bench_tiers
from worldattention.core.hkv.page import KVShape

SHAPE = KVShape(2, 4, 2, 16, torch.bfloat16)


def test_every_tier_and_codec_is_timed_in_turns(monkeypatch):
    monkeypatch.setattr(bench_tiers, "SCORED_PAGES", 200)
    device = torch.device("cpu")
    record = bench_tiers.benchmark_tiers(bench_tiers.made_up_pages(SHAPE, device), SHAPE, device, repeats=2)
    assert list(record["codecs"]) == ["bf16", "fp8", "int8"]
    for name, codec in record["codecs"].items():
        assert list(codec["tiers"]) == ["device", "dram", "disk"]
        for row in codec["tiers"].values():
            assert 0 < row["write_ms"] <= row["write_slowest_ms"]
            assert row["read_gb_s"] == pytest.approx(record["page_bytes"] / row["read_ms"] / 1e6)
        expected = {"bf16": (0, 0), "fp8": (0.01, 0.04), "int8": (0.002, 0.015)}[name]
        assert expected[0] <= codec["relative_error"]["keys"] <= expected[1]
    assert record["codecs"]["int8"]["stored_bytes"] < record["page_bytes"]
    assert len(table(record | {"source": "numbers"})) > 12


def test_cancelled_between_pages():
    device = torch.device("cpu")
    with pytest.raises(Cancelled):
        bench_tiers.benchmark_tiers(
            bench_tiers.made_up_pages(SHAPE, device), SHAPE, device, cancel=lambda: True
        )


def test_codecs_are_compared_on_the_same_recalled_scene():
    scenes = (("red ball", 4), ("blue house", 4), ("red ball", 1))
    pages, effects = bench_codecs.codec_effects(toy_model(), toy_config(), scenes)
    assert len(pages) >= 1
    assert effects["bf16"] == {"same_pages": True, "psnr_db": None}
    for name in ("fp8", "int8"):
        assert effects[name]["same_pages"]
        assert effects[name]["psnr_db"] is None or effects[name]["psnr_db"] > 20
    with pytest.raises(UserError, match="No page was recalled"):
        bench_codecs.codec_effects(toy_model(), toy_config(), (("red ball", 1),))


def test_psnr():
    black = np.zeros((1, 2, 2, 3), np.uint8)
    assert bench_codecs.psnr_db(black, black) is None
    assert bench_codecs.psnr_db(black, black + 255) == pytest.approx(0)
    assert bench_codecs.psnr_db(black, black + 1) == pytest.approx(48.13, abs=0.01)


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bench_tiers, "SCORED_TRIES", 2)
    with monkeypatch.context() as patch:
        patch.setattr(bench_tiers, "PAGE_FRAMES", 1)
        done = main(["bench", "tiers", "--made-up", "--repeats", "1", "--device", "cpu", "--json"])
    assert done == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["source"] == "made-up numbers"
    assert set(record["scoring"]) == {"pages", "two_stages_ms", "all_pages_ms"}
    model = save_toy_folder(tmp_path / "model")
    command = [
        "bench",
        "tiers",
        "--model",
        str(model),
        "--repeats",
        "1",
        "--scene-blocks",
        "4",
        "--device",
        "cpu",
    ]
    assert main(command) == 0
    assert "bit for bit" in capsys.readouterr().out
