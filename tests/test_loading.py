"""Loading a model folder: what is sound runs, what is broken is named in one plain sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.toy import HashEncoder, save_toy_folder
from worldattention.core.config import EngineConfig, with_choices
from worldattention.core.errors import UserError
from worldattention.core.loading import load_model, open_engine, pick_device
from worldattention.core.model_folder import check_model
from worldattention.core.models.text import TextEncoding


class Words(HashEncoder):
    """The toy text encoder at MiniLM's width."""

    def encode(self, text: str) -> TextEncoding:
        small = super().encode(text)
        tokens = torch.zeros(8, 384)
        tokens[:, : small.tokens.shape[1]] = small.tokens
        return TextEncoding(tokens, small.pooled, small.length)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_toy_folder(tmp_path_factory.mktemp("models") / "한글 폴더 ñ")


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "model")


def test_a_folder_runs_and_reports_its_stages(sound: Path) -> None:
    stages: list[tuple[str, float]] = []
    engine = open_engine(str(sound), "cpu", EngineConfig(), lambda *now: stages.append(now), Words())
    result = engine.step("a red ball")
    assert result.frames.shape == (12, 128, 256, 3)
    assert result.frames.std() > 0
    assert stages[-1] == ("ready", 1.0)
    assert [share for _, share in stages] == sorted(share for _, share in stages)
    second = open_engine(str(sound), "cpu", EngineConfig(), text_encoder=Words())
    assert np.array_equal(second.step("a red ball").frames, result.frames)


def test_a_korean_prompt_shows_what_its_english_sentence_shows(sound: Path) -> None:
    shown = {}
    for prompt in ("여자가 도시에서 연을 날린다", "A woman flies a kite in the city.", "a dragon"):
        engine = open_engine(str(sound), "cpu", EngineConfig(), text_encoder=Words())
        result = engine.step(prompt)
        shown[prompt] = result.frames
        assert result.telemetry.prompt == prompt, "the record keeps what was typed"
        engine.close()
    korean, english, other = shown.values()
    assert np.array_equal(korean, english)
    assert not np.array_equal(korean, other)


def test_no_hsa_parameters_means_dense_or_sparse_only(tmp_path: Path) -> None:
    plain = save_toy_folder(tmp_path / "plain", hsa=False)
    with pytest.raises(UserError, match="no HSA parameters"):
        open_engine(str(plain), "cpu", EngineConfig(), text_encoder=Words())
    dense = with_choices(EngineConfig(), attention="dense")
    assert (
        open_engine(str(plain), "cpu", dense, text_encoder=Words()).step("x").telemetry.attention == "dense"
    )


def _rewrite(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / "transformer" / "model.safetensors"
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path)

    return apply


def _config(**change: object) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / "transformer" / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    return apply


def _truncate(folder: Path) -> None:
    path = folder / "transformer" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def _flip_header(folder: Path) -> None:
    path = folder / "transformer" / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[20] ^= 0xFF
    path.write_bytes(data)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (_truncate, "damaged"),
    "header": (_flip_header, "damaged"),
    "empty": (lambda f: (f / "transformer" / "model.safetensors").write_bytes(b""), "damaged"),
    "lfs": (
        lambda f: (f / "transformer" / "model.safetensors").write_bytes(
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
        ),
        "git lfs pull",
    ),
    "no weights": (lambda f: (f / "transformer" / "model.safetensors").unlink(), "no .safetensors weights"),
    "missing": (_rewrite(lambda t: t.pop("blocks.0.attn1.to_q.weight")), "lack blocks.0.attn1.to_q.weight"),
    "unknown": (_rewrite(lambda t: t.update(extra=torch.zeros(1))), "have unknown extra"),
    "shape": (
        _rewrite(lambda t: t.update({"proj_out.bias": torch.zeros(3)})),
        "another shape of proj_out.bias",
    ),
    "nan": (_rewrite(lambda t: t["proj_out.bias"].fill_(torch.nan)), "not finite"),
    "half of the hsa": (_rewrite(lambda t: t.pop("blocks.1.attn1.hsa.k_proj")), "HSA"),
    "no config": (lambda f: (f / "transformer" / "config.json").unlink(), "is missing"),
    "broken config": (lambda f: (f / "transformer" / "config.json").write_text("{"), "cannot be read"),
    "list config": (lambda f: (f / "transformer" / "config.json").write_text("[]"), "no JSON object"),
    "other sizes": (_config(num_layers=3), "lack blocks.2"),
    "negative heads": (_config(num_attention_heads=-1), "describes no Wan transformer"),
    "no heads": (_config(num_attention_heads=0), "describes no Wan transformer"),
    "negative head": (_config(attention_head_dim=-1), "describes no Wan transformer"),
    "endless heads": (_config(num_attention_heads=10**9), "describes no Wan transformer"),
    "negative channels": (_config(in_channels=-1), "describes no Wan transformer"),
    "words for numbers": (_config(num_layers="three"), "describes no Wan transformer"),
    "foreign vae": (
        lambda f: (f / "autoencoder" / "config.json").write_text('{"_class_name": "AutoencoderKLWan"}'),
        "not supported",
    ),
    "odd vae": (
        lambda f: (f / "autoencoder" / "config.json").write_text(
            '{"_class_name": "PocketAutoencoder", "x": 1}'
        ),
        "unknown entry",
    ),
}


SHOWN_BY_FILES = {
    *("truncated", "header", "empty", "lfs", "no weights"),
    *("no config", "broken config", "list config", "foreign vae"),
}
"""Without reading a tensor: these are told before torch is loaded."""


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_folder_is_named_in_one_sentence(folder: Path, case: str) -> None:
    damage, words = BROKEN[case]
    damage(folder)
    with pytest.raises(UserError) as error:
        load_model(str(folder), "cpu", text_encoder=Words())
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    if case in SHOWN_BY_FILES:
        with pytest.raises(UserError) as early:
            check_model(str(folder))
        assert str(early.value) == str(error.value)
    else:
        check_model(str(folder))


@pytest.mark.parametrize("device", ["tpu9", "meta", "cuda", "cuda:7", "", "cpu:cpu"])
def test_a_device_that_is_not_there(device: str) -> None:
    if device.startswith("cuda") and torch.cuda.is_available():
        device = "cuda:99"
    with pytest.raises(UserError, match="device"):
        pick_device(device)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    for name in (str(tmp_path / "nothing"), str(tmp_path)):
        with pytest.raises(UserError, match="folder"):
            load_model(name, "cpu")
