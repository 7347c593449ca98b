"""What a recall asks with: queries of the first step, and no more of that pass than they need."""

from dataclasses import replace

import pytest
import torch

from tests.toy import LAYERS, toy_config, toy_engine, toy_model
from worldattention.core.engine import Engine
from worldattention.core.memory import scoring_layers
from worldattention.core.passes import Passes
from worldattention.core.spoken import SpokenPrompts
from worldattention.core.window_attention import WindowAttention


def layers_run(monkeypatch):
    """The layers whose attention is computed, one after the other."""
    ran, attend = [], WindowAttention.__call__

    def counted(self, layer, q, k, v):
        ran.append(layer)
        return attend(self, layer, q, k, v)

    monkeypatch.setattr(WindowAttention, "__call__", counted)
    return ran


def attention_of(engine):
    plan, _ = engine.memory.install(engine.memory.recalled)
    return engine.memory.attention(plan, engine.config.attention, None)


@pytest.mark.parametrize("layers", [(0,), (1, 2, 3), (1, 3), (2,)])
def test_queries_are_those_of_a_whole_pass(monkeypatch, layers):
    model = toy_model(dtype=torch.bfloat16)
    engine = Engine(model, toy_config())
    try:
        engine.step("a red ball")
        passes, spoken = Passes(model), SpokenPrompts(model).get("the sea")
        latents = torch.randn(1, *model.geometry.latent_shape)
        with torch.inference_mode():
            whole = attention_of(engine)
            whole.start_query(layers)
            passes.predict(latents, 937.5, spoken, whole)
            expected = whole.take_query()
            ran = layers_run(monkeypatch)
            got = passes.query(latents, 937.5, spoken, attention_of(engine), layers)
    finally:
        engine.close()
    assert torch.equal(got, expected)
    assert ran == list(range(max(layers)))


@pytest.mark.parametrize("preset", ["playground", "authors"])
def test_a_switch_runs_no_layer_for_nothing(monkeypatch, preset):
    engine = toy_engine()
    try:
        if preset == "authors":
            engine.configure(replace(engine.config, preset=preset))
        for _ in range(4):
            engine.step("a red ball")
        ran = layers_run(monkeypatch)
        result = engine.step("the sea")
        assert result.telemetry.recall is not None
        last = max(scoring_layers(engine.model, engine.config))
        assert len(ran) == last + 5 * LAYERS  # the question, four steps, the context
        assert last < LAYERS
    finally:
        engine.close()
