"""What a GPU compiles can be traced as whole graphs, and one compilation serves all layers; no compiler is run here."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounter

from tests.wan_folder import tiny_vae
from worldattention.core.evaluation.made_up import SIZES, made_up_model
from worldattention.core.models.transformer import after_attention, before_attention
from worldattention.core.models.wan_vae import WanStreamingDecoder, decode_step

CPU = torch.device("cpu")


@torch.inference_mode()
def test_one_compilation_serves_all_layers():
    model = made_up_model(replace(SIZES["toy"], layers=10), CPU)
    transformer, counters = model.transformer, [CompileCounter(), CompileCounter()]
    before, after = (
        torch.compile(part, backend=counter, fullgraph=True, dynamic=False)
        for part, counter in zip((before_attention, after_attention), counters, strict=True)
    )
    modulation = transformer.time_embedding(torch.tensor([[500.0]])).blocks
    text = transformer.text_keys_values(torch.randn(1, 8, 16))
    hidden = torch.randn(1, 24, 32).to(model.dtype)
    for layer, block in enumerate(transformer.blocks):
        attended = before(block, hidden, modulation[layer], 1e-6)
        assert all(map(torch.equal, attended, before_attention(block, hidden, modulation[layer], 1e-6)))
        rest = (block, hidden, attended[2], modulation[layer], text[layer], None, 1e-6)
        assert torch.equal(after(*rest), after_attention(*rest))
    assert [counter.frame_count for counter in counters] == [1, 1]


@pytest.mark.endurance
@torch.inference_mode()
def test_the_decoders_steady_step_is_one_graph():
    vae, counter = tiny_vae(), CompileCounter()
    decoder = WanStreamingDecoder(vae, CPU, torch.float32)
    decoder.decode_block(torch.randn(3, 16, 2, 3))
    compiled = torch.compile(partial(decode_step, vae), backend=counter, dynamic=False, fullgraph=True)
    ours, theirs = list(decoder._cache), list(decoder._cache)
    for _ in range(3):
        z = torch.randn(1, 16, 3, 2, 3)
        assert torch.equal(compiled(z, ours), decode_step(vae, z, theirs))
        assert all(
            mine is its is None or torch.equal(mine, its) for mine, its in zip(ours, theirs, strict=True)
        )
    assert counter.frame_count <= 2
