"""`--model DIR` with a diffusers folder of Wan2.1-T2V's layout: every part is loaded and used."""

import json
import shutil

import pytest
import torch
from diffusers import AutoencoderKLWan
from safetensors.torch import load_file, save_file

from tests.wan_folder import HEIGHT, WIDTH, save_wan_folder, tiny_vae
from worldattention.core.config import EngineConfig, with_choices
from worldattention.core.errors import UserError
from worldattention.core.loading import load_model, open_engine
from worldattention.core.models.umt5 import UMT5Encoder, cleaned
from worldattention.core.models.wan_vae import WanStreamingDecoder, channels_last

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return save_wan_folder(tmp_path_factory.mktemp("models") / "Wan 1.3B")


@pytest.fixture
def folder(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "model")


def test_a_world_runs_and_remembers(sound):
    engine = open_engine(str(sound), "cpu", EngineConfig())
    first = engine.step("a red ball in the village")
    assert first.frames.shape == (9, HEIGHT, WIDTH, 3)
    second = engine.step("a red ball in the village")
    assert second.frames.shape == (12, HEIGHT, WIDTH, 3)
    assert second.telemetry.first_frame == 9
    assert second.frames.std() > 0
    other = open_engine(str(sound), "cpu", EngineConfig())
    assert (other.step("a red ball in the village").frames == first.frames).all()
    assert (other.step("a blue kite on the beach").frames != second.frames).any()
    engine.close()
    other.close()


def test_without_hsa_parameters_sparse_must_be_asked_for(tmp_path):
    plain = save_wan_folder(tmp_path / "plain", hsa=False)
    with pytest.raises(UserError, match="no HSA parameters"):
        open_engine(str(plain), "cpu", EngineConfig())
    engine = open_engine(str(plain), "cpu", with_choices(EngineConfig(), attention="sparse"))
    assert engine.step("rain").telemetry.attention == "sparse"
    engine.close()


@torch.no_grad()
@pytest.mark.parametrize("parts", [(3, 3, 2), (1, 4, 3), (8,), (2, 1, 5)])
@pytest.mark.parametrize("layout", ["as loaded", "channels last"])
def test_streaming_equals_a_whole_decode(parts, layout):
    """case: the causal cache across blocks, several latents at once; with weights as they lie on a GPU, too."""
    vae = tiny_vae()
    if layout == "channels last":
        channels_last(vae.decoder)
        assert vae.decoder.conv_in.weight.is_contiguous(memory_format=torch.channels_last_3d)
    latents = torch.randn(8, 16, 4, 6)
    decoder = WanStreamingDecoder(vae, CPU, torch.float32)
    frames = torch.cat([decoder.decode_block(part) for part in latents.split(parts)])
    mean = torch.tensor(vae.config.latents_mean)[:, None, None, None]
    deviation = torch.tensor(vae.config.latents_std)[:, None, None, None]
    [whole] = vae.decode((latents.transpose(0, 1) * deviation + mean)[None], return_dict=False)
    expected = (whole[0].double() * 127.5 + 127.5).permute(1, 2, 3, 0)
    assert frames.shape == expected.shape == (29, 32, 48, 3)
    assert (frames - expected).abs().max() <= 0.51


def test_a_decoders_state_can_be_kept_and_put_back():
    decoder = WanStreamingDecoder(tiny_vae(), CPU, torch.float32)
    first, second, other = torch.randn(3, 3, 16, 2, 3)
    start = decoder.state()
    opening = decoder.decode_block(first)
    kept = decoder.state()
    frames = decoder.decode_block(second)
    decoder.decode_block(other)
    decoder.set_state(kept)
    assert torch.equal(decoder.decode_block(second), frames)
    decoder.set_state(start)
    assert torch.equal(decoder.decode_block(first), opening)
    # After the world's very first latent, parts of the cache are still empty.
    decoder.reset()
    decoder.decode_block(first[:1])
    kept = decoder.state()
    frames = decoder.decode_block(first[1:])
    decoder.set_state(kept)
    assert torch.equal(decoder.decode_block(first[1:]), frames)


def test_text_is_encoded_as_diffusers_does(sound):
    from transformers import UMT5EncoderModel

    text = "a  red&amp;amp; ball\tin the village"
    assert cleaned(text) == "a red& ball in the village"
    got = UMT5Encoder(sound, CPU, torch.float32).encode(text)
    ids = [3, 4, 2, 6, 9, 10, 11, 1]
    assert got.length == len(ids)
    model = UMT5EncoderModel.from_pretrained(sound / "text_encoder").eval()
    padded = torch.tensor([ids + [0] * (512 - len(ids))])
    with torch.no_grad():
        hidden = model(padded, (torch.arange(512) < len(ids)).long()[None]).last_hidden_state[0]
    torch.testing.assert_close(got.tokens[: len(ids)], hidden[: len(ids)], atol=1e-5, rtol=1e-4)
    assert (got.tokens[len(ids) :] == 0).all()
    mean = hidden[: len(ids)].mean(0)
    torch.testing.assert_close(got.pooled, mean / mean.norm(), atol=1e-5, rtol=1e-4)


def rewrite(part, change):
    def apply(folder):
        path = next((folder / part).glob("*.safetensors"))
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path)

    return apply


def configure(part, **change):
    def apply(folder):
        path = folder / part / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    return apply


def weights(part, data, name=None):
    def apply(folder):
        path = next((folder / part).glob("*.safetensors"))
        path.unlink()
        (path.parent / (name or path.name)).write_bytes(data)

    return apply


def pickled(folder):
    path = next((folder / "vae").glob("*.safetensors"))
    path.unlink()
    torch.save({"a": torch.zeros(1)}, path)


def original_names(tensors):
    for name in list(tensors):
        tensors[name.replace("attn1.to_q", "self_attn.q")] = tensors.pop(name)


BROKEN = {
    "another transformer": (
        configure("transformer", _class_name="FluxTransformer2DModel"), ["Flux", "WanTransformer3DModel"],
    ),
    "another vae": (configure("vae", _class_name="AutoencoderKL"), ["'AutoencoderKL'", "AutoencoderKLWan"]),
    "another text encoder": (configure("text_encoder", architectures=["CLIPTextModel"]), ["CLIPTextModel", "UMT5"]),
    "image to video": (configure("transformer", in_channels=36), ["another shape of patch_embedding.weight"]),
    "missing group": (
        rewrite("transformer", lambda t: [t.pop(f"blocks.{n}.attn1.to_q.weight") for n in range(3)]),
        ["lack blocks.*.attn1.to_q.weight (3 of them)"],
    ),
    "surplus": (rewrite("vae", lambda t: t.update(extra=torch.zeros(1))), ["autoencoder", "unknown extra"]),
    "original names": (rewrite("transformer", original_names), ["original", "worldattention convert"]),
    "nan": (
        rewrite("vae", lambda t: t["decoder.conv_in.bias"].fill_(torch.nan)), ["decoder.conv_in.bias", "not finite"],
    ),
    "pickle": (weights("transformer", b"x", "model.pt"), ["model.pt", "pickle", "safetensors", "convert"]),
    "hidden pickle": (pickled, ["pickle", "safetensors are expected"]),
    "lfs": (weights("vae", b"version https://git-lfs.github.com/spec/v1\n"), ["Git LFS pointer"]),
    "truncated": (weights("vae", b"\x10\0\0\0\0\0\0\0{"), ["damaged"]),
    "no tokenizer": (lambda f: (f / "tokenizer" / "tokenizer.json").unlink(), ["tokenizer.json", "missing"]),
    "broken tokenizer": (lambda f: (f / "tokenizer" / "tokenizer.json").write_text("{}"), ["no tokenizer"]),
    "odd size": (lambda f: (f / "world.json").write_text('{"height": 33}'), ["multiples of 16", "33"]),
    "other size": (lambda f: (f / "world.json").write_text('{"height": 64}'), ["HSA parameters", "8 tokens", "208"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_case_28_a_broken_folder_is_named_in_one_sentence(folder, case):
    damage, words = BROKEN[case]
    damage(folder)
    with pytest.raises(UserError) as error:
        load_model(str(folder), "cpu")
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


def test_a_broken_text_encoder_is_named_when_it_is_needed(folder):
    rewrite("text_encoder", lambda t: t.pop("encoder.final_layer_norm.weight"))(folder)
    encoder = UMT5Encoder(folder, CPU, torch.float32)
    with pytest.raises(UserError, match=r"text encoder weights lack encoder.final_layer_norm.weight"):
        encoder.encode("rain")


def test_the_contract_with_diffusers_autoencoder():
    vae = AutoencoderKLWan(base_dim=8, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1)
    vae.clear_cache()
    assert len(vae._feat_map) == vae._cached_conv_counts["decoder"]
