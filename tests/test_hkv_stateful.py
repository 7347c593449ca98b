"""The bank against a plain dictionary, over three tiers, with forks, prefetch, early files and held pages.

Until a quota drops it, every latent frame that a world ever made is in exactly one page (DESIGN 4).
"""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.banks import make_bank, new_frames


@dataclass
class World:
    """A bank, and its frames one by one: `frames[f]` is `[2, layers, T, H, D]`."""

    bank: object
    frames: dict = field(default_factory=dict)


class BankMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="bank-"))
        self.worlds, self.held, self.prompts = [], [], 0

    @initialize(
        device=st.integers(0, 2), dram=st.integers(0, 2), disk=st.integers(0, 8), through=st.booleans(),
        ahead=st.sampled_from([0, 1 << 20]), queue=st.sampled_from([1, 1 << 20]),
    )  # fmt: skip
    def begin(self, device, dram, disk, through, ahead, queue):
        self.capacity = device + dram + disk
        bank = make_bank(
            self.folder, device, dram, disk, write_through=through, prefetch_bytes=ahead, move_bytes=queue
        )
        self.worlds.append(World(bank))

    def pick(self, data):
        return data.draw(st.sampled_from(self.worlds))

    def pages(self, data, world, count):
        known = st.integers(0, max(0, len(world.bank.pages) - 1))
        return data.draw(st.lists(known, unique=True, max_size=count)) if world.bank.pages else []

    @rule(data=st.data(), count=st.integers(1, 20))
    def append(self, data, count):
        world = self.pick(data)
        frames = new_frames(count)
        done = len(world.frames)
        world.bank.append(*frames)
        for number in range(count):
            world.frames[done + number] = frames[:, :, 2 * number : 2 * number + 2]

    @rule(data=st.data())
    def speak(self, data):
        self.prompts += 1
        self.pick(data).bank.begin_chunk(torch.ones(4), f"prompt {self.prompts}")

    @rule(data=st.data(), keep=st.booleans())
    def recall(self, data, keep):
        world = self.pick(data)
        ids = self.pages(data, world, 3)
        gone = {page for page in ids if world.bank.tier_of(page) == "dropped"}
        recall = world.bank.recall(ids)
        assert set(recall.missed) == gone
        self.check(world, recall)
        if keep and len(self.held) < 3:
            self.held.append((world, recall))
        else:
            recall.release()

    @rule(data=st.data())
    def prefetch(self, data):
        world = self.pick(data)
        world.bank.prefetch(self.pages(data, world, 5))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def let_go(self, data):
        self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))[1].release()

    @rule()
    def settle(self):
        self.worlds[0].bank._store.flush()

    @precondition(lambda self: len(self.worlds) < 3)
    @rule(data=st.data())
    def fork(self, data):
        world = self.pick(data)
        self.worlds.append(World(world.bank.fork(), dict(world.frames)))

    @precondition(lambda self: len(self.worlds) > 1)
    @rule(data=st.data())
    def leave(self, data):
        world = self.worlds.pop(data.draw(st.integers(0, len(self.worlds) - 1)))
        self.held = [(owner, recall) for owner, recall in self.held if owner is not world or recall.release()]
        world.bank.close()

    @invariant()
    def every_frame_is_in_one_page(self):
        for world in self.worlds:
            covered = [f for page in world.bank.pages for f in range(page.first_frame, page.end_frame)]
            covered += range(len(world.frames) - world.bank.open_frames, len(world.frames))
            assert covered == list(world.frames)

    @invariant()
    def quotas_hold_and_nothing_goes_without_need(self):
        if not self.worlds:
            return
        bank = self.worlds[0].bank
        usage = bank.usage()
        handles = {handle for world in self.worlds for handle in world.bank._handles}
        there = {handle for handle in handles if bank._store.is_there(handle)}
        assert all(tier.used_bytes <= tier.quota_bytes for tier in usage)
        assert sum(tier.pages for tier in usage) >= len(there)  # held pages of a world that was left
        if bank._store._next_handle <= self.capacity:  # as many pages as were ever made
            assert sum(tier.drops for tier in usage) == 0

    @invariant()
    def held_pages_stay_as_they_are(self):
        for world, recall in self.held:
            self.check(world, recall)

    def check(self, world, recall):
        for page, data in recall.pages.items():
            info = world.bank.pages[page]
            frames = torch.cat([world.frames[f] for f in range(info.first_frame, info.end_frame)], 2)
            assert torch.equal(data.keys, frames[0])
            assert torch.equal(data.values, frames[1])

    def teardown(self):
        for _, recall in self.held:
            recall.release()
        for world in self.worlds:
            world.bank.close()
        assert list(self.folder.glob("session-*")) == []
        shutil.rmtree(self.folder)


@pytest.mark.parametrize("examples", [12, pytest.param(400, marks=pytest.mark.endurance)])
def test_a_bank_over_all_tiers_is_a_dictionary(examples):
    run_state_machine_as_test(
        BankMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
