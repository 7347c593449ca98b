"""Error paths that only a rare turn of events reaches: each is brought about here."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.banks import fill, make_bank, new_frames, same_page
from tests.test_fuzz import COUNTS, mutated, two_branches
from tests.toy import toy_engine
from worldattention.app.preferences import Preferences, PreferencesStore, preferences_from_json
from worldattention.app.recent import KEPT, Recent
from worldattention.core.errors import UserError
from worldattention.core.files import MANIFEST
from worldattention.core.history import Branch, History
from worldattention.core.history_file import MAX_BLOCKS
from worldattention.core.hkv.moves import Loan
from worldattention.core.hkv.tiers import Fetched, PoolTier
from worldattention.core.project import Project, project_from_json, project_to_json
from worldattention.core.saved_world import save_world
from worldattention.core.timeline import Event, make_timeline
from worldattention.core.world_files import open_world


def test_case_10_a_page_whose_copy_failed_is_dropped_when_it_has_to_make_way(tmp_path, monkeypatch):
    """Its slot holds nothing: it is not moved down, it is counted, and no other page is touched."""
    bank = make_bank(tmp_path, device=2, dram=2)
    frames = fill(bank, 2)
    with monkeypatch.context() as patch:
        patch.setattr(PoolTier, "fetch", lambda *_: Fetched(None, Loan()))
        assert bank.tier_of(0) == "device"
        bank.append(*new_frames(8))
    assert bank.tier_of(0) == "dropped"
    assert sum(tier.drops for tier in bank.usage()) == 1
    with bank.recall([1]) as recall:
        assert same_page(recall.pages[1], frames, 1)
    bank.close()


def test_a_page_for_which_every_room_is_gone_is_dropped_and_counted(tmp_path, monkeypatch):
    """Between the choice of a tier and the writing, the last one was turned off."""
    bank = make_bank(tmp_path, device=1, dram=1)
    fill(bank, 4)
    bank._store.flush()
    store = bank._store
    with monkeypatch.context() as patch:
        patch.setattr(store, "_room_from", lambda *_: None)
        with bank.recall([0]) as recall:
            assert set(recall.pages) == {0}  # it can still be read this once
    assert bank.tier_of(0) == "dropped"
    store.flush()
    assert all(entry.pins == 0 for entry in store._entries.values())
    with bank.recall([0]) as recall:
        assert recall.missed == (0,)
    bank.close()


def test_pages_read_ahead_beyond_their_room_are_given_up_one_by_one(tmp_path):
    """The room shrank meanwhile: the guesses that came first go, and a recall reads them again."""
    bank = make_bank(tmp_path, device=0, dram=0, disk=10)
    frames = fill(bank, 4)
    bank._store.flush()
    disk = bank._store._disk
    bank.prefetch(range(4))
    object.__setattr__(disk._options, "prefetch_bytes", 0)
    bank._store.flush()
    assert len(disk._staged) == 0
    with bank.recall(range(4)) as recall:
        assert all(same_page(data, frames, page) for page, data in recall.pages.items())
        assert recall.missed == ()
    bank.close()


def test_a_history_of_more_blocks_than_any_world_is_refused():
    record = {"prompt": "x", "count": MAX_BLOCKS}
    document = json.loads(project_to_json(two_branches()))
    for branch in document["history"]["branches"]:
        branch["blocks"] = [record]
    with pytest.raises(UserError, match="more blocks than any world"):
        project_from_json(json.dumps(document))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A saved world of a block, and how to open all of it."""
    folder = tmp_path_factory.mktemp("world") / "w"
    engine = toy_engine(folder=folder.parent / "cache")
    engine.step("a red house")
    timeline = make_timeline([Event(1, 0, 9, "a red house")])
    history = History((Branch("Main", timeline=timeline, records=tuple(engine.records)),))
    save_world(folder, engine, Project(timeline=timeline), history, telemetry=["{}"])
    engine.close()
    return folder


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("telemetry.jsonl", b"\xff\xfe", "damaged"),
        ("latents-00000.safetensors", b"no tensors", "damaged"),
        ("latents-00000.safetensors", b"\xff" * 64, "damaged"),
        ("latents-00000.safetensors", b"\x02\0\0\0\0\0\0\0{}", "does not hold"),
        ("latents-00000.safetensors", None, "lacks"),
    ],
)
def test_a_world_whose_manifest_vouches_for_nonsense_is_refused(world, name, content, told):
    """Sizes and hashes agree, so that what is inside has to be judged by itself."""
    kept = {path: path.read_bytes() for path in world.iterdir()}
    document = json.loads((world / MANIFEST).read_text())
    if content is None:
        del document["files"][name]
    else:
        (world / name).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        document["files"][name] = {"bytes": len(content), "sha256": sha256}
    (world / MANIFEST).write_text(json.dumps(document))
    try:
        opened = open_world(world)
        with pytest.raises(UserError, match=told) as error:
            _ = opened.telemetry(), list(opened.latents())
        assert name in str(error.value)
    finally:
        for path, data in kept.items():
            path.write_bytes(data)


def test_a_world_without_telemetry_has_none(world, tmp_path):
    document = json.loads((world / MANIFEST).read_text())
    del document["files"]["telemetry.jsonl"]
    for path in world.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / MANIFEST).write_text(json.dumps(document))
    assert open_world(tmp_path).telemetry() == []


@pytest.mark.parametrize("count", COUNTS)
def test_case_26_settings_of_any_content_never_block_the_start(tmp_path, count):
    """Settings and recent files: mutated, they are read as what they still are, or set aside."""
    settings_file, recent_file = tmp_path / "settings.json", tmp_path / "recent.json"
    PreferencesStore(settings_file).save(
        Preferences(model="a folder ñ", dram_quota_bytes=1 << 30, cache_folder="/x")
    )
    recent = Recent(recent_file)
    for number in range(12):
        recent.add(tmp_path / f"{number}.world")
    good = {path: path.read_bytes() for path in (settings_file, recent_file)}
    for _ in range(count):
        for path, data in good.items():
            path.write_bytes(mutated(data))
        store = PreferencesStore(settings_file)
        assert isinstance(store.current, Preferences)
        assert (store.problem is not None) is (not settings_file.exists())
        assert len(Recent(recent_file).paths) <= KEPT


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(max_size=300) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)
)
def test_settings_of_any_text(text):
    with suppress(ValueError):
        assert isinstance(preferences_from_json(text), Preferences)


def test_settings_nested_without_end_are_set_aside(tmp_path):
    for name, text in {"a": "[" * 200_000, "b": '{"model": ' * 100_000}.items():
        path = tmp_path / f"{name}.json"
        path.write_text(text)
        store = PreferencesStore(path)
        assert store.current == Preferences()
        assert "could not be read" in store.problem
        assert Recent(path).paths == ()
        (tmp_path / f"{name}.bad").replace(path)
        assert Recent(path).paths == ()
