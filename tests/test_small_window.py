"""case_05: a world whose device runs out of memory goes on with a smaller window, which is said once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.test_out_of_memory import CPU_FULL, GPU_FULL, IN_A_BLOCK, TIMELINE, Failing, quotas
from tests.toy import toy_config, toy_engine, toy_model
from worldattention.core import heap, memory
from worldattention.core.config import preset_config, with_choices
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.fitting import fitting_engine
from worldattention.core.hkv import window
from worldattention.core.session import Session
from worldattention.core.small_window import SMALL_BUDGET_FRAMES
from worldattention.core.timeline import Event, make_timeline

BACK_AND_FORTH = make_timeline(
    [Event(n + 1, 3.0 * n, 3.0 * n + 3, ("red ball", "blue house", "green hill")[n % 3]) for n in range(20)]
)


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    """Twelve blocks of a world, which every test goes on from by itself."""
    engine = toy_engine(3, **quotas(tmp_path_factory.mktemp("cache")))
    session = Session(engine, BACK_AND_FORTH)
    for _ in range(12):
        session.step()
    yield engine
    engine.close()


@pytest.fixture
def session(twelve):
    """A world of its own that has these blocks."""
    made = Session(twelve.fork(), BACK_AND_FORTH)
    yield made
    made.close()


def shrunk_at(session, block):
    """The world runs to `block` and then loses its whole window."""
    while session.block < block:
        session.step()
    session.engine.shrink()
    return session


@pytest.mark.parametrize("site", IN_A_BLOCK)
def test_case_05_where_less_does_not_help_a_smaller_window_does(tmp_path, monkeypatch, site):
    """Every allocation site of a block fails twice: the block is made, smaller, and one notice says so."""
    owner, name, first = IN_A_BLOCK[site]
    session = Session(toy_engine(**quotas(tmp_path)), TIMELINE)
    failing = Failing(getattr(owner, name), (GPU_FULL, CPU_FULL)[len(site) % 2], first, 2)
    monkeypatch.setattr(owner, name, failing)
    before = session.engine.memory.buffer_bytes
    results = [session.step() for _ in range(14)]
    assert failing.hits == 2
    assert [result.telemetry.block for result in results] == list(range(14))
    told = [notice for result in results for notice in result.telemetry.notices if "smaller" in notice]
    assert len(told) == 1
    assert session.engine.small
    assert session.engine.memory.buffer_bytes < 0.7 * before
    for result in results[-5:]:
        span = result.telemetry.window[-1]
        assert span.first_slot <= SMALL_BUDGET_FRAMES
        assert result.telemetry.approximate
    session.close()


def test_the_smaller_window_shows_the_very_frames_of_the_whole_one(session, twelve):
    """Every key and value in the smaller ring is the one in the larger."""
    session.engine.shrink()
    ours, theirs = session.engine.memory, twelve.memory
    for first, count in ((0, 3), (36 - 16, 16)):
        for mine, other in zip(ours._frames(first, count), theirs._frames(first, count), strict=True):
            assert torch.equal(mine, other)
    with pytest.raises(KeyError, match="left the ring"):
        ours._frames(36 - 25, 1)


def test_a_shrunk_world_recalls_and_banks(session):
    session.engine.shrink()
    results = [session.step() for _ in range(13)]
    recalls = [result.telemetry.recall for result in results if result.telemetry.recall is not None]
    assert len(recalls) >= 3
    assert all(len(recall.chosen) == 1 for recall in recalls)
    bank = session.engine.bank
    assert sum(page.frames for page in bank.pages) + bank.open_frames == 3 * 25  # all history


def test_settings_of_the_whole_window_are_taken_by_a_shrunk_world(tmp_path):
    """The window sends its own quotas and sizes with every setting: they must not be refused."""
    config = toy_config(**quotas(tmp_path))
    session = shrunk_at(Session(Engine(toy_model(), config), TIMELINE), 3)
    session.configure(with_choices(config, attention="dense"))
    assert session.step().telemetry.attention == "dense"
    assert session.engine.config.cache.budget_frames == SMALL_BUDGET_FRAMES
    session.reset()
    session.engine.configure(with_choices(config, seed=9))
    assert session.step().telemetry.seed == 9
    session.close()


def test_settings_are_taken_by_a_world_that_never_had_the_whole_window(tmp_path, monkeypatch):
    config = toy_config(**quotas(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(heap, "_map", Failing(heap._map, GPU_FULL, 3, 1))
        engine = fitting_engine(toy_model(), config)
    engine.configure(with_choices(config, retrieval="recent"))
    assert engine.step("red ball").telemetry.retrieval == "recent"
    engine.configure(with_choices(config, retrieval="none"))
    assert engine.config.cache.budget_frames == SMALL_BUDGET_FRAMES
    engine.close()


@pytest.mark.parametrize("back_to", [0, 9, 13])
def test_a_shrunk_world_goes_back_to_before_and_after(session, back_to):
    session.engine.shrink()
    straight = [session.step() for _ in range(4)]
    session.rewind(back_to, "Again")
    again = [session.step() for _ in range(min(4, 16 - back_to))]
    if back_to > 12:  # made with the smaller window, and so again
        for result, expected in zip(again, straight[back_to - 12 :], strict=True):
            assert np.array_equal(result.frames, expected.frames)
    assert all(result.telemetry.approximate for result in again)
    session.switch("Main")
    assert session.step().telemetry.block == 16


def test_the_authors_world_shrinks_too():
    session = shrunk_at(Session(Engine(toy_model(), preset_config("authors")), BACK_AND_FORTH), 10)
    results = [session.step() for _ in range(16)]
    assert any(result.telemetry.recall is not None for result in results)
    assert session.engine.memory.window.slots == SMALL_BUDGET_FRAMES + 3
    session.close()


@pytest.mark.parametrize("site", ["window", "ring"])
def test_shrinking_itself_may_fail_and_be_done_later(session, monkeypatch, site):
    """The allocation of the smaller buffers fails too: the failure is told, and the next attempt has a world."""
    owner, name = (memory, "Window") if site == "window" else (heap, "_map")
    with monkeypatch.context() as patch:
        patch.setattr(window.Window, "install", Failing(window.Window.install, GPU_FULL, 0, 2))
        patch.setattr(owner, name, Failing(getattr(owner, name), GPU_FULL, 0, 1))
        with pytest.raises(torch.OutOfMemoryError):
            session.step()
    assert [session.step().telemetry.block for _ in range(5)] == list(range(12, 17))
    assert session.engine.small


@pytest.mark.parametrize(("call", "times"), [(0, 1), (3, 1), (0, 2), (1, 2), (2, 2), (3, 2)])
def test_a_branch_that_has_no_room_is_refused_and_the_world_goes_on(session, monkeypatch, call, times):
    entries = session.engine.bank._store._entries
    owners = {page: entry.references for page, entry in entries.items()}
    with monkeypatch.context() as patch:
        patch.setattr(heap, "_map", Failing(heap._map, GPU_FULL, call, 1))
        if times == 1:
            session.rewind(9, "Again")
            assert session.block == 9
            session.switch("Main")
        else:
            heap._map._times = 99
            with pytest.raises(UserError, match="not enough memory"):
                session.rewind(9, "Again")
    assert (session.branch, session.block) == ("Main", 12)
    if times == 2:
        assert {page: entry.references for page, entry in entries.items()} == owners  # nothing is left shared
        assert len(session.history.branches) == 1
    assert session.step().telemetry.block == 12
    session.rewind(9, "Later")
    assert session.step().telemetry.block == 9
