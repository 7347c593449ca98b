"""Prefetch from the timeline and from what is typed: earlier, never different."""

import threading
from dataclasses import replace

import pytest

from tests.toy import toy_engine, toy_model
from worldattention.app.commandline.options import Options
from worldattention.app.live_config import LiveConfig
from worldattention.app.preferences import PreferencesStore
from worldattention.core.errors import UserError
from worldattention.core.foresight import LOOK_AHEAD_BLOCKS, upcoming_prompt
from worldattention.core.geometry import Geometry
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.page import KVShape
from worldattention.core.project import ProjectSettings
from worldattention.core.session import Session
from worldattention.core.timeline import Event, make_timeline


def a_timeline(seconds=3):
    prompts = ("red ball", "blue house", "red ball")
    return make_timeline(
        [Event(n + 1, seconds * n, seconds * n + seconds, prompt) for n, prompt in enumerate(prompts)]
    )


def test_the_next_prompt_is_seen_some_blocks_ahead():
    geometry, timeline = Geometry(32, 64, 4, 4, 8), a_timeline(6)
    seen = [upcoming_prompt(timeline, geometry, block, "red ball") for block in range(8)]
    assert seen == [None] + ["blue house"] * 7
    assert LOOK_AHEAD_BLOCKS == 8
    assert upcoming_prompt(timeline, geometry, 8, "blue house") is None
    assert upcoming_prompt(timeline, geometry, 19, "red ball") is None
    assert upcoming_prompt(make_timeline([]), geometry, 0, "red ball") is None


def test_pages_of_the_next_prompt_come_early_and_the_frames_are_the_same(tmp_path):
    """Bit-equal with and without; what the timeline promoted is what the recall took."""
    model = toy_model()
    shape = KVShape(model.layers, model.geometry.frame_tokens, model.heads, model.head_dim, model.dtype)
    page = 8 * shape.frame_bytes()
    quotas = {"device_quota_bytes": page, "dram_quota_bytes": 0, "budget_frames": 24, "recalled_pages": 2}
    worlds = [
        Session(toy_engine(0, model, folder=tmp_path, prefetch_bytes=size, **quotas), a_timeline())
        for size in (1 << 30, 0)
    ]
    for block in range(9):
        with_prefetch, without = (world.step() for world in worlds)
        assert (with_prefetch.frames == without.frames).all()
        if block == 2:  # somebody types, and thinks better of it
            for text in ("red", "blue house", "red ball"):
                worlds[0].engine.prefetch(worlds[0].engine.preview(text))
    one, other = (world.engine._memory.bank.usage()[-1] for world in worlds)
    assert one.prefetched >= one.prefetch_hits >= 1
    assert (other.prefetched, other.prefetch_hits) == (0, 0)
    for world in worlds:
        world.close()


def test_a_window_s_world_has_a_deadline_and_quotas_of_this_machine():
    """case_11: quotas are held against the machine when the engine is opened, and stay the same afterwards."""
    store = PreferencesStore(None)
    configs = LiveConfig(Options(codec="int8"), store)
    before = configs.of(ProjectSettings())
    assert before.cache.read_deadline_ms is not None
    assert before.cache.codec == "int8"
    fitted = configs.fit(before, "cpu")
    assert configs.of(ProjectSettings()) == fitted
    greedy = LiveConfig(Options(disk_quota_bytes=1 << 60), store)
    with pytest.raises(UserError, match="disk quota"):
        greedy.fit(greedy.of(ProjectSettings()), "cpu")
    store.save(replace(store.current, dram_quota_bytes=1 << 60))
    asked = LiveConfig(Options(), store)
    assert asked.fit(asked.of(ProjectSettings()), "cpu").cache.dram_quota_bytes == 1 << 60  # with a warning


def test_a_page_that_comes_too_late_is_named_in_the_record_and_the_block_goes_on(tmp_path, monkeypatch):
    gate, read = threading.Event(), DiskIO.read

    def slow(self, descriptor, part):
        gate.wait(60)
        return read(self, descriptor, part)

    monkeypatch.setattr(DiskIO, "read", slow)
    quotas = {"device_quota_bytes": 0, "dram_quota_bytes": 0, "read_deadline_ms": 1.0, "folder": tmp_path}
    engine = toy_engine(**quotas)
    for prompt in ["red ball"] * 4 + ["blue house"] * 4:
        engine.step(prompt)
    engine.bank._store.flush()
    result = engine.step("red ball")
    assert result.telemetry.recall.chosen
    assert result.telemetry.recall.missed == result.telemetry.recall.chosen
    assert not any(span.kind == "page" for span in result.telemetry.window)
    assert any("too late" in notice for notice in result.telemetry.notices)
    assert result.telemetry.tiers[-1].late == len(result.telemetry.recall.missed)
    gate.set()
    engine.bank._store.flush()
    engine.step("blue house")
    again = engine.step("red ball").telemetry
    assert any(span.kind == "page" for span in again.window)
    engine.close()
