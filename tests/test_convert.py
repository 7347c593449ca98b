"""`convert`: checkpoints as other programs save them, tiny and made up, against the diffusers class."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.wan_folder import HEAD_DIM, LAYERS, tiny_transformer
from worldattention.app.cli import main
from worldattention.core.errors import UserError
from worldattention.core.hsa import HSAParameters
from worldattention.core.loading import load_transformer
from worldattention.core.models import convert as module
from worldattention.core.models.convert import convert

CPU = torch.device("cpu")
# Written from DESIGN's table, the other way round than the product's.
TO_ORIGINAL = {
    "condition_embedder.text_embedder.linear_1": "text_embedding.0",
    "condition_embedder.text_embedder.linear_2": "text_embedding.2",
    "condition_embedder.time_embedder.linear_1": "time_embedding.0",
    "condition_embedder.time_embedder.linear_2": "time_embedding.2",
    "condition_embedder.time_proj": "time_projection.1",
    "attn1.to_out.0": "self_attn.o",
    "attn2.to_out.0": "cross_attn.o",
    "attn1.to_": "self_attn.",
    "attn2.to_": "cross_attn.",
    "attn1.hsa.k_proj": "self_attn.hsa_attention.k_proj_mat",
    "attn1.hsa.v_proj": "self_attn.hsa_attention.v_proj_mat",
    "attn1.hsa.gate": "self_attn.hsa_attention.gate_lin",
    "attn1.": "self_attn.",
    "attn2.": "cross_attn.",
    "norm2": "norm3",
    "ffn.net.0.proj": "ffn.0",
    "ffn.net.2": "ffn.2",
    "proj_out": "head.head",
}


def original(name: str) -> str:
    if name == "scale_shift_table":
        return "head.modulation"
    if name.endswith(".scale_shift_table"):
        return name.replace("scale_shift_table", "modulation")
    for new, old in TO_ORIGINAL.items():
        if new in name:
            return name.replace(new, old)
    return name


@pytest.fixture(scope="module")
def weights():
    return {name: value.clone() for name, value in tiny_transformer().state_dict().items()}


def originals(weights, prefix=""):
    return {prefix + original(name): value for name, value in weights.items()} | {
        prefix + "freqs": torch.zeros(3)
    }


CONTAINERS = {
    "self-forcing": lambda w: {"generator_ema": originals(w, "model."), "generator": {"model.x": torch.zeros(1)}},
    "self-forcing, fsdp": lambda w: {
        "generator": {f"model._fsdp_wrapped_module.{k}": v for k, v in originals(w).items()}
    },
    "causvid": lambda w: {"generator": originals(w, "model."), "step": 4},
    "longlive": lambda w: {"model": originals(w)},
    "plain": originals,
    "diffusers names": lambda w: {"state_dict": w},
}  # fmt: skip


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_checkpoint_becomes_the_diffusers_class(kind, weights, tmp_path):
    torch.save(CONTAINERS[kind](weights), tmp_path / "in.pt")
    done = convert(tmp_path / "in.pt", tmp_path / "out", head_dim=HEAD_DIM)
    assert (done.layers, done.merged, done.hsa) == (LAYERS, 0, False)
    written = load_file(tmp_path / "out/transformer/diffusion_pytorch_model.safetensors")
    assert written.keys() == weights.keys()
    assert all(torch.equal(written[name], value) for name, value in weights.items())
    config = json.loads((tmp_path / "out/transformer/config.json").read_text())
    expected = dict(tiny_transformer().config)
    assert {key: config[key] for key in config if key != "_class_name"}.items() <= {
        key: list(value) if isinstance(value, tuple) else value for key, value in expected.items()
    }.items()
    transformer, hsa, _ = load_transformer(tmp_path / "out/transformer", CPU, torch.float32)
    assert hsa == (None,) * LAYERS
    assert torch.equal(transformer.proj_out.weight, weights["proj_out.weight"])


def test_comfyui_safetensors(weights, tmp_path):
    save_file(originals(weights, "model.diffusion_model."), tmp_path / "in.safetensors")
    convert(tmp_path / "in.safetensors", tmp_path / "out", head_dim=HEAD_DIM)
    written = load_file(tmp_path / "out/transformer/diffusion_pytorch_model.safetensors")
    assert all(torch.equal(written[name], value) for name, value in weights.items())


def test_the_authors_hsa_names(weights, tmp_path):
    layers = [HSAParameters(70, HEAD_DIM) for _ in range(LAYERS)]
    full = dict(weights)
    for index, layer in enumerate(layers):
        for name, value in layer.state_dict().items():
            full[f"blocks.{index}.attn1.hsa.{name}"] = torch.randn_like(value)
    saved = originals(full, "model.")
    name = "model.blocks.1.self_attn.hsa_attention.k_proj_mat"
    saved[name] = saved[name].T[None].contiguous()  # either way round
    torch.save({"generator": saved}, tmp_path / "in.pt")
    assert convert(tmp_path / "in.pt", tmp_path / "out", head_dim=HEAD_DIM).hsa
    _, hsa, _ = load_transformer(tmp_path / "out/transformer", CPU, torch.float32)
    for index, layer in enumerate(hsa):
        for name, value in layer.state_dict().items():
            assert torch.equal(value, full[f"blocks.{index}.attn1.hsa.{name}"])


@pytest.mark.parametrize("part", ["weight", "default.weight"])
def test_a_lora_is_merged(weights, tmp_path, part):
    torch.save({"generator": originals(weights, "model.")}, tmp_path / "in.pt")
    lora, expected = {}, dict(weights)
    for name, value in weights.items():
        if re.fullmatch(r"blocks\.\d+\.(attn\d\.to_\w+(\.0)?|ffn.net.*)\.weight", name):
            up, down = torch.randn(value.shape[0], 4), torch.randn(4, value.shape[1])
            base = "base_model.model." + original(name).removesuffix(".weight")
            lora |= {f"{base}.lora_A.{part}": down, f"{base}.lora_B.{part}": up}
            expected[name] = value + up @ down
    torch.save({"generator_lora": lora}, tmp_path / "lora.pt")
    done = convert(tmp_path / "in.pt", tmp_path / "out", tmp_path / "lora.pt", HEAD_DIM)
    assert done.merged == LAYERS * 10
    written = load_file(tmp_path / "out/transformer/diffusion_pytorch_model.safetensors")
    for name, value in expected.items():
        torch.testing.assert_close(written[name], value)


class Code:
    def __reduce__(self):
        return print, ("run",)


REFUSED = {
    "code": (lambda w: {"generator": Code()}, "never run"),
    "another architecture": (lambda w: {"double_blocks.0.qkv.weight": torch.zeros(2, 2)}, "another architecture"),
    "no tensors": (lambda w: {"epoch": 3}, "no tensors"),
    "a list": (lambda w: [1, 2], "table of tensors"),
    "missing": (
        lambda w: {k: v for k, v in originals(w).items() if "cross_attn.k." not in k}, r"attn2.to_k.bias \(3 of them\)"
    ),
    "surplus": (lambda w: {**originals(w), "extra.weight": torch.zeros(1)}, "unknown extra.weight"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_checkpoint_is_named(kind, weights, tmp_path, capsys):
    content, words = REFUSED[kind]
    torch.save(content(weights), tmp_path / "in.pt")
    with pytest.raises(UserError, match=words):
        convert(tmp_path / "in.pt", tmp_path / "out", head_dim=HEAD_DIM)
    assert not list(tmp_path.glob("out/**/*.safetensors"))
    assert "run" not in capsys.readouterr().out


@pytest.mark.parametrize("data", [b"", b"not a checkpoint", b"PK\x03\x04 cut"])
def test_broken_files_are_named(data, tmp_path):
    (tmp_path / "in.pt").write_bytes(data)
    with pytest.raises(UserError, match=re.escape(str(tmp_path / "in.pt"))):
        convert(tmp_path / "in.pt", tmp_path / "out")
    with pytest.raises(UserError, match="no file"):
        convert(tmp_path / "nothing.pt", tmp_path / "out")


def test_a_lora_of_another_model_is_refused(weights, tmp_path):
    torch.save(originals(weights), tmp_path / "in.pt")
    torch.save(
        {
            "blocks.9.ffn.0.lora_A.weight": torch.zeros(2, 2),
            "blocks.9.ffn.0.lora_B.weight": torch.zeros(2, 2),
        },
        tmp_path / "lora.pt",
    )
    with pytest.raises(UserError, match="does not fit"):
        convert(tmp_path / "in.pt", tmp_path / "out", tmp_path / "lora.pt", HEAD_DIM)


def test_the_command_says_what_is_left_to_do(weights, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(module, "HEAD_DIM", HEAD_DIM)
    monkeypatch.setattr(module.convert, "__defaults__", (None, HEAD_DIM))
    torch.save({"generator": originals(weights, "model.")}, tmp_path / "in.pt")
    assert main(["convert", str(tmp_path / "in.pt"), "-o", str(tmp_path / "out"), "--json"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "vae/, text_encoder/, tokenizer/" in out[1]
    assert json.loads(out[-1])["layers"] == LAYERS
    assert main(["convert", str(tmp_path / "in.pt"), "-o", str(tmp_path / "out")]) == 1
    assert "already" in capsys.readouterr().err
