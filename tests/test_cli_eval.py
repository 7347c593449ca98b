"""`eval recall` through the command line: the engine is a toy, the reader is real and untrained."""

import json
import signal

import pytest
import torch

from tests.toy import toy_model
from worldattention.app.cli import main
from worldattention.core import loading
from worldattention.core.engine import Engine
from worldattention.core.evaluation import recall
from worldattention.core.evaluation.pocket_reader import PocketReader, find_reader
from worldattention.core.evaluation.recall_plan import plan_episode
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
    real = recall.RecallSettings
    monkeypatch.setattr(recall, "RecallSettings", lambda **options: real(**options, **TINY))
    monkeypatch.setattr(
        loading, "open_engine", lambda model, device, config, progress=None: Engine(toy_model(), config)
    )
    read = PocketReader.__call__
    monkeypatch.setattr(
        PocketReader,
        "__call__",
        lambda self, frames, plan: read(self, frames.repeat(4, 1).repeat(4, 2), plan),
    )


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


def test_a_stop_is_one_sentence(tiny, reader_file, capsys, monkeypatch):
    step = Engine.step

    def interrupted(self, prompt, cancel=None):
        signal.raise_signal(signal.SIGINT)
        return step(self, prompt, cancel)

    monkeypatch.setattr(Engine, "step", interrupted)
    assert main(["eval", "recall", "--episodes", "1", "--reader", str(reader_file), "--device", "cpu"]) == 1
    assert "Stopped" in capsys.readouterr().err


def test_the_reader_names_what_the_place_shows(reader_file):
    reader = PocketReader(reader_file)
    frames = torch.randint(0, 256, (3, 128, 256, 3), dtype=torch.uint8).numpy()
    for index in range(4):
        readings = reader(frames, plan_episode(index, 0, 1))
        assert len(readings) == 3
        place = list(PLACE_ATTRIBUTES)[index]
        assert all(tuple(reading) == PLACE_ATTRIBUTES[place] for reading in readings)


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


@pytest.mark.parametrize("arguments", [[], ["drift"], ["recall", "--episodes", "0"]])
def test_wrong_usage(arguments, capsys):
    assert main(["eval", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
