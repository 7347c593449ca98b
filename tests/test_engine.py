"""The engine as its users see it: determinism, atomic steps, live switches, recall, forks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.toy import LAYERS, toy_config, toy_engine, toy_model
from worldattention.core.config import (
    ATTENTION_MODES,
    RETRIEVAL_POLICIES,
    EngineConfig,
    preset_config,
    with_choices,
)
from worldattention.core.engine import Engine
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.sampler import block_noise, shifted_timesteps
from worldattention.core.session import Session
from worldattention.core.telemetry import BlockResult, telemetry_from_json
from worldattention.core.timeline import Timeline

HOUSE = "a red house by the sea"
TOWER = "tall tower under snow tonight"


def run(engine: Engine, prompts: list[str]) -> list[BlockResult]:
    return [engine.step(prompt) for prompt in prompts]


def frames(results: list[BlockResult]) -> np.ndarray:
    return np.concatenate([result.frames for result in results])


STORY = [HOUSE] * 13 + [TOWER] * 13 + [HOUSE + " again"] * 4


def test_schedule_and_noise() -> None:
    assert shifted_timesteps(EngineConfig().sampler) == pytest.approx((1000.0, 937.5, 2500 / 3, 625.0))
    first = block_noise(3, 5, (2, 40))
    assert torch.equal(first, block_noise(3, 5, (2, 40)))
    for other in (block_noise(3, 6, (2, 40)), block_noise(4, 5, (2, 40)), block_noise(5, 3, (2, 40))):
        assert not torch.equal(first, other)


def test_case_14_same_seed_same_frames_other_seed_others_and_a_second_world_equals_the_first() -> None:
    model = toy_model()
    first = frames(run(toy_engine(7, model), STORY))
    engine = toy_engine(7, model)
    again = frames(run(engine, STORY))
    engine.reset()
    after_reset = frames(run(engine, STORY))
    assert np.array_equal(first, again)
    assert np.array_equal(first, after_reset)
    assert first.std() > 5
    other_seed = frames(run(toy_engine(8, model), STORY[:2]))
    assert not np.array_equal(first[:24], other_seed)


def test_case_3_a_recall_block_recalls_the_first_scene_and_names_its_prompt() -> None:
    engine = toy_engine()
    results = run(engine, STORY)
    record = results[26].telemetry
    assert record.prompt_changed
    recall = record.recall
    assert recall is not None
    assert recall.prompt_hash == record.prompt_hash
    assert recall.chunk_similarity[0] > recall.chunk_similarity[1]
    assert len(recall.chosen) == 3
    assert set(recall.chosen) <= set(recall.candidates)
    assert {record.pages[page].chunk for page in recall.chosen} == {0}, "of the scene that is asked for again"
    spans = [(span.kind, span.frames) for span in record.window]
    pages = [("page", record.pages[page].frames) for page in recall.chosen]
    recent = 32 - 3 - sum(frames for _, frames in pages)
    assert spans == [("sink", 3), *pages, ("recent", recent), ("current", 3)]
    chosen = {record.pages[page].first_frame for page in recall.chosen}
    assert chosen == {span.first_frame for span in record.window if span.kind == "page"}
    later = results[27].telemetry
    assert later.recall is None
    assert [span.page for span in later.window] == [span.page for span in record.window]
    assert all(page.recalled == (page.page in recall.chosen) for page in later.pages)


def test_without_a_recall_the_window_is_the_last_32_frames() -> None:
    results = run(toy_engine(), [HOUSE] * 13)
    for block, result in enumerate(results):
        spans = result.telemetry.window
        done = 3 * block
        expected = [("recent", max(0, done - 32), min(done, 32), 0)] if done else []
        expected.append(("current", done, 3, min(done, 32)))
        assert [(span.kind, span.first_frame, span.frames, span.first_slot) for span in spans] == expected


def test_every_latent_frame_is_in_one_page_and_a_switch_closes_the_page() -> None:
    pages = run(toy_engine(), STORY)[-1].telemetry.pages
    covered = [frame for page in pages for frame in range(page.first_frame, page.first_frame + page.frames)]
    assert covered == list(range(len(covered)))
    assert [page.frames for page in pages[:5]] == [8, 8, 8, 8, 7]  # 39 frames, then the prompt changed
    assert [page.frames for page in pages[5:10]] == [8, 8, 8, 8, 7]
    assert {page.chunk for page in pages[:5]} == {0}
    assert {page.chunk for page in pages[5:10]} == {1}


@pytest.mark.parametrize("policy", RETRIEVAL_POLICIES)
def test_every_policy_runs_and_differs_only_from_the_recall_on(policy: str) -> None:
    model = toy_model()
    base = run(toy_engine(1, model), STORY)
    other = Engine(model, with_choices(toy_config(1), retrieval="none"))
    history = run(other, STORY[:26])
    other.configure(with_choices(other.config, retrieval=policy))
    rest = run(other, STORY[26:])
    if policy == "none":
        assert rest[0].telemetry.recall is None
        assert [span.kind for span in rest[0].telemetry.window] == ["recent", "current"]
    else:
        assert rest[0].telemetry.recall is not None
        assert rest[0].telemetry.recall.policy == policy
    assert np.array_equal(frames(history[:13]), frames(base[:13]))


@pytest.mark.parametrize("mode", ATTENTION_MODES)
def test_attention_switches_at_a_block_boundary(mode: str) -> None:
    model = toy_model()
    dense = run(Engine(model, with_choices(toy_config(), attention="dense")), [HOUSE] * 6)
    engine = Engine(model, with_choices(toy_config(), attention="dense"))
    run(engine, [HOUSE] * 3)
    assert engine.configure(with_choices(engine.config, attention=mode)) == 3
    switched = run(engine, [HOUSE] * 3)
    assert [result.telemetry.attention for result in switched] == [mode] * 3
    same = np.array_equal(frames(switched), frames(dense[3:]))
    assert same == (mode == "dense")
    heads = switched[-1].telemetry
    assert heads.gini.shape == heads.density.shape == heads.threshold.shape == (LAYERS, 2)
    assert np.isfinite(heads.density).all()


def test_cancel_leaves_the_world_as_it_was() -> None:
    model = toy_model()
    straight = frames(run(toy_engine(2, model), STORY))
    engine = toy_engine(2, model)
    got = []
    for prompt in STORY:
        for allowed in (0, 1, 2, 4, 5):  # the last two: between the last step and the end of the block
            calls = [0]

            def cancel(allowed: int = allowed, calls: list[int] = calls) -> bool:
                calls[0] += 1
                return calls[0] > allowed

            with pytest.raises(Cancelled):
                engine.step(prompt, cancel)
        got.append(engine.step(prompt))
    assert np.array_equal(frames(got), straight)


def test_fork_goes_on_like_the_original_and_by_itself() -> None:
    model = toy_model()
    engine = toy_engine(3, model)
    run(engine, STORY[:20])
    fork = engine.fork()
    apart = engine.fork(with_choices(engine.config, retrieval="none"))
    assert not np.array_equal(frames(run(apart, STORY[20:])), frames(run(fork, STORY[20:])))
    straight = frames(run(engine, STORY[20:]))
    assert np.array_equal(straight, frames(run(toy_engine(3, model), STORY))[20 * 12 :])
    fork.close()
    apart.close()
    assert engine.step(TOWER).frames.shape == (12, 32, 64, 3)


def test_case_13_edit_and_undo_equal_no_edit() -> None:
    model = toy_model()
    story = Timeline().add(0.0, 9.0, HOUSE).add(9.0, 12.0, TOWER)

    def play(edit: bool) -> np.ndarray:
        session = Session(toy_engine(4, model), story)
        parts = []
        for block in range(14):
            if edit and block == 5:
                session.timeline = session.timeline.change(2, prompt="something else")
            if edit and block == 8:
                session.timeline = session.timeline.change(2, prompt=TOWER)
            parts.append(session.step())
        return frames(parts)

    assert np.array_equal(play(edit=True), play(edit=False))


def test_a_typed_prompt_takes_effect_at_the_block_it_was_acknowledged_with() -> None:
    session = Session(toy_engine(), Timeline().add(0.0, 6.0, HOUSE))
    session.step()
    block = session.say(TOWER)
    assert block == 1
    assert session.step().telemetry.prompt == TOWER
    assert session.timeline.event_at(0.1).prompt == HOUSE  # type: ignore[union-attr]


def test_authors_preset_banks_the_window_at_switches_and_wipes_it() -> None:
    engine = Engine(toy_model(), preset_config("authors"))
    results = run(engine, STORY)
    assert results[25].telemetry.pages  # the first window was banked at the first switch
    first, second = results[13].telemetry, results[26].telemetry
    assert first.recall is not None
    assert len(first.recall.candidates) == 4  # 32 of 39 frames: those that rolled out are in no window
    assert first.pages[first.recall.candidates[0]].first_frame == 7
    assert [span.kind for span in first.window] == ["page"] * 4 + ["current"]
    assert second.recall is not None
    assert sum(page.snapshot for page in engine.bank.pages) == 8
    assert [span.kind for span in results[27].telemetry.window] == ["page"] * 4 + ["recent", "current"]


def test_without_hsa_parameters_hsa_is_refused_and_sparse_runs() -> None:
    model = toy_model(hsa=False)
    with pytest.raises(UserError, match="no HSA parameters"):
        Engine(model, toy_config())
    engine = Engine(model, with_choices(toy_config(), attention="sparse"))
    assert engine.step(HOUSE).telemetry.attention == "sparse"
    with pytest.raises(UserError, match="no HSA parameters"):
        engine.configure(with_choices(engine.config, attention="linear"))


def test_telemetry_survives_its_log() -> None:
    record = run(toy_engine(), STORY)[26].telemetry
    back = telemetry_from_json(record.to_json())
    assert back.recall == record.recall
    assert back.window == record.window
    assert back.pages == record.pages
    assert back.tiers == record.tiers
    np.testing.assert_allclose(back.gini, record.gini, atol=1e-5)
    with pytest.raises(ValueError, match="not a telemetry record"):
        telemetry_from_json('{"block": 1}')


def test_steps_change_between_blocks_and_telemetry_says_how_many():
    engine = toy_engine()
    for steps, timesteps in ((4, (1000.0, 750.0, 500.0, 250.0)), (1, (1000.0,)), (2, (1000.0, 500.0))):
        engine.configure(with_choices(engine.config, steps=steps))
        assert engine.config.sampler.timesteps == timesteps
        assert engine.step("a red ball").telemetry.steps == steps
    for steps in (0, -1, 17):
        with pytest.raises(UserError, match="steps"):
            with_choices(engine.config, steps=steps)
