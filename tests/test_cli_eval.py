"""`eval recall` through the command line: the engine is a toy, the reader is real and untrained."""

import json
import signal
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image

from tests.toy import HashEncoder, toy_model
from worldattention.app.cli import main
from worldattention.app.commandline import measure
from worldattention.core import loading
from worldattention.core.engine import Engine
from worldattention.core.evaluation import drift, following, recall, reconstruction
from worldattention.core.evaluation.pocket_reader import PocketReader
from worldattention.core.evaluation.reader_file import find_reader
from worldattention.core.evaluation.recall_plan import plan_episode
from worldattention.core.pocket.mentions import parse
from worldattention.core.pocket.reader import Reader, save_reader
from worldattention.core.pocket.truth import PLACE_ATTRIBUTES

TINY = {"visit_blocks": 4, "absences": 1, "return_blocks": 2, "read_blocks": 1, "frame_stride": 6}


@pytest.fixture
def reader_file(tmp_path):
    torch.manual_seed(0)
    save_reader(Reader(), tmp_path / "reader.safetensors")
    return tmp_path / "reader.safetensors"


@pytest.fixture
def tiny(monkeypatch):
    """Short episodes over a toy engine whose frames are blown up to the size that the reader knows."""
    monkeypatch.setattr(measure, "RecallSettings", partial(recall.RecallSettings, **TINY))
    monkeypatch.setattr(
        loading, "open_engine", lambda model, device, config, progress=None: Engine(toy_model(), config)
    )
    for module, name, sizes in (
        (following, "FollowingSettings", {"blocks": 2, "read_blocks": 1}),
        (drift, "DriftSettings", {"end_seconds": 1.0}),
    ):
        kind = getattr(module, name)
        monkeypatch.setattr(measure, name, partial(kind, **sizes))
    read = PocketReader.read

    def read_enlarged(self, frames, names):
        factor = 128 // frames.shape[1]
        return read(self, frames.repeat(factor, 1).repeat(factor, 2), names)

    monkeypatch.setattr(PocketReader, "read", read_enlarged)


def test_a_real_engine_is_evaluated_and_reported(tiny, reader_file, capsys):
    command = ["eval", "recall", "--episodes", "2", "--reader", str(reader_file), "--json", "--device", "cpu"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    result = json.loads(lines[-1])
    assert set(result) == {*recall.POLICIES, "ceiling", "about"}
    for policy in recall.POLICIES:
        entry = result[policy]
        assert 0 <= entry["low"] <= entry["accuracy"] <= entry["high"] <= 1
        assert entry["n"] == 2
    assert (
        result["about"]["pages_before_return"] == 4
    )  # 3, then 12 latent frames twice: 8 + 4, 8 + (4 still open)
    assert result["about"]["attention"] == "hsa"
    assert "| hkv | " in "\n".join(lines)
    assert main([*command, "--retrieval", "recent"]) == 0
    assert set(json.loads(capsys.readouterr().out.splitlines()[-1])) == {
        *("hkv", "none", "recent", "ceiling", "about")
    }


def run(capsys, reader_file, *arguments):
    """The JSON object and the table of a measurement."""
    assert main(["eval", *arguments, "--reader", str(reader_file), "--json", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return json.loads(lines[-1]), "\n".join(lines[:-1])


def test_worlds_that_step_together_recall_as_one_does(tiny, reader_file, capsys):
    alone, _ = run(capsys, reader_file, "recall", "--episodes", "2", "--retrieval", "none")
    together, _ = run(
        capsys, reader_file, "recall", "--episodes", "2", "--retrieval", "none", "--worlds", "2"
    )
    assert together.keys() == alone.keys()
    assert together["about"]["pages_before_return"] == alone["about"]["pages_before_return"]
    assert together["hkv"]["n"] == 2


def test_prompt_following_is_measured_against_true_scenes(tiny, reader_file, capsys, tmp_path):
    table_file = tmp_path / "table.md"
    result, table = run(capsys, reader_file, "prompt", "--episodes", "2", "--markdown", str(table_file))
    for name in ("action", "place", "weather", "time", "shirt", "sex"):
        assert 0 <= result[name]["low"] <= result[name]["accuracy"] <= result[name]["high"] <= 1
        assert result["true"][name]["n"] == 2
        assert f"| {name} | " in table
    for name in ("gradient energy, made over true", "motion energy, made over true"):
        assert result[name]["accuracy"] > 0
    assert table_file.read_text().rstrip("\n") == table.rstrip("\n")


def test_drift_is_measured(tiny, reader_file, capsys):
    result, table = run(capsys, reader_file, "drift", "--episodes", "2", "--seconds", "4.5", "--worlds", "2")
    assert set(result) == {
        *("sharpness, last over first", "motion, last over first", "read-back, last over first"),
        *("VDE of sharpness", "VDE of motion", "true", "about"),
    }
    assert result["true"]["VDE of motion"]["accuracy"] >= 0
    assert result["about"]["seconds"] == 4.5
    assert result["VDE of motion"]["accuracy"] >= 0
    assert "Drift over 4.5 s" in table


def test_the_ablation_holds_the_tables_of_the_paper(tiny, reader_file, capsys):
    result, table = run(capsys, reader_file, "ablation", "--episodes", "1")
    assert set(result["attention"]) == {"hsa", "dense", "linear", "sparse"}
    assert set(result["hsa_minus"]) == {"dense", "linear", "sparse"}
    assert set(result["stage1_width"]) == {"1", "2", "3"}
    assert set(result["retrieval"]) == {*recall.POLICIES, "ceiling"}, "one episode has no chance row"
    assert result["stage1_width"]["3"] == result["retrieval"]["hkv"], "three chunks are the default"
    assert "| dense | " in table
    assert "| hkv, 1 chunk | " in table


def test_the_reader_is_measured_by_attribute(reader_file, capsys):
    result, table = run(capsys, reader_file, "reader", "--episodes", "2")
    assert result["scenes"] == 2
    assert result["attributes"]["place"]["n"] == 2
    assert all(0 <= row["accuracy"] <= 1 for row in result["attributes"].values())
    assert "| place | " in table


def test_a_table_that_cannot_be_written_is_one_sentence(reader_file, capsys, tmp_path):
    arguments = ["reader", "--episodes", "1", "--reader", str(reader_file), "--markdown", str(tmp_path)]
    assert main(["eval", *arguments]) == 1
    captured = capsys.readouterr()
    assert "The table cannot be written" in captured.err
    assert captured.out == "", "it is said before anything is measured"


def test_the_command_tells_other_worlds_prompts(capsys, monkeypatch):
    monkeypatch.setattr(measure, "MiniLMEncoder", HashEncoder)
    assert main(["eval", "prompt", "--understanding", "--episodes", "20", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    result = json.loads(lines[-1])
    assert result["prompts"]["grammar"] == 20
    assert 0 < result["area"] < 1
    assert "| other worlds |" in "\n".join(lines)


def test_a_stop_is_one_sentence(tiny, reader_file, capsys, monkeypatch):
    step = Engine.step

    def interrupted(self, prompt, cancel=None):
        signal.raise_signal(signal.SIGINT)
        return step(self, prompt, cancel)

    monkeypatch.setattr(Engine, "step", interrupted)
    assert main(["eval", "recall", "--episodes", "1", "--reader", str(reader_file), "--device", "cpu"]) == 1
    assert "Stopped" in capsys.readouterr().err


def test_the_reader_names_what_the_scene_shows(reader_file):
    reader = PocketReader(reader_file)
    frames = torch.randint(0, 256, (3, 128, 256, 3), dtype=torch.uint8).numpy()
    for index in range(4):
        plan = plan_episode(index, 0, 1)
        readings = reader(frames, plan)
        assert len(readings) == 3
        place = list(PLACE_ATTRIBUTES)[index]
        names = {*PLACE_ATTRIBUTES[place], "skin", "hair", "trousers"}
        prop = {0: "ball_stripe", 1: "ribbon", 3: "kite", 4: "dog", 6: "balloon"}.get(plan.scene.action)
        assert all(set(reading) == names | ({prop} - {None}) for reading in readings)


@pytest.mark.parametrize("content", [None, b"", b"not weights at all", b"\x02\0\0\0\0\0\0\0{}"])
def test_bad_readers_are_one_sentence(tmp_path, capsys, content):
    path = tmp_path / "reader.safetensors"
    if content is not None:
        path.write_bytes(content)
    assert main(["eval", "recall", "--reader", str(path)]) == 1
    captured = capsys.readouterr()
    assert len(captured.err.strip().splitlines()) == 1
    assert "reader's weights" in captured.err


def test_the_reader_lies_with_its_model(tmp_path):
    assert find_reader(str(tmp_path)) == tmp_path / "reader.safetensors"
    assert find_reader("pocket").parts[-3:] == ("assets", "evaluation", "reader.safetensors")


@pytest.mark.parametrize(
    "arguments", [[], ["looks"], ["dreams"], ["recall", "--episodes", "0"], ["drift", "--seconds", "0"]]
)
def test_wrong_usage(arguments, capsys):
    assert main(["eval", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_shares_keep_records_and_the_report_is_made_of_them(tiny, reader_file, capsys, tmp_path):
    asked = ["recall", "--episodes", "2", "--widths", "--retrieval", "none"]
    whole, table = run(capsys, reader_file, *asked)
    assert {"hkv, 1 chunk", "hkv, 2 chunks"} <= set(whole)
    files = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    for number, file in enumerate(files, 1):
        part = ["--share", f"{number}/2", "--records", file]
        run(capsys, reader_file, *asked, *part)
    assert run(capsys, reader_file, "recall", "--from", *files) == (whole, table)
    result, _ = run(capsys, reader_file, "ablation", "--from", *files)
    assert set(result["stage1_width"]) == {"1", "2"}
    assert main(["eval", "drift", "--from", *files]) == 1
    assert "no records of `eval drift`" in capsys.readouterr().err


@pytest.mark.parametrize("share", ["0/2", "3/2", "1", "a/b", "/", "1/0"])
def test_a_share_is_a_part_of_all(share, capsys):
    assert main(["eval", "recall", "--share", share]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert "--share" in error


def test_the_autoencoder_is_measured(capsys, monkeypatch):
    monkeypatch.setattr(reconstruction, "AT_ONCE", 2)
    monkeypatch.setattr(reconstruction, "LATENTS", 2)
    arguments = ["--episodes", "1", "--json", "--device", "cpu"]
    assert main(["eval", "autoencoder", *arguments]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["clips"] == 2
    assert 20 < result["psnr"] < 45
    assert 10 < result["moving_psnr"] < result["psnr"]


def test_looks_are_a_sheet_and_a_moving_wall(tiny, capsys, tmp_path):
    sheet, gif = tmp_path / "looks.png", tmp_path / "looks.gif"
    arguments = ["--episodes", "4", "--seconds", "1", "--worlds", "2", "--device", "cpu", "--json"]
    assert main(["eval", "looks", *arguments, "--sheet", str(sheet), "--gif", str(gif)]) == 0
    prompts = json.loads(capsys.readouterr().out.splitlines()[-1])["prompts"]
    assert [parse(prompt).action for prompt in prompts] == [0, 1, 2, 3]
    assert [parse(prompt).place for prompt in prompts] == [0, 1, 2, 3]
    with Image.open(sheet) as picture:
        assert picture.size == (6 * 64, 4 * 32)
        rows = np.asarray(picture)
    with Image.open(gif) as moving:
        assert moving.size == (3 * 64, 2 * 32)
        assert moving.n_frames == 12, "every second of two blocks"
        first = np.asarray(moving.convert("RGB"), int)
    assert np.abs(first[:32, :64] - rows[:32, :64]).mean() < 16, "the sheet begins where the film begins"
    assert (first[32:, 64:] < 16).all(), "two places of the last row are empty"
    bad = ["--sheet", str(tmp_path / "looks.webp")]
    assert main(["eval", "looks", *arguments, *bad]) == 1
    assert ".jpg or .png" in capsys.readouterr().err
