"""The engine on a GPU: equal to the CPU within what the types allow, repeatable, recalling from pinned memory.

One command on a machine with a GPU checks all: `pytest -m gpu`. They have not yet been run.
"""

import math

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tests.toy import HashEncoder
from worldattention.core.config import CacheConfig, EngineConfig, with_choices
from worldattention.core.engine import Engine
from worldattention.core.evaluation.made_up import MadeUpSize, made_up_model
from worldattention.core.loading import load_model
from worldattention.core.models.text import TextEncoding
from worldattention.core.models.wan_vae import WanStreamingDecoder
from worldattention.core.passes import Passes

pytestmark = pytest.mark.gpu

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
PROMPTS = (
    ["a red ball in a village"] * 14 + ["a kite on the beach"] * 14 + ["the red ball in the village"] * 3
)
SMALL = MadeUpSize(4, 4, 64, 512, 64, 16, 16, (1, 2, 2, 2), 128, 256)


class Words(HashEncoder):
    """The toy text encoder at MiniLM's width: the package of the real one need not be there."""

    def encode(self, text):
        small = super().encode(text)
        tokens = torch.zeros(8, 384)
        tokens[:, : small.tokens.shape[1]] = small.tokens
        return TextEncoding(tokens, small.pooled, small.length)


def pocket(device: str, **choices) -> Engine:
    model = load_model("pocket", device, text_encoder=Words())
    return Engine(model, with_choices(EngineConfig(seed=3), **choices))


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = np.square(one.astype(np.float64) - other.astype(np.float64)).mean()
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


@pytest.mark.parametrize("attention", ["dense", "hsa", "sparse", "linear"])
def test_the_first_blocks_equal_the_cpus(attention):
    ours, theirs = pocket("cuda", attention=attention), pocket("cpu", attention=attention)
    for _ in range(3):
        got, expected = ours.step(PROMPTS[0]), theirs.step(PROMPTS[0])
        assert psnr(got.frames, expected.frames) > 28
        np.testing.assert_allclose(got.telemetry.density, expected.telemetry.density, atol=0.1)
    ours.close()
    theirs.close()


def test_the_same_seed_gives_the_same_frames_twice():
    first, second = pocket("cuda"), pocket("cuda")
    for prompt in PROMPTS:
        assert (first.step(prompt).frames == second.step(prompt).frames).all()
    first.close()
    second.close()


def test_captured_passes_equal_plain_ones():
    captured, plain = pocket("cuda"), pocket("cuda")
    plain._passes = Passes(plain.model)
    for prompt in PROMPTS:
        assert (captured.step(prompt).frames == plain.step(prompt).frames).all()
    assert captured._passes._captured is not None
    assert captured._passes._captured._passes
    captured.close()
    plain.close()


def test_kernels_equal_torch_over_a_recall():
    ours = pocket("cuda")
    attention = ours.config.attention
    theirs = Engine(ours.model, EngineConfig(seed=3, attention=attention.__class__(kernels="torch")))
    for prompt in PROMPTS:
        got, expected = ours.step(prompt).telemetry, theirs.step(prompt).telemetry
        assert got.backend in ("triton", "gluon")
        assert expected.backend.startswith("torch")
    assert [span.kind for span in got.window].count("page") == 3
    ours.close()
    theirs.close()


def test_pages_come_back_from_pinned_memory(tmp_path):
    """The device tier holds nothing, so every recalled page is read from DRAM (and from disk in the second world)."""
    for dram in (1 << 30, 0):
        cache = CacheConfig(device_quota_bytes=0, dram_quota_bytes=dram, folder=tmp_path / str(dram))
        engine = Engine(load_model("pocket", "cuda", text_encoder=Words()), EngineConfig(seed=3, cache=cache))
        kept = pocket("cuda")
        for prompt in PROMPTS:
            result, expected = engine.step(prompt), kept.step(prompt)
            assert (result.frames == expected.frames).all()
        window = [span for span in result.telemetry.window if span.kind == "page"]
        assert len(window) == 3
        tiers = {page.page: page.tier for page in result.telemetry.pages}
        assert {tiers[span.page] for span in window} == {"dram" if dram else "disk"}
        engine.close()
        kept.close()


def test_a_cached_rollout_equals_the_cpus_at_wan_like_shapes():
    """Random weights, heads of 64, blocks of 128: three blocks on both devices in the type of each."""
    ours = Engine(made_up_model(SMALL, CUDA), EngineConfig())
    theirs = Engine(made_up_model(SMALL, CPU), EngineConfig())
    for mine, its in zip(
        ours.model.transformer.parameters(), theirs.model.transformer.parameters(), strict=True
    ):
        mine.data.copy_(its.data)
    for mine, its in zip(ours.model.hsa, theirs.model.hsa, strict=True):
        mine.load_state_dict(its.state_dict())
    for _ in range(3):
        got, expected = ours.step("a"), theirs.step("a")
        assert np.isfinite(got.telemetry.gini).all()
        np.testing.assert_allclose(got.telemetry.gini, expected.telemetry.gini, atol=0.05)
    ours.close()
    theirs.close()


def test_streaming_decode_equals_one_decode_on_the_gpu():
    from diffusers import AutoencoderKLWan

    with CUDA:
        vae = AutoencoderKLWan(base_dim=32).eval().requires_grad_(False)
    torch.nn.Module.to(vae, torch.bfloat16)
    latents = torch.randn(9, 16, 16, 24, device="cuda")
    decoder = WanStreamingDecoder(vae, CUDA, torch.bfloat16)
    frames = torch.cat([decoder.decode_block(part) for part in latents.split(3)])
    mean = torch.tensor(vae.config.latents_mean, device="cuda")[:, None, None, None]
    deviation = torch.tensor(vae.config.latents_std, device="cuda")[:, None, None, None]
    z = (latents.transpose(0, 1) * deviation + mean)[None].bfloat16()
    [whole] = vae.decode(z, return_dict=False)
    expected = (whole[0].float() * 127.5 + 127.5).permute(1, 2, 3, 0).cpu()
    assert (frames.float() - expected).abs().mean() < 1.0


def test_no_host_sync_within_a_denoising_pass():
    """A sync would show as a blocking copy or a stream synchronisation between the launches of a replayed pass."""
    engine = pocket("cuda")
    for _ in range(14):
        engine.step(PROMPTS[0])
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        engine.step(PROMPTS[0])
    syncs = [event for event in seen.events() if event.name in ("aten::item", "aten::_local_scalar_dense")]
    assert not syncs
    engine.close()
