"""Branches of a past: the tree's rules, and worlds that are rewound, branched, left and come back to."""

from __future__ import annotations

import numpy as np
import pytest

from tests.toy import toy_engine, toy_model
from worldattention.core.errors import UserError
from worldattention.core.history import ROOT, BlockRecord, Branch, History, make_history
from worldattention.core.session import Session
from worldattention.core.timeline import Timeline

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
