"""The engine on a GPU: equal to the CPU within what the types allow, repeatable, recalling from pinned memory.

One command on a machine with a GPU checks all: `pytest -m gpu`. Loading and compiling take longest, so all tests of
a process share one model, and most compare with one world that is made once.
"""

import copy
import gc
import math
import statistics
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from diffusers import AutoencoderKLWan

from tests.toy import HashEncoder
from worldattention.core.config import CacheConfig, EngineConfig, with_choices
from worldattention.core.engine import Engine
from worldattention.core.evaluation import made_up
from worldattention.core.evaluation.bench_playback import Play, benchmark_playback
from worldattention.core.evaluation.made_up import MadeUpSize, made_up_model
from worldattention.core.hkv.page_lock import PageLock
from worldattention.core.loading import load_model
from worldattention.core.memory import kv_shape
from worldattention.core.models.fp8 import with_fp8_linears
from worldattention.core.models.text import TextEncoding
from worldattention.core.models.wan_vae import WanStreamingDecoder, ready_to_decode, steady_decoder
from worldattention.core.passes import Passes
from worldattention.core.sampler import Beginning

pytestmark = pytest.mark.gpu

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
PROMPTS = ["a red ball in a village"] * 12 + ["a kite on the beach"] * 4 + ["the red ball in the village"] * 3
"""The window is full, and captured, from the twelfth block on; the switches behind it recall."""
SMALL = MadeUpSize(4, 4, 64, 512, 64, 16, 16, (1, 2, 2, 2), 128, 256)


class Words(HashEncoder):
    """The toy text encoder at MiniLM's width: the package of the real one need not be there."""

    def encode(self, text):
        small = super().encode(text)
        tokens = torch.zeros(8, 384)
        tokens[:, : small.tokens.shape[1]] = small.tokens
        return TextEncoding(tokens, small.pooled, small.length)


@pytest.fixture(scope="module")
def model():
    return load_model("pocket", "cuda", text_encoder=Words())


@pytest.fixture
def make(model):
    """Engines over the one model, closed at the end."""
    engines = []

    def engine(config=None, **choices):
        engines.append(Engine(model, with_choices(config or EngineConfig(seed=3), **choices)))
        return engines[-1]

    yield engine
    for each in engines:
        each.close()


@pytest.fixture(scope="module")
def world(model):
    """The results of `PROMPTS` as a world makes them by default."""
    with closing(Engine(model, EngineConfig(seed=3))) as engine:
        results = [engine.step(prompt) for prompt in PROMPTS]
        assert engine._passes._captured._passes
    return results


@pytest.fixture
def plain_decoder(monkeypatch):
    """Made-up models decode without a compiled step, which takes longer to compile than a test may take."""
    monkeypatch.setattr(made_up, "steady_decoder", lambda vae, device: None)


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = np.square(one.astype(np.float64) - other.astype(np.float64)).mean()
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


def pages_of(result):
    return [span.page for span in result.telemetry.window if span.kind == "page"]


def begun_alone(model):
    """A model whose first block has nothing before it: what rounding changes is not carried on through a prelude."""
    return replace(model, beginning=Beginning())


@pytest.mark.parametrize("attention", ["dense", "hsa", "sparse", "linear"])
def test_the_first_blocks_equal_the_cpus(model, attention):
    config = with_choices(EngineConfig(seed=3), attention=attention)
    ours = Engine(begun_alone(model), config)
    theirs = Engine(begun_alone(load_model("pocket", "cpu", text_encoder=Words())), config)
    with closing(ours), closing(theirs):
        for floor in (28, 24):  # what differs in the first block is what the second one sees
            got, expected = ours.step(PROMPTS[0]), theirs.step(PROMPTS[0])
            assert psnr(got.frames, expected.frames) > floor
            np.testing.assert_allclose(got.telemetry.density, expected.telemetry.density, atol=0.1)


def test_the_same_seed_gives_the_same_frames_twice(make, world):
    engine = make()
    for prompt, before in zip(PROMPTS, world, strict=True):
        assert (engine.step(prompt).frames == before.frames).all()


def test_a_restarted_world_replays_what_was_captured(make, world):
    engine = make()
    for prompt in PROMPTS[:13]:
        engine.step(prompt)
    captured = dict(engine._passes._captured._passes)
    allocated = torch.cuda.memory_allocated()
    engine.reset()
    for prompt, before in zip(PROMPTS, world, strict=True):
        assert (engine.step(prompt).frames == before.frames).all()
    assert captured.items() <= engine._passes._captured._passes.items()
    assert torch.cuda.memory_allocated() < allocated + (64 << 20)


def test_captured_passes_equal_plain_ones(make, world):
    plain = make()
    plain._passes = Passes(plain.model)
    for prompt, captured in zip(PROMPTS, world, strict=True):
        assert (plain.step(prompt).frames == captured.frames).all()


def test_kernels_equal_torch_over_a_recall(make, world):
    config = EngineConfig(seed=3)
    theirs = make(replace(config, attention=replace(config.attention, kernels="torch")))
    for prompt, got in zip(PROMPTS, world, strict=True):
        expected = theirs.step(prompt)
        assert got.telemetry.backend in ("triton", "gluon")
        assert expected.telemetry.backend.startswith("torch")
        if got is world[0]:
            assert psnr(got.frames, expected.frames) > 28
    assert len(pages_of(got)) == len(pages_of(expected)) == 3


@pytest.mark.parametrize(("tier", "device_pages"), [("dram", 0), ("disk", 0), ("device", 6)])
def test_pages_come_back_from_pinned_memory_and_from_disk(make, world, tmp_path, tier, device_pages):
    """What the device does not hold is read from below; where it holds few, recalled pages go up and others down."""
    page = 8 * kv_shape(make().model).frame_bytes()
    cache = CacheConfig(
        device_quota_bytes=device_pages * page,
        dram_quota_bytes=0 if tier == "disk" else 1 << 30,
        folder=tmp_path,
    )
    engine = make(EngineConfig(seed=3, cache=cache))
    for prompt, expected in zip(PROMPTS, world, strict=True):
        result = engine.step(prompt)
        assert (result.frames == expected.frames).all()
    tiers = {record.page: record.tier for record in result.telemetry.pages}
    assert {tiers[number] for number in pages_of(result)} == {tier}
    assert len(pages_of(result)) == 3


def test_locked_memory_is_registered_and_given_back():
    for _ in range(2):
        lock = PageLock(3 << 20)
        assert lock._registered
        assert lock.memory.is_pinned()
        there = torch.arange(3 << 20, device="cuda").to(torch.uint8)
        lock.memory.copy_(there, non_blocking=True)
        torch.cuda.synchronize()
        assert torch.equal(lock.memory, there.cpu())
        lock.free()


def test_a_closed_engine_leaves_no_memory_behind(model):
    def life():
        with closing(Engine(model, EngineConfig(seed=3))) as engine:
            for prompt in PROMPTS[:13]:
                engine.step(prompt)
            return torch.cuda.memory_allocated(), engine.memory.buffer_bytes

    life()  # what is made once, for all engines, is there now
    gc.collect()
    before = torch.cuda.memory_allocated()
    alive, buffers = life()
    assert alive >= before + buffers
    assert torch.cuda.memory_allocated() < before + buffers / 4


def test_stages_of_a_block_are_timed_on_the_gpu(world):
    for result in world[-2:]:
        stages = dict(result.telemetry.stage_ms)
        total = stages.pop("total")
        assert sum(stages.values()) <= total * 1.02 + 1
        assert stages["denoise"] > stages["context"] > 0
        assert stages["decode"] > 0


def test_no_host_sync_within_a_pass(make, monkeypatch):
    """Neither in passes over a growing window, which run one by one, nor in those that are captured."""
    engine, predict, modes = make(), Passes.predict, []

    def strict(self, *arguments):
        torch.cuda.set_sync_debug_mode("error" if strict.on else "default")
        try:
            return predict(self, *arguments)
        finally:
            modes.append(torch.cuda.get_sync_debug_mode())
            torch.cuda.set_sync_debug_mode("default")

    strict.on = False
    monkeypatch.setattr(Passes, "predict", strict)
    for block in range(14):
        strict.on = block in (
            2,
            3,
            13,
        )  # not where something is compiled, captured or known for the first time
        engine.step(PROMPTS[0])
    assert 2 in modes


def test_fp8_linears_stay_near(model):
    """Heads and feed-forward in fp8 instead of bf16: another world in the details, not another picture. What no
    prompt says may be decided otherwise in one world, not in most."""
    found = []
    for seed in (3, 4, 5):
        config, alone = EngineConfig(seed=seed), begun_alone(model)
        with (
            closing(Engine(alone, config)) as engine,
            closing(Engine(with_fp8_linears(alone), config)) as coarse,
        ):
            found.append(psnr(coarse.step(PROMPTS[0]).frames, engine.step(PROMPTS[0]).frames))
    assert statistics.median(found) > 18, found


@pytest.mark.parametrize("source", ["dram", "disk"])
def test_a_long_past_plays_at_toy_size(plain_decoder, tmp_path, source):
    config = EngineConfig()
    config = replace(config, cache=replace(config.cache, folder=tmp_path))
    play = Play(seconds=20, scene_blocks=2, scenes=2, source=source, pace=False)
    record = benchmark_playback(made_up_model(SMALL, CUDA), config, play)
    assert record["device_memory"]["most"] - record["device_memory"]["least"] < 64 << 20
    assert record["slowdown"]["still_ms"] > 0
    assert any(source in row["recalled"].values() for row in record["blocks"])


def test_a_cached_rollout_equals_the_cpus_at_wan_like_shapes(plain_decoder):
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


def test_a_compiled_decoder_equals_the_plain_one():
    """As far as the type allows: bf16 is told from fp32, not from another bf16 that rounds elsewhere."""
    with CUDA:
        vae = AutoencoderKLWan(base_dim=16, dim_mult=[1, 2, 2, 2])
    exact = WanStreamingDecoder(ready_to_decode(copy.deepcopy(vae), CUDA, torch.float32), CUDA, torch.float32)
    ready = ready_to_decode(vae, CUDA, torch.bfloat16)
    compiled = WanStreamingDecoder(ready, CUDA, torch.bfloat16, steady_decoder(ready, CUDA))
    plain = WanStreamingDecoder(ready, CUDA, torch.bfloat16)
    for _ in range(4):
        latents = torch.randn(3, 16, 8, 16)
        true, got, expected = (decoder.decode_block(latents).float() for decoder in (exact, compiled, plain))
        assert (got - true).abs().mean() < 2 * (expected - true).abs().mean() + 0.1
