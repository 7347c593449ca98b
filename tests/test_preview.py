"""What a prompt would recall: stage 1 alone, from the engine."""

import torch

from tests.toy import toy_engine


def a_world(**cache):
    engine = toy_engine(**cache)
    for prompt, blocks in (("red ball", 4), ("blue house", 4), ("green tree", 5)):
        for _ in range(blocks):
            engine.step(prompt)
    return engine


def test_the_best_chunk_comes_first_with_its_pages():
    engine = a_world()
    preview = engine.preview("blue house")
    assert preview.prompt == "blue house"
    similarities = [chunk.similarity for chunk in preview.chunks]
    assert similarities == sorted(similarities, reverse=True)
    best = preview.chunks[0]
    assert best.prompt == "blue house"
    assert abs(best.similarity - 1) < 1e-5
    assert [(page.first_frame, page.frames) for page in best.pages] == [(12, 8), (20, 4)]
    cosine = torch.dot(
        *(engine.model.text_encoder.encode(text).pooled for text in ("blue house", "red ball"))
    )
    ball = next(chunk for chunk in preview.chunks if chunk.prompt == "red ball")
    assert abs(ball.similarity - float(cosine)) < 1e-5
    engine.close()


def test_a_preview_agrees_with_the_recall_and_changes_nothing():
    engine, twin = a_world(), a_world()
    preview = engine.preview("red house")
    engine.prefetch(preview)
    block, other = engine.step("red house"), twin.step("red house")
    assert (block.frames == other.frames).all()
    assert block.telemetry.recall == other.telemetry.recall
    assert set(block.telemetry.recall.chosen) <= set(preview.page_ids)
    engine.close()
    twin.close()


def test_nothing_is_recalled_by_an_empty_prompt_or_an_empty_world():
    engine = toy_engine()
    assert engine.preview("red ball").chunks == ()
    engine.step("red ball")
    assert engine.preview("  ").chunks == ()
    assert engine.preview("red ball").chunks == ()  # everything is in the window
    engine.close()
