"""Captured passes against plain ones: the logic around a CUDA graph, with a recorder that repeats the pass."""

from contextlib import nullcontext

import pytest
import torch

from tests.toy import toy_config, toy_model
from tests.wan_folder import tiny_vae
from worldattention.core.cuda_graph import graph_recorder
from worldattention.core.engine import Engine
from worldattention.core.models.wan_vae import SteadyDecoder, WanStreamingDecoder
from worldattention.core.passes import Passes


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors_of(part)


class Repeater:
    """Replays into the memory of the first run, as a graph does."""

    def __init__(self):
        self.recorded = self.replayed = 0

    def __call__(self, run):
        result = run()
        self.recorded += 1
        for memory in tensors_of(result):
            if memory.is_floating_point():
                memory.fill_(torch.nan)  # a capture runs nothing

        def replay():
            self.replayed += 1
            for memory, fresh in zip(tensors_of(result), tensors_of(run()), strict=True):
                memory.copy_(fresh)

        return result, replay


def captured_engine(recorder, **cache):
    engine = Engine(toy_model(), toy_config(**cache))
    engine._passes = Passes(engine.model, recorder)
    return engine


SMALL = {
    "budget_frames": 15,
    "recalled_pages": 1,
    "page_frames": 4,
    "chunk_frames": 8,
    "min_recent_frames": 3,
}
PROMPTS = ["a red ball"] * 6 + ["a blue kite"] * 2 + ["the red ball"] * 2


def test_a_world_of_captured_passes_is_the_same_world():
    recorder = Repeater()
    ours, plain = captured_engine(recorder, **SMALL), Engine(toy_model(), toy_config(**SMALL))
    for prompt in PROMPTS:
        got, expected = ours.step(prompt), plain.step(prompt)
        assert (got.frames == expected.frames).all()
        for name in ("gini", "threshold", "density"):
            assert (getattr(got.telemetry, name) == getattr(expected.telemetry, name)).all()
        assert got.telemetry.recall == expected.telemetry.recall
    assert any(span.kind == "page" for span in got.telemetry.window)
    assert recorder.recorded == 3  # denoising, the first pass of a recall, the context pass
    assert recorder.replayed >= 20


def test_another_window_or_mode_is_captured_anew():
    recorder = Repeater()
    engine = captured_engine(recorder, **SMALL)
    for _ in range(7):
        engine.step("a red ball")
    first = recorder.recorded
    fork = engine.fork()
    plain = Engine(toy_model(), toy_config(**SMALL))
    for _ in range(8):
        expected = plain.step("a red ball")
    assert (fork.step("a red ball").frames == expected.frames).all()
    assert recorder.recorded > first
    assert (engine.step("a red ball").frames == expected.frames).all()


def test_an_observer_is_never_bypassed():
    recorder, seen = Repeater(), []
    engine = captured_engine(recorder, **SMALL)
    engine.attention_observer = lambda layer, *_: seen.append(layer)
    for _ in range(7):
        engine.step("a red ball")
    assert recorder.recorded == 0
    assert len(seen) == 7 * 5 * 4


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_only_gpus_record(device):
    assert graph_recorder(torch.device(device)) is None


def test_a_steady_decoder_is_captured_and_shared():
    """Once a world's cache has its full shape, one captured step serves every world over the same weights."""
    vae, recorder = tiny_vae(), Repeater()
    steady = SteadyDecoder(vae, recorder, compiled=False)
    cpu = torch.device("cpu")
    ours = [WanStreamingDecoder(vae, cpu, torch.float32, steady) for _ in range(2)]
    plain = [WanStreamingDecoder(vae, cpu, torch.float32) for _ in range(2)]
    for block in range(4):
        for mine, its in zip(ours, plain, strict=True):
            latents = torch.randn(3, 16, 2, 3)
            assert torch.equal(mine.decode_block(latents), its.decode_block(latents)), block
    kept = ours[0].state()
    latents = torch.randn(3, 16, 2, 3)
    frames = ours[0].decode_block(latents)
    ours[1].decode_block(torch.randn(3, 16, 2, 3))
    ours[0].set_state(kept)
    assert torch.equal(ours[0].decode_block(latents), frames)
    assert recorder.recorded == 1


@pytest.mark.parametrize("fails", [False, True])
def test_only_a_steady_decoders_convolutions_are_timed_by_cudnn(monkeypatch, fails):
    """Their shape comes again in every block; what else the process runs keeps cuDNN's own choice."""
    vae, seen = tiny_vae(), []
    honest = vae.post_quant_conv.forward

    def watched(z):
        seen.append(torch.backends.cudnn.benchmark)
        if fails and seen[-1]:
            raise RuntimeError("out of memory")
        return honest(z)

    monkeypatch.setattr(vae.post_quant_conv, "forward", watched)
    steady = SteadyDecoder(vae, Repeater(), compiled=False)
    decoder = WanStreamingDecoder(vae, torch.device("cpu"), torch.float32, steady)
    decoder.decode_block(torch.randn(3, 16, 2, 3))
    with pytest.raises(RuntimeError) if fails else nullcontext():
        decoder.decode_block(torch.randn(3, 16, 2, 3))
    assert seen[:2] == [False, False]  # a world's first latent, then the others
    assert all(seen[2:])
    assert len(seen) > 2
    assert not torch.backends.cudnn.benchmark
