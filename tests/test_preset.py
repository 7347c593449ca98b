"""A preset that changes while the world goes on: two ways to read one memory, block by block."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.toy import toy_config, toy_engine, toy_model
from worldattention.app import cli
from worldattention.core import loading
from worldattention.core.config import GIB, PRESETS, EngineConfig, memory_shape, preset_config, with_preset
from worldattention.core.engine import Engine
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.models.world import WorldModel
from worldattention.core.project import Project, load_project, save_project
from worldattention.core.saved_world import restore_world, save_world
from worldattention.core.session import Session
from worldattention.core.telemetry import BlockResult
from worldattention.core.timeline import Timeline
from worldattention.core.world_files import open_world

HOUSE, TOWER = "a red house by the sea", "tall tower under snow tonight"
BOTH_WAYS = pytest.mark.parametrize(("first", "then"), [PRESETS, PRESETS[::-1]])
STORY = [HOUSE] * 7 + [TOWER] * 3 + [HOUSE] * 3
CHANGES = {3: "authors", 8: "playground", 11: "authors"}


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every engine of a test is closed, as conftest.py wants it."""
    opened: list[Engine] = []
    begin = Engine.__init__

    def remembered(self: Engine, *arguments: Any, **named: Any) -> None:
        begin(self, *arguments, **named)
        opened.append(self)

    monkeypatch.setattr(Engine, "__init__", remembered)
    yield
    for engine in opened:
        engine.close()


def digest(result: BlockResult) -> str:
    return hashlib.sha256(result.frames.tobytes()).hexdigest()


def turn(engine: Engine, preset: str) -> None:
    assert engine.configure(with_preset(engine.config, preset)) == engine.block


def play(
    engine: Engine, prompts: Sequence[str] = STORY, changes: dict[int, str] = CHANGES
) -> list[BlockResult]:
    made = []
    for prompt in prompts:
        if engine.block in changes:
            turn(engine, changes[engine.block])
        made.append(engine.step(prompt))
    return made


def digests(results: list[BlockResult]) -> list[str]:
    return [digest(result) for result in results]


@BOTH_WAYS
def test_it_takes_effect_at_its_block_and_never_before(first: str, then: str) -> None:
    model, at = toy_model(), random.randrange(2, 7)
    straight = digests(play(Engine(model, preset_config(first)), STORY[:12], {}))
    changed = play(Engine(model, preset_config(first)), STORY[:12], {at: then})
    assert digests(changed[:at]) == straight[:at]
    assert [result.telemetry.preset for result in changed] == [first] * at + [then] * (12 - at)
    assert digests(changed)[8:] != straight[8:]  # behind the first recall at the latest
    again = play(Engine(model, preset_config(first)), STORY[:12], {at: then})
    assert digests(again) == digests(changed)
    assert not any(result.telemetry.approximate for result in changed)


@BOTH_WAYS
def test_what_was_made_before_can_be_recalled(first: str, then: str) -> None:
    """The red house was made under one preset only, and is brought back under the other."""
    engine = Engine(toy_model(), preset_config(first))
    results = play(engine, [HOUSE] * 9 + [TOWER] * 4 + [HOUSE], {10: then})
    recall = results[13].telemetry.recall
    assert recall is not None
    assert recall.chosen
    assert not recall.missed
    pages = {page.id: page for page in engine.bank.pages}
    frames = {
        frame for page in recall.chosen for frame in range(pages[page].first_frame, pages[page].end_frame)
    }
    assert frames <= set(range(27))
    assert len(frames) >= 16
    assert {span.page for span in results[13].telemetry.window if span.kind == "page"} == set(recall.chosen)


def test_every_frame_lies_in_one_page_whatever_the_preset() -> None:
    engine = toy_engine(2)
    play(engine)
    kept = [(data.info.first_frame, data.info.frames) for data in engine.memory.kept_pages()]
    assert [first for first, _ in kept] == [sum(frames for _, frames in kept[:n]) for n in range(len(kept))]
    assert sum(frames for _, frames in kept) == 3 * len(STORY)


def test_playground_recalls_no_snapshot_and_authors_no_page_of_its_own_time() -> None:
    engine = toy_engine(5)
    story = [HOUSE] * 5 + [TOWER] * 4 + [HOUSE] * 3 + [TOWER] * 2 + [HOUSE] * 2 + [TOWER]
    results = play(engine, story, {3: "authors", 13: "playground", 15: "authors"})
    recalls = {result.telemetry.block: result.telemetry.recall for result in results}
    pages = engine.bank.pages
    candidates = {
        block: [pages[page] for page in recall.candidates] for block, recall in recalls.items() if recall
    }
    assert candidates[12]
    assert all(page.snapshot for page in candidates[12])
    assert not any(page.snapshot for block in (13, 14) for page in candidates[block])
    own = [page for page in candidates[16] if not page.snapshot]
    assert own  # the tower of block 5, which was no candidate then
    assert all(page.end_frame <= 45 for page in own)


def test_leaving_the_authors_lets_their_windows_go_and_recalls_anew() -> None:
    engine = Engine(toy_model(), preset_config("authors"))
    results = play(engine, [HOUSE] * 9 + [TOWER] * 4, {12: "playground"})
    assert any(span.kind == "page" for span in results[11].telemetry.window)
    telemetry = results[12].telemetry
    assert telemetry.recall is not None
    assert not telemetry.prompt_changed
    shown = {span.page for span in telemetry.window if span.page is not None}
    assert shown
    assert not any(engine.bank.pages[page].snapshot for page in shown)


@BOTH_WAYS
def test_chosen_and_taken_back_it_was_never_chosen(first: str, then: str) -> None:
    model = toy_model()
    straight = digests(play(Engine(model, preset_config(first)), STORY[:10], {}))
    engine = Engine(model, preset_config(first))
    made = []
    for prompt in STORY[:10]:
        turn(engine, then)
        turn(engine, first)
        made.append(digest(engine.step(prompt)))
    assert made == straight


def test_a_cancelled_block_of_the_change_leaves_the_world_as_it_was() -> None:
    model = toy_model()
    straight = digests(play(toy_engine(2, model)))
    engine, made = toy_engine(2, model), []
    for prompt in STORY:
        if engine.block in CHANGES:
            turn(engine, CHANGES[engine.block])
        for allowed in (0, 2, 5) if engine.block in CHANGES else ():
            calls = iter(range(allowed))
            with pytest.raises(Cancelled):
                engine.step(prompt, lambda calls=calls: next(calls, None) is None)
        made.append(digest(engine.step(prompt)))
    assert made == straight


def test_rewinding_across_changes_gives_equal_frames() -> None:
    model = toy_model()
    engine = toy_engine(3, model)
    straight = digests(play(engine))
    for block in (*CHANGES, random.randrange(len(STORY))):
        back = engine.fork_at(block)
        assert not back.approximate
        assert digests(play(back, STORY[block:])) == straight[block:]
        back.close()


def test_without_pages_rewinding_across_a_change_says_that_it_is_approximate() -> None:
    engine = toy_engine(3, device_quota_bytes=0, dram_quota_bytes=0, disk_quota_bytes=0)
    play(engine)
    for block in (5, 10):
        back = engine.fork_at(block)
        assert back.approximate
        assert back.step(STORY[block]).telemetry.preset == engine.records[block].preset


@pytest.mark.parametrize("pages", [True, False])
def test_a_saved_world_goes_on_across_changes(tmp_path, pages: bool) -> None:
    session = Session(toy_engine(3), Timeline().add(0.0, 60.0, HOUSE))
    play(session.engine, STORY[:11])
    save_world(tmp_path / "saved", session.engine, Project("Saved"), session.history, pages=pages)
    again = toy_engine(3)
    restore_world(again, open_world(tmp_path / "saved"))
    assert again.config.preset == "playground"
    assert digests(play(again, STORY[11:])) == digests(play(session.engine, STORY[11:]))
    assert not again.approximate


def made_with_changes(model: WorldModel) -> tuple[Session, list[str]]:
    session, made = Session(Engine(model, toy_config()), STORY_LINE), []
    for block in range(10):
        if block in (2, 7):
            session.configure(with_preset(session.engine.config, "authors" if block == 2 else "playground"))
        made.append(digest(session.step()))
    return session, made


STORY_LINE = Timeline().add(0.0, 3.0, HOUSE).add(3.0, 7.5, TOWER)


def test_a_project_brings_its_changes_back(tmp_path) -> None:
    model = toy_model()
    session, made = made_with_changes(model)
    path = tmp_path / "toy.world"
    save_project(Project("Toy", timeline=STORY_LINE, history=session.history), path)
    project = load_project(path)
    again = Session(Engine(model, toy_config()), project.timeline)
    again.begin(project.history)
    assert [digest(again.step()) for _ in range(10)] == made
    assert [record.preset for record in again.engine.records] == ["playground"] * 2 + ["authors"] * 5 + [
        "playground"
    ] * 3


def test_render_honours_the_changes_of_a_project(tmp_path, capsys, monkeypatch) -> None:
    model = toy_model()
    monkeypatch.setattr(loading, "open_engine", lambda _m, _d, config, _r: Engine(model, config))
    session, _ = made_with_changes(model)
    path, world = tmp_path / "toy.world", tmp_path / "world"
    save_project(Project("Toy", timeline=STORY_LINE, history=session.history), path)
    assert cli.main(["render", str(path), "-o", "null", "--save-world", str(world)]) == 0, (
        capsys.readouterr().err
    )
    rendered = list(open_world(world).latents())
    assert all(latents.equal(session.engine.latents(block)) for block, latents in enumerate(rendered))
    assert [record.preset for record in open_world(world).records] == [
        record.preset for record in session.engine.records
    ]
    asked = [
        "render",
        str(path),
        "-o",
        "null",
        "--preset",
        "authors",
        "--save-world",
        str(tmp_path / "other"),
    ]
    assert cli.main(asked) == 0
    assert {record.preset for record in open_world(tmp_path / "other").records} == {"authors"}


def test_a_saved_world_is_rendered_on_with_another_preset(tmp_path, capsys, monkeypatch) -> None:
    model = toy_model()
    monkeypatch.setattr(loading, "open_engine", lambda _m, _d, config, _r: Engine(model, config))
    session, _ = made_with_changes(model)
    before, after = tmp_path / "before", tmp_path / "after"
    save_world(before, session.engine, Project("Toy", timeline=STORY_LINE), session.history, pages=True)
    asked = ["render", "--world", str(before), "-o", "null", "--seconds", "1.5", "--save-world", str(after)]
    assert cli.main([*asked, "--preset", "authors"]) == 0, capsys.readouterr().err
    presets = [record.preset for record in open_world(after).records]
    assert presets == [record.preset for record in session.engine.records] + ["authors"] * 2
    assert all(
        latents.equal(session.engine.latents(block))
        for block, latents in enumerate(list(open_world(after).latents())[:10])
    )


def test_a_world_whose_window_shrank_changes_too() -> None:
    engine = toy_engine(2)
    play(engine, STORY[:9], {})
    engine.shrink()
    results = play(engine, [TOWER] * 3 + [HOUSE] * 5, {9: "authors", 15: "playground"})
    assert all(sum(span.frames for span in result.telemetry.window) <= 19 for result in results)
    assert {result.telemetry.preset for result in results} == set(PRESETS)


def test_quotas_stay_fixed_once_a_world_runs() -> None:
    engine = toy_engine()
    more = replace(engine.config, cache=replace(engine.config.cache, dram_quota_bytes=4 * GIB))
    engine.configure(more)
    engine.step(HOUSE)
    with pytest.raises(UserError, match="restart the world"):
        engine.configure(toy_config())
    assert engine.config == more


def test_what_was_asked_for_otherwise_survives_a_change() -> None:
    mine = EngineConfig(seed=4)
    mine = replace(
        mine, cache=replace(mine.cache, dram_quota_bytes=5 * GIB, recalled_pages=2, retrieval="recent")
    )
    theirs = with_preset(mine, "authors")
    assert (theirs.preset, theirs.attention.block, theirs.cache.sink_frames) == ("authors", 64, 0)
    assert (theirs.seed, theirs.cache.recalled_pages, theirs.cache.retrieval) == (4, 2, "recent")
    assert memory_shape(theirs) == memory_shape(mine)
    assert with_preset(theirs, "playground") == mine
    assert with_preset(EngineConfig(), "authors") == preset_config("authors")
    with pytest.raises(UserError, match="preset"):
        with_preset(mine, "nobody")
