"""Damaged files of every kind end in our own errors, in bounded memory, or are read as what they still are."""

from __future__ import annotations

import json
import random
import tracemalloc
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.banks import SHAPE, new_frames
from tests.fakes_cli import FakeEngine
from tests.toy import toy_engine, toy_model
from worldattention.app.autosave import SUFFIX, find_lost
from worldattention.core import recorded
from worldattention.core.errors import UserError
from worldattention.core.history import BlockRecord, Branch, History
from worldattention.core.hkv.codec import RAW, encode_page, lay_out, page_bytes
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.page import PageData, PageInfo
from worldattention.core.hkv.page_file import PageFileError, PageKey, read_page, write_page
from worldattention.core.project import Project, load_project, project_to_json, save_project
from worldattention.core.saved_world import save_world
from worldattention.core.telemetry import PageRecord, telemetry_from_json
from worldattention.core.telemetry_lines import lines_of
from worldattention.core.timeline import Event, make_timeline
from worldattention.core.world_files import open_world

COUNTS = [100, pytest.param(1000, marks=pytest.mark.endurance)]
TOKENS = (
    b"-1",
    b"1e999",
    b"null",
    b"[]",
    b"{}",
    b'"x"',
    b"99999999999999999999",
    b"true",
    b"[[1],[]]",
    b"NaN",
    b"\xff",
)


def mutated(data: bytes) -> bytes:
    """One to four small damages: bits, bytes gone or doubled, other values, an early end."""
    result = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(result) + 1)
        kind = random.randrange(6)
        if kind == 0 and place < len(result):
            result[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            del result[place : place + random.randint(1, 30)]
        elif kind == 2:
            result[place:place] = result[place : place + random.randint(1, 30)]
        elif kind == 3:
            del result[place:]
        else:  # another value in the place of one
            start = max(result.rfind(b":", 0, place), result.rfind(b"[", 0, place)) + 1
            ends = [end for end in (result.find(sign, start) for sign in b",]}") if end >= 0]
            result[start : min(ends, default=start)] = random.choice(TOKENS)
    return bytes(result)


def flipped(data: bytes, bit: int) -> bytes:
    """The data with one bit the other way."""
    result = bytearray(data)
    result[bit // 8] ^= 1 << bit % 8
    return bytes(result)


def two_branches() -> Project:
    timeline = make_timeline([Event(1, 0, 3, "a red house"), Event(2, 3, 30, "한글 ñ")])
    records = tuple(BlockRecord("a red house", pages=(1, 2)) for _ in range(5))
    history = History(
        (Branch("Main", timeline=timeline, records=records), Branch("two", "Main", 3, timeline))
    )
    return Project("World", timeline=timeline, history=history)


def bounded(read, most_bytes: int = 4 << 20) -> None:
    """Runs `read`, which may allocate no more than that at any moment."""
    tracemalloc.start()
    try:
        read()
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", COUNTS)
def test_page_files(tmp_path, count):
    key = PageKey(bytes(range(16)), 7, "pocket", SHAPE, 5)
    page = lay_out(
        PageInfo(0, 0, 5, 0, 0), SHAPE, RAW, torch.empty(page_bytes(RAW, SHAPE, 5), dtype=torch.uint8)
    )
    encode_page(PageData(page.info, *new_frames(5)), page)
    path = tmp_path / "7.page"
    write_page(path, key, page.parts, DiskIO())
    good, into = path.read_bytes(), torch.empty_like(page.parts)
    damages = [flipped(good, 8 * byte + random.randrange(8)) for byte in range(key.header_bytes())]
    damages += [flipped(good, random.randrange(8 * len(good))) for _ in range(count)]
    damages += [good[: random.randrange(len(good))] for _ in range(count)]  # torn
    damages += [
        good[:cut] + bytes(len(good) - cut) for cut in random.sample(range(len(good) - 99), count // 10)
    ]
    damages += [mutated(good) for _ in range(count)]
    for damaged in damages:
        path.write_bytes(damaged)
        if damaged == good:
            continue
        with pytest.raises(PageFileError):
            read_page(path, key, into, DiskIO())
    path.write_bytes(good)
    read_page(path, key, into, DiskIO())
    assert torch.equal(into, page.parts)


@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=600))
def test_page_files_of_anything(tmp_path_factory, data):
    key = PageKey(bytes(16), 0, "", SHAPE, 1)
    path = tmp_path_factory.mktemp("page") / "0.page"
    path.write_bytes(data)
    with pytest.raises(PageFileError):
        read_page(path, key, torch.empty(SHAPE.layers, 2, key.part_bytes(), dtype=torch.uint8), DiskIO())


@pytest.mark.parametrize("count", COUNTS)
def test_projects(tmp_path, count):
    good, path = project_to_json(two_branches()).encode(), tmp_path / "p.world"

    def read():
        for _ in range(count):
            path.write_bytes(mutated(good))
            try:
                found = load_project(path)
            except UserError:
                continue
            save_project(found, path)
            assert load_project(path) == found

    bounded(read)


@pytest.mark.parametrize("count", COUNTS)
def test_copies_of_unsaved_work(tmp_path, qapp, count):
    record = json.dumps({"path": None, "project": project_to_json(two_branches())}).encode()
    for number in range(count // 4):
        copy = tmp_path / f"{number:04d}{SUFFIX}"
        copy.write_bytes(mutated(record))
        for found in find_lost(tmp_path):
            found.discard()
        assert not copy.exists()
    (tmp_path / f"deep{SUFFIX}").write_bytes(b"[" * 200_000)
    assert find_lost(tmp_path) == []


@pytest.mark.parametrize("count", COUNTS)
def test_recorded_sessions(tmp_path, count):
    engine = FakeEngine()
    pages = tuple(PageRecord(page, 0, 8 * page, 8, "disk", 0.5, 0.25, True) for page in range(2))
    made = [replace(engine.step("a ball").telemetry, pages=pages) for _ in range(3)]
    made += [replace(one, block=3 + one.block, pages=(*pages, replace(pages[0], page=2))) for one in made]
    kinds = [record.to_json() for record in made], lines_of(made)
    good, path = ["".join(f"{line}\n" for line in lines).encode() for lines in kinds], tmp_path / "r.jsonl"

    def read():
        for number in range(count):
            path.write_bytes(mutated(good[number % 2]))
            try:
                records = recorded._renumbered(recorded._read_log(path, lambda _share: None))
            except UserError:
                continue
            session = recorded.RecordedSession(path, 8, 8, records)
            assert session.frames >= 0
            assert session.timeline.seconds >= 0 or not records
            for one in records:
                assert telemetry_from_json(one.to_json()).to_json() == one.to_json()
                assert one.fps >= 0

    bounded(read)


@pytest.mark.parametrize("count", COUNTS)
def test_saved_worlds(tmp_path, count):
    engine = toy_engine(folder=tmp_path / "cache")
    project = replace(two_branches(), history=History())
    for _ in range(2):
        engine.step("a red house")
    history = History((Branch("Main", timeline=project.timeline, records=tuple(engine.records)),))
    folder, model = tmp_path / "saved", toy_model()
    save_world(folder, engine, project, history, pages=True, telemetry=["{}"])
    engine.close()
    good = {path: path.read_bytes() for path in folder.iterdir()}

    def read():
        world = open_world(folder)
        list(world.latents())
        for page in world.pages:
            world.page(page, model)
        world.telemetry()

    def read_all():
        for number in range(count):
            path = list(good)[number % len(good)] if number % 2 else folder / "world.json"
            damaged = mutated(good[path])
            path.write_bytes(damaged)
            try:
                read()
            except UserError:
                pass
            else:
                assert path.name == "world.json" or damaged == good[path]
            path.write_bytes(good[path])

    bounded(read_all)
    read()
