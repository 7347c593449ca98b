"""Branches of a past: the tree's rules, and worlds that are rewound, branched, left and come back to."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toy import toy_engine, toy_model
from worldattention.core.config import with_choices
from worldattention.core.errors import UserError
from worldattention.core.history import ROOT, BlockRecord, Branch, History, make_history
from worldattention.core.project import Project, project_from_json, project_to_json
from worldattention.core.session import Session
from worldattention.core.timeline import Timeline
from worldattention.core.waiting import WaitingEngines

STORY = Timeline().add(0.0, 3.0, "a red house by the sea").add(3.0, 30.0, "tall tower under snow tonight")


def play(session: Session, blocks: int) -> list[np.ndarray]:
    return [session.step().frames for _ in range(blocks)]


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def made(history: History, name: str, blocks: int) -> History:
    branch = history.get(name)
    records = tuple(BlockRecord(f"block {block}") for block in range(branch.from_block, blocks))
    return history.put(Branch(name, branch.parent, branch.from_block, branch.timeline, records))


def test_a_branch_leaves_the_branch_that_owns_the_block() -> None:
    history = made(History(), ROOT, 9).fork("Snow", 4)
    history = made(history, "Snow", 7).fork("Deeper", 6)
    assert history.get("Deeper").parent == "Snow"
    sister = made(history, "Deeper", 8).fork("Sister", 3)
    assert (sister.get("Sister").parent, sister.get("Sister").from_block) == (ROOT, 3)
    assert [branch.name for branch in sister.path("Deeper")] == [ROOT, "Snow", "Deeper"]
    assert len(made(history, "Deeper", 8).records("Deeper")) == 8
    with pytest.raises(UserError, match="not made yet"):
        sister.fork("Later", 5)
    with pytest.raises(UserError, match="choose another name"):
        sister.fork(" Snow ", 1)


def test_branches_are_renamed_and_deleted_but_never_from_under_another() -> None:
    history = made(History(), ROOT, 9).fork("A", 4)
    history = made(history, "A", 7).fork("B", 6)
    renamed = history.rename("A", "한글 ñ")
    assert renamed.get("B").parent == "한글 ñ"
    assert renamed.current == "B"
    for name, reason in (("A", "delete those first"), ("B", "in use"), (ROOT, "in use"), ("x", "no branch")):
        with pytest.raises(UserError, match=reason):
            history.remove(name)
    for bad in ("", "  ", "a\nb", "x" * 101, ROOT):
        with pytest.raises(UserError):
            history.rename("A", bad)


@pytest.mark.parametrize(
    "branches",
    [
        (),
        (Branch("A", "B"), Branch("B")),
        (Branch("A"), Branch("A", "A")),
        (Branch("A"), Branch("B")),
        (Branch("A"), Branch("B", "A", 1)),
        (Branch("A", from_block=2),),
        (Branch("A"), Branch("B", "C")),
    ],
)
def test_an_unsound_history_is_refused(branches: tuple[Branch, ...]) -> None:
    with pytest.raises(UserError):
        make_history(branches, "A")


def test_rewind_branch_switch_and_return_give_the_frames_of_unbroken_worlds() -> None:
    model = toy_model()
    straight = play(Session(toy_engine(5, model), STORY), 9)
    session = Session(toy_engine(5, model), STORY)
    play(session, 7)
    session.rewind(3, "Again")
    assert session.block == 3
    assert equal(play(session, 3), straight[3:6])
    session.say("something else")
    other = play(session, 2)
    assert not np.array_equal(other[0], straight[6])
    session.switch(ROOT)
    assert session.block == 7
    assert equal(play(session, 2), straight[7:])
    session.switch("Again")
    assert session.block == 8
    assert session.prompt == "something else"
    assert len(session.history.records("Again")) == 8
    session.close()


def test_a_branch_left_long_ago_is_asleep_and_goes_on_with_equal_frames() -> None:
    """Only a few engines stay awake; the others are restored from their pages and latents."""
    model = toy_model()
    straight = play(Session(toy_engine(5, model), STORY), 9)
    session = Session(toy_engine(5, model), STORY)
    session._waiting = WaitingEngines(awake_bytes=0)
    play(session, 7)
    session.rewind(4, "Again")
    assert session._waiting._engines[ROOT].memory.buffer_bytes == 0
    play(session, 1)
    session.switch(ROOT)
    assert equal(play(session, 2), straight[7:])
    session.delete("Again")
    with pytest.raises(UserError, match="no branch"):
        session.switch("Again")
    session.close()


def test_a_deleted_branch_comes_back_as_it_was_until_the_session_is_reset() -> None:
    model = toy_model()
    session = Session(toy_engine(5, model), STORY)
    play(session, 4)
    session.rewind(2, "Boat")
    session.say("a yellow boat")
    play(session, 2)
    session.switch(ROOT)
    other = Session(toy_engine(5, model), STORY)
    play(other, 2)
    other.say("a yellow boat")
    straight = play(other, 5)
    before = session.history
    session.delete("Boat")
    play(session, 1)
    session.restore("Boat")
    assert [branch.name for branch in session.history.branches] == [ROOT, "Boat"]
    assert session.history.get("Boat") == before.get("Boat")
    session.switch("Boat")
    assert equal(play(session, 3), straight[2:])
    session.switch(ROOT)
    session.delete("Boat")
    session.reset()
    with pytest.raises(UserError, match="no branch 'Boat'"):
        session.restore("Boat")
    session.close()
    other.close()


def test_branches_of_another_sitting_are_made_again_from_their_records() -> None:
    """What a project's file tells is enough for equal frames, settings and all; an edit leaves it as it was."""
    model = toy_model()
    first = Session(toy_engine(5, model), STORY)
    play(first, 3)
    first.configure(with_choices(first.engine.config, attention="dense"))
    main = play(first, 3)
    first.rewind(2, "Boat")
    first.say("a yellow boat")
    boat = play(first, 3)
    project = Project(timeline=first.timeline, history=first.history)
    first.close()

    loaded = project_from_json(project_to_json(project))
    assert loaded == project
    session = Session(toy_engine(5, model), Timeline())
    session.begin(loaded.history)
    assert session.history == project.history
    assert equal(play(session, 5)[2:], boat)
    session.switch(ROOT)
    assert session.block == 2  # where the boat leaves; what comes after is made again
    assert len(session.history.get(ROOT).records) == 6
    assert equal(play(session, 4)[1:], main)
    session.switch("Boat")
    assert session.block == 5
    session.close()

    other = Session(toy_engine(5, model), Timeline())
    other.begin(loaded.history)
    play(other, 1)
    other.say("something else")
    play(other, 1)
    assert other.history.current not in (ROOT, "Boat")
    assert other.history.get(ROOT).records == project.history.get(ROOT).records
    assert other.history.get("Boat").records == project.history.get("Boat").records
    other.close()


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)
JSON = st.dictionaries(st.text(max_size=5).map(lambda key: f"x-{key}"), st.integers() | st.none(), max_size=2)


def record(prompt: str, odd: bool) -> BlockRecord:
    if not odd:
        return BlockRecord(prompt)
    return BlockRecord(prompt, 7, "authors", "dense", "recent", 0.5, 3, (9.0,), (1, 2), (3,), True)


@st.composite
def histories(draw: st.DrawFn) -> History:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    branches: list[Branch] = []
    for name in names:
        parent = draw(st.sampled_from(branches)) if branches else None
        start = draw(st.integers(0, parent.blocks)) if parent else 0
        records = draw(st.lists(st.builds(record, st.sampled_from("ab"), st.booleans()), max_size=6))
        events = Timeline().add(0.0, draw(st.floats(0.5, 9)), draw(NAMES))
        extra, event_extra = draw(JSON), draw(JSON)
        more = {1: event_extra} if event_extra else {}
        parent_name = parent.name if parent else None
        branches.append(Branch(name, parent_name, start, events, tuple(records), extra, more))
    return History(tuple(branches), draw(st.sampled_from(names)), draw(JSON))


@settings(max_examples=50, deadline=None)
@given(histories())
def test_the_project_file_keeps_every_branch_and_unknown_keys(history: History) -> None:
    project = Project(timeline=history.get(history.current).timeline, history=history)
    if history.plain:
        project = replace(project, history=History())
    assert project_from_json(project_to_json(project)) == project


@pytest.mark.parametrize(
    "change",
    [
        {"current": "nobody"},
        {"branches": []},
        {"branches": [{"name": "A", "parent": "B"}]},
        {"branches": [{"name": "A", "blocks": [{"count": 10**9, "prompt": ""}]}]},
        {"branches": [{"name": "A", "blocks": [{"prompt": "", "attention": "psychic"}]}]},
        {"branches": [{"name": "A", "blocks": [{"prompt": "", "pages": [-1]}]}]},
        {"branches": [{"name": "A", "blocks": [{"prompt": "", "timesteps": [0.0]}]}]},
        {"branches": [{"name": "A", "events": [{"start": 2.0, "end": 1.0, "prompt": ""}]}]},
        {"branches": [{"name": "A" * 101}]},
        7,
    ],
)
def test_a_broken_history_is_refused_in_one_sentence(change: object) -> None:
    document = json.loads(project_to_json(Project()))
    document["history"] = {"current": "A", "branches": [{"name": "A"}]}
    project_from_json(json.dumps(document))
    document["history"] = document["history"] | change if isinstance(change, dict) else change
    with pytest.raises(UserError):
        project_from_json(json.dumps(document))


def test_a_version_without_branches_may_have_edited_the_events() -> None:
    history = made(History(), ROOT, 5).fork("A", 2)
    project = Project(timeline=STORY, history=history)
    document = json.loads(project_to_json(project))
    document["events"] = document["events"][:1]
    loaded = project_from_json(json.dumps(document))
    assert loaded.history.get("A").timeline == loaded.timeline != STORY
    alone = Project(timeline=STORY, history=made(History(), ROOT, 5))
    assert "history" not in json.loads(project_to_json(alone))
