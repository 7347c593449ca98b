"""The part of a page's score that no prompt changes is taken away: the model's mean query over all prompts."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from tests.toy import HEAD_DIM, HEADS, toy_engine, toy_model
from worldattention.core import loading
from worldattention.core.errors import UserError
from worldattention.core.memory import scoring_layers


def recalled_scores(engine):
    """Scores of all pages at the return to a first scene, by page."""
    try:
        for prompt, blocks in (("a red ball", 4), ("the sea at night", 4), ("a dog in snow", 3)):
            for _ in range(blocks):
                engine.step(prompt)
        telemetry = engine.step("a red ball again").telemetry
        return torch.tensor([page.score for page in telemetry.pages if page.score is not None])
    finally:
        engine.close()


def test_case_3_pages_are_scored_without_the_mean_query():
    model = toy_model()
    engine = toy_engine(model=model)
    layers = len(scoring_layers(model, engine.config))
    plain = recalled_scores(engine)
    mean = torch.randn(layers, HEADS, HEAD_DIM)
    once, twice = (
        recalled_scores(toy_engine(model=replace(model, mean_query=factor * mean))) for factor in (1.0, 2.0)
    )
    nothing = recalled_scores(toy_engine(model=replace(model, mean_query=torch.zeros_like(mean))))
    torch.testing.assert_close(nothing, plain)
    assert (once - plain).abs().max() > 1e-3
    torch.testing.assert_close(twice - plain, 2 * (once - plain), atol=1e-5, rtol=1e-4)


def test_the_pocket_world_comes_with_its_mean_query():
    path = loading.model_folder("pocket") / loading.MEAN_QUERY_FILE
    transformer, *_ = loading.load_transformer(
        path.parent / "transformer", torch.device("cpu"), torch.float32
    )
    mean = loading._load_mean_query(path, transformer, torch.device("cpu"))
    assert mean.shape == (3, 6, 64)
    assert mean.isfinite().all()
    assert mean.norm() > 1


def test_a_mean_query_of_another_model_is_refused_and_none_is_none(tmp_path):
    path, transformer = tmp_path / loading.MEAN_QUERY_FILE, toy_model().transformer
    assert loading._load_mean_query(path, transformer, torch.device("cpu")) is None
    save_file({"mean_query": torch.zeros(3, HEADS + 1, HEAD_DIM)}, path)
    with pytest.raises(UserError, match="not of this model"):
        loading._load_mean_query(path, transformer, torch.device("cpu"))
