"""The pocket world's recipe: Muon, checkpoints, and every stage at toy size."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import worldattention.assets
import worldattention.core
from worldattention.core.errors import UserError
from worldattention.core.models.checkpoint import read_weights
from worldattention.core.models.vae import PocketAutoencoder
from worldattention.core.pocket.training import noise
from worldattention.core.pocket.training.autoencoder import ClipSource, measure_quality
from worldattention.core.pocket.training.checkpoint import load_weights, save_weights, weight_files
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.denoiser import (
    masked_attention,
    new_transformer,
    sequence_attention,
)
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.muon import Muon, orthogonalise
from worldattention.core.pocket.training.options import STAGES, TrainOptions
from worldattention.core.pocket.training.recipe import train_pocket
from worldattention.core.pocket.training.session import Session
from worldattention.core.pocket.training.windows import (
    BLOCK,
    MEMORY_LAYOUT,
)

CPU = torch.device("cpu")
MEMORY, CLEAN = MEMORY_LAYOUT.memory, MEMORY_LAYOUT.clean


def test_noise_levels() -> None:
    generator = torch.Generator().manual_seed(3)
    levels = noise.target_levels(400, 4, generator)
    assert levels.min() >= 0
    assert levels.max() <= 1
    for step in noise.STEPS[:4]:
        assert (levels == step).float().mean() > 0.03
    context = noise.context_levels(400, MEMORY_LAYOUT, generator)
    assert context.shape == (400, (MEMORY + CLEAN) // BLOCK)
    assert context.max() <= noise.CONTEXT_NOISE
    assert 0.2 < (context[:, 0] == 0).float().mean() < 0.5
    clean, drawn = torch.randn(2, 3, 1, 2, 2), torch.randn(2, 3, 1, 2, 2)
    mixed = noise.mix(clean, drawn, torch.tensor([[0.25], [1.0]]))
    torch.testing.assert_close(mixed[0], 0.75 * clean[0] + 0.25 * drawn[0])
    torch.testing.assert_close(mixed[1], drawn[1])


def test_orthogonalise_makes_singular_values_one() -> None:
    matrices = torch.randn(3, 20, 12) * torch.tensor([0.01, 1.0, 50.0])[:, None, None]
    values = torch.linalg.svdvals(orthogonalise(matrices).float())
    assert values.min() > 0.5
    assert values.max() < 1.4


def test_muon_goes_downhill_and_stacks_equal_shapes() -> None:
    weights = [nn.Parameter(torch.randn(6, 10)) for _ in range(3)] + [nn.Parameter(torch.randn(10, 4))]
    targets = [torch.randn_like(weight) for weight in weights]
    muon = Muon(weights, weight_decay=0.0)

    def loss() -> Tensor:
        return torch.stack([(w - t).square().mean() for w, t in zip(weights, targets, strict=True)]).sum()

    before = float(loss().detach())
    for _ in range(150):
        for weight in weights:
            weight.grad = None
        loss().backward()
        muon.step(0.1)
    assert float(loss().detach()) < 0.2 * before
    with pytest.raises(ValueError, match="matrices"):
        Muon([nn.Parameter(torch.zeros(3))])


def test_checkpoints_in_parts(tmp_path: Path) -> None:
    weights = {
        "a.weight": torch.randn(40, 30),
        "b.weight": torch.randn(50, 3),
        "b.bias": torch.randn(7) * 1e6,
    }
    weights["count"] = torch.tensor(3)
    save_weights(tmp_path, "model", weights, part_bytes=2000)
    assert len(weight_files(tmp_path, "model")) == 2
    loaded = load_weights(tmp_path, "model")
    assert loaded.keys() == weights.keys()
    torch.testing.assert_close(loaded["a.weight"], weights["a.weight"].half().float(), rtol=0, atol=0)
    torch.testing.assert_close(loaded["b.bias"], weights["b.bias"], rtol=0, atol=0)
    assert loaded["count"] == 3
    save_weights(tmp_path, "model", weights)
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    assert read_weights(tmp_path).keys() == weights.keys()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e6])
def test_a_checkpoint_that_is_not_finite_is_refused_and_the_old_one_kept(tmp_path: Path, bad: float) -> None:
    save_weights(tmp_path, "model", {"w": torch.ones(2, 2)})
    with pytest.raises(ValueError, match="'w'"):
        save_weights(tmp_path, "model", {"w": torch.tensor([[1.0, bad]])})
    assert load_weights(tmp_path, "model")["w"].sum() == 4
    assert len(list(tmp_path.iterdir())) == 1


def test_sequence_attention_is_masked_attention_of_rotated_keys() -> None:
    """Against explicit softmax over the visible frames only."""
    frames, grid, heads, width = 3, (2, 2), 2, 12
    tokens = grid[0] * grid[1]
    visible = torch.tensor([[[1, 0, 0], [1, 1, 0], [0, 1, 1]]]).bool()
    attention = sequence_attention(torch.tensor([[4, 0, 7]]), visible, width, grid)
    q, k, v = torch.randn(3, 1, frames * tokens, heads, width, dtype=torch.float64)
    out = masked_attention(q, k, v, attention.mask)
    for frame in range(frames):
        rows = slice(frame * tokens, (frame + 1) * tokens)
        keys = torch.cat([torch.arange(tokens) + tokens * f for f in range(frames) if visible[0, frame, f]])
        scores = torch.einsum("qhd,khd->hqk", q[0, rows], k[0, keys]) / width**0.5
        expected = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v[0, keys])
        torch.testing.assert_close(out[0, rows], expected)


def test_a_new_transformer_predicts_nothing() -> None:
    model = new_transformer(CPU, 1)
    attention = sequence_attention(torch.arange(2)[None], torch.ones(1, 2, 2).bool(), 64, (1, 2))
    text = model.text_keys_values(torch.randn(1, 5, 384))
    out = model.predict(
        torch.randn(1, 2, 16, 2, 4), torch.rand(1, 2) * 1000, text, attention, torch.zeros(2).long()
    )
    assert out.abs().max() == 0


def test_clock_counts_steps_and_resumes() -> None:
    clock = StageClock("toy", 0, Group(0, 1, CPU), steps=4)
    assert [clock.progress() for _ in range(6)] == [0, 0.25, 0.5, 0.75, 1, 1]
    clock.close()
    timed = StageClock("timed", 1e9, Group(0, 1, CPU), done=0.5)
    shares = [timed.progress() for _ in range(25)]
    assert shares == sorted(shares)
    assert 0.5 <= shares[0] <= shares[-1] < 0.51
    timed.close()
    spent = StageClock("spent", 1e-9, Group(0, 1, CPU))
    spent.progress()
    assert spent.progress() <= 1
    while spent.progress() < 1:
        assert spent.step < 30
    spent.close()


TWO_PROCESSES = """
import json, sys
from functools import partial
from pathlib import Path

import torch

from worldattention.core.pocket.training.distributed import run_processes


def work(folder, group):
    weight = torch.nn.Parameter(torch.zeros(3, 2))
    weight.grad = torch.full((3, 2), float(group.rank + 1))
    group.average_gradients([weight])
    shared = torch.full((2, 4), float(group.rank)).T  # not contiguous
    group.share([shared])
    result = {"gradient": weight.grad.tolist(), "shared": shared.tolist(), "agreed": group.agree(10.0 + group.rank)}
    Path(folder, f"{group.rank}.json").write_text(json.dumps(result))
    group.wait_for_lead()
    if group.leads:
        raise RuntimeError("the lead gives up")
    group.wait_for_lead()


if __name__ == "__main__":
    run_processes(partial(work, sys.argv[1]), "cpu", 2)
"""


def test_two_processes_average_share_and_agree_and_end_when_one_fails(tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(TWO_PROCESSES)
    command = [sys.executable, str(script), str(tmp_path)]
    ended = subprocess.run(
        command, check=False, timeout=110, env=_python_path(), capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "the lead gives up" in ended.stderr, "not that the other one lost it"
    for rank in range(2):
        result = json.loads((tmp_path / f"{rank}.json").read_text())
        assert result == {"gradient": [[1.5, 1.5]] * 3, "shared": [[0.0, 0.0]] * 4, "agreed": 10.0}


def _python_path() -> dict[str, str]:
    """The environment, with the folder that holds the package first."""
    root = str(Path(worldattention.core.__path__[0]).parent.parent)
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(scope="module")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every stage, once, at toy size."""
    folder = tmp_path_factory.mktemp("pocket")
    threads = torch.get_num_threads()
    train_pocket(TrainOptions(folder, stages=STAGES, device="cpu", toy=True))
    torch.set_num_threads(threads)
    return folder


@pytest.mark.timeout(300)
def test_every_stage_runs_at_toy_size(toy_folder: Path) -> None:
    state = json.loads((toy_folder / "training.json").read_text())
    assert state["done"] == list(STAGES)
    assert state["partial"] is None
    assert state["stages"]["refine"]["steps"] > 0
    weights = read_weights(toy_folder / "transformer")
    assert {"blocks.0.attn1.hsa.k_proj", "blocks.0.attn1.hsa.gate.weight"} <= weights.keys()
    assert weights["blocks.0.attn1.to_q.weight"].dtype == torch.float16
    assert weights["blocks.0.norm2.weight"].dtype == torch.float32
    config = json.loads((toy_folder / "transformer" / "config.json").read_text())
    assert config["_class_name"] == "CausalWanTransformer3DModel"
    assert (toy_folder / "autoencoder" / "config.json").is_file()
    assert (toy_folder / "reader.safetensors").is_file()
    assert len(state["stages"]["hsa"]["density"]) == 1


def test_every_loss_of_every_stage_is_in_the_curves(toy_folder: Path) -> None:
    lines = [json.loads(line) for line in (toy_folder / "loss.jsonl").read_text().splitlines()]
    stages = [line["stage"] for line in lines]
    assert list(dict.fromkeys(stages)) == [stage for stage in STAGES if stage != "text-pack"]
    for line in lines:
        assert line["loss"] >= 0
        assert 0 <= line["progress"] <= 1
        assert line["seconds"] >= 0
    state = json.loads((toy_folder / "training.json").read_text())
    assert all(record["loss"] for stage, record in state["stages"].items() if stage != "text-pack")
    assert 0 <= state["stages"]["adversarial"]["told_apart"] <= 1


def test_a_second_run_does_nothing_again(toy_folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in toy_folder.rglob("*.safetensors")}
    train_pocket(TrainOptions(toy_folder, stages=STAGES, device="cpu", toy=True))
    assert {path: path.stat().st_mtime_ns for path in toy_folder.rglob("*.safetensors")} == before


def test_an_interrupted_stage_goes_on_where_it_was(tmp_path: Path) -> None:
    state = {"done": ["text-pack"], "partial": {"stage": "memory", "progress": 0.625}, "stages": {}}
    (tmp_path / "training.json").write_text(json.dumps(state))
    options = TrainOptions(tmp_path, device="cpu", minutes={"memory": 1e6})
    session = Session(options, Group(0, 1, CPU))
    assert session.is_done("text-pack")
    assert not session.is_done("memory")
    for stage, share in (("memory", 0.625), ("refine", 0.0)):
        clock = session.clock(stage)
        assert clock.progress() == pytest.approx(share, abs=1e-6)
        clock.close()
    fresh = Session(replace(options, resume=False), Group(0, 1, CPU))
    assert not fresh.is_done("text-pack")


def test_shipped_weights_are_whole_and_small() -> None:
    folder = Path(worldattention.assets.__path__[0]) / "pocket"
    sizes = [path.stat().st_size for path in folder.rglob("*.safetensors")]
    assert max(sizes) < 16 << 20
    assert sum(sizes) < 46 << 20
    weights = read_weights(folder / "transformer")
    assert {f"blocks.{layer}.attn1.hsa.k_proj" for layer in range(8)} <= weights.keys()


def test_the_shipped_autoencoder_reconstructs_the_world() -> None:
    model = PocketAutoencoder().eval()
    folder = Path(worldattention.assets.__path__[0]) / "pocket" / "autoencoder"
    model.load_state_dict(load_weights(folder, "model"))
    clips = ClipSource(2, 2, 1, torch.Generator().manual_seed(int(torch.randint(1 << 30, ()))))
    quality = measure_quality(model, clips, 1)
    assert quality.psnr > 26
    assert 0.8 < quality.latent_std < 1.25


def test_a_stage_without_the_one_before_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="autoencoder"):
        train_pocket(TrainOptions(tmp_path, stages=("transformer",), device="cpu", toy=True))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stages": ("polish",)}, "polish"),
        ({"stages": ()}, "stage"),
        ({"minutes": {"memory": -1.0}}, "minutes"),
        ({"minutes": {"memory": float("nan")}}, "minutes"),
        ({"scale": 0.0}, "minutes"),
        ({"device": "tpu"}, "tpu"),
        ({"batch": -1}, "negative"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, change: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        train_pocket(TrainOptions(tmp_path / "x", **change))
    assert not (tmp_path / "x").exists()


def test_training_on_a_device_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="CUDA"):
        train_pocket(TrainOptions(tmp_path / "x", device="cuda"))
    assert not (tmp_path / "x").exists()
