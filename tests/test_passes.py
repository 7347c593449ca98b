"""Passes that end early: what a recall asks with, and a finished block's keys and values, need no whole pass."""

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


def attention_of(engine, observer=None):
    plan, _ = engine.memory.install(engine.memory.recalled)
    return engine.memory.attention(plan, engine.config.attention, observer)


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


@pytest.mark.parametrize("observer", [None, lambda *_: None])
def test_clean_keys_and_values_are_those_of_a_whole_pass(monkeypatch, observer):
    model = toy_model(dtype=torch.bfloat16)
    engine = Engine(model, toy_config())
    try:
        engine.step("a red ball")
        passes, spoken = Passes(model), SpokenPrompts(model).get("the sea")
        latents = torch.randn(1, *model.geometry.latent_shape)
        with torch.inference_mode():
            whole = attention_of(engine)
            whole.start_clean()
            passes.predict(latents, 0.0, spoken, whole)
            expected = whole.take_clean()
            ran = layers_run(monkeypatch)
            got = passes.clean(attention_of(engine, observer), latents, spoken)
    finally:
        engine.close()
    assert all(torch.equal(mine, other) for mine, other in zip(got, expected, strict=True))
    assert ran == list(range(LAYERS if observer else LAYERS - 1)), "an observer sees every layer"


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
        assert (
            len(ran) == last + 5 * LAYERS - 1
        )  # the question, four steps, the context but for its last layer
        assert last < LAYERS
    finally:
        engine.close()
