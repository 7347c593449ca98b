"""Saved worlds: gone on from in another process, and folders that somebody has tampered with."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.faulty_disk import tmpfs
from tests.toy import toy_config, toy_engine, toy_model
from worldattention.core.config import with_choices
from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.files import MANIFEST, is_saved_world
from worldattention.core.project import Project
from worldattention.core.saved_world import restore_world, save_world
from worldattention.core.session import Session
from worldattention.core.timeline import Timeline
from worldattention.core.world_files import open_world

STORY = Timeline().add(0.0, 9.75, "a red house by the sea").add(9.75, 60.0, "tall tower under snow tonight")


def digest(frames) -> str:
    return hashlib.sha256(frames.tobytes()).hexdigest()


def saved(folder: Path, blocks: int = 15, pages: bool = True) -> tuple[Session, Path]:
    session = Session(toy_engine(3), STORY)
    lines = [session.step().telemetry.to_json() for _ in range(blocks)]
    project = Project("Saved", timeline=STORY)
    save_world(folder, session.engine, project, session.history, pages=pages, telemetry=lines)
    return session, folder


CONTINUE = """
import hashlib, sys
from pathlib import Path
from tests.toy import toy_engine
from worldattention.core.saved_world import restore_world
from worldattention.core.session import Session
from worldattention.core.world_files import open_world
for folder in sys.argv[1:]:
    world = open_world(Path(folder))
    engine = toy_engine(3)
    restore_world(engine, world)
    session = Session(engine, world.project.timeline)
    session.begin(world.history)
    for _ in range(3):
        result = session.step()
        print(hashlib.sha256(result.frames.tobytes()).hexdigest(), result.telemetry.approximate)
    session.close()
"""


@pytest.mark.timeout(300)
def test_another_process_goes_on_bit_for_bit_with_pages_and_without(tmp_path) -> None:
    session, folder = saved(tmp_path / "한글 폴더 ñ")
    small = tmp_path / "small"
    save_world(small, session.engine, Project("Saved", timeline=STORY), session.history)
    ours = [f"{digest(session.step().frames)} False" for _ in range(3)]
    session.close()
    done = subprocess.run(
        [sys.executable, "-c", CONTINUE, str(folder), str(small)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([".", *sys.path])},
        cwd=Path(__file__).resolve().parents[1],
    )
    assert done.stdout.split() == " ".join(ours + ours).split(), done.stderr
    assert any(folder.glob("page-*"))
    assert not any(small.glob("page-*"))


def test_without_pages_on_another_machine_it_is_approximate_and_says_so(tmp_path) -> None:
    session, folder = saved(tmp_path / "world", 4, pages=False)
    session.close()
    document = json.loads((folder / MANIFEST).read_text())
    document["made_by"]["device"] = "another machine"
    (folder / MANIFEST).write_text(json.dumps(document))
    engine = toy_engine(3)
    restore_world(engine, open_world(folder))
    notices = Session(engine, STORY).step().telemetry.notices
    assert [notice for notice in notices if "approximately" in notice]
    engine.close()


@pytest.mark.parametrize("pages", [True, False])
def test_a_world_goes_on_from_another_place_that_nobody_can_write_to(tmp_path, pages) -> None:
    """Nothing in it tells of where it was saved, and nothing is written there: a disc will do."""
    (tmp_path / "here").mkdir()
    session, folder = saved(tmp_path / "here" / "world", 15, pages)
    expected = [digest(session.step().frames) for _ in range(3)]
    session.close()
    assert not any(str(tmp_path).encode() in path.read_bytes() for path in folder.iterdir())
    there = tmp_path / "한글 디스크" / "elsewhere"
    with tmpfs(there.parent, 16 << 20) as mounted:
        shutil.move(folder, there)
        if mounted:
            subprocess.run(["mount", "-o", "remount,ro", str(there.parent)], check=True)
        for path in (*there.iterdir(), there) if not mounted else ():
            path.chmod(0o500)
        before = sorted((path.name, path.stat().st_mtime_ns) for path in there.iterdir())
        world, engine = open_world(there), toy_engine(3)
        restore_world(engine, world)
        again = Session(engine, world.project.timeline)
        again.begin(world.history)
        assert [digest(again.step().frames) for _ in range(3)] == expected
        again.close()
        assert sorted((path.name, path.stat().st_mtime_ns) for path in there.iterdir()) == before
        there.chmod(0o700) if not mounted else None


@pytest.mark.parametrize("here", [torch.bfloat16, torch.float32])
def test_pages_of_a_machine_that_computes_with_other_numbers_are_taken(tmp_path, here) -> None:
    """bf16 on one machine, fp32 on another: the same model, so the world goes on, and says that it is not exact."""
    there = torch.float32 if here is torch.bfloat16 else torch.bfloat16
    session = Session(Engine(toy_model(dtype=there), toy_config(3)), STORY)
    for _ in range(12):
        session.step()
    save_world(tmp_path / "w", session.engine, Project(timeline=STORY), session.history, pages=True)
    expected = session.step().frames
    session.close()
    engine, world = Engine(toy_model(dtype=here), toy_config(3)), open_world(tmp_path / "w")
    restore_world(engine, world)
    result = Session(engine, STORY).step()
    assert sum("other numbers" in notice for notice in result.telemetry.notices) == 1
    assert result.telemetry.approximate
    assert np.abs(result.frames.astype(int) - expected).mean() < 4
    engine.close()


def test_settings_of_the_past_do_not_leak_and_branches_come_along(tmp_path) -> None:
    model = toy_model()
    session = Session(toy_engine(3, model), STORY)
    for _ in range(3):
        session.step()
    session.configure(with_choices(session.engine.config, attention="dense"))
    session.step()
    session.rewind(2, "Boat")
    session.say("a yellow boat")
    for _ in range(3):
        session.step()
    save_world(tmp_path / "world", session.engine, Project(timeline=session.timeline), session.history)
    expected = [digest(session.step().frames) for _ in range(2)]
    session.switch("Main")
    main = digest(session.step().frames)
    world = open_world(tmp_path / "world")
    engine = toy_engine(3, model)
    restore_world(engine, world)
    again = Session(engine, world.project.timeline)
    again.begin(world.history)
    assert again.history.current == "Boat"
    assert [digest(again.step().frames) for _ in range(2)] == expected
    again.switch("Main")
    assert [digest(again.step().frames) for _ in range(3)][-1] == main
    again.close()
    session.close()


def test_files_are_private_and_an_older_save_is_replaced_whole(tmp_path) -> None:
    session, folder = saved(tmp_path / "world", 3)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    session.step()
    save_world(folder, session.engine, Project(timeline=STORY), session.history)
    assert open_world(folder).blocks == 4
    assert not any(folder.glob("page-*"))
    assert [path.name for path in tmp_path.iterdir()] == ["world"]
    assert is_saved_world(folder)
    session.close()


def test_names_reach_the_disk_as_well_as_bytes(tmp_path, monkeypatch) -> None:
    """A machine that is switched off: first the files, then their folder's names, then the world's own name."""
    synced: list[str] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    session, folder = saved(tmp_path / "world", 3)
    session.close()
    *files, part, parent = synced
    assert {Path(path).name for path in files} == {path.name for path in folder.iterdir()}
    assert {str(Path(path).parent) for path in files} == {part}
    assert Path(part).parent == Path(parent) == tmp_path


def test_nothing_else_is_overwritten_and_nothing_half_written_is_left(tmp_path, monkeypatch) -> None:
    session, folder = saved(tmp_path / "world", 2)
    project = Project(timeline=STORY)
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.png").write_bytes(b"x")
    (tmp_path / "link").symlink_to(folder)
    for place in (other, other / "cat.png", tmp_path / "link", tmp_path / "no" / "where"):
        with pytest.raises(UserError):
            save_world(place, session.engine, project, session.history)
    with pytest.raises(UserError, match="nothing to save"):
        save_world(tmp_path / "new", toy_engine(), project, session.history)
    monkeypatch.setattr(os, "fsync", lambda _descriptor: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(UserError, match="disk is full"):
        save_world(folder, session.engine, project, session.history)
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} == {"world", "photos", "link"}
    assert open_world(folder).blocks == 2
    session.close()


def tampered(name: str, how: str, folder: Path) -> None:
    path = folder / name
    if how == "gone":
        path.unlink()
    elif how == "link":
        path.rename(folder.parent / "elsewhere")
        path.symlink_to(folder.parent / "elsewhere")
    elif how == "short":
        path.write_bytes(path.read_bytes()[:-1])
    elif how == "longer":
        path.write_bytes(path.read_bytes() + b"\0")
    elif how == "pipe":
        path.unlink()
        os.mkfifo(path)
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    session, folder = saved(tmp_path_factory.mktemp("good") / "world", 5)
    session.close()
    return folder


@pytest.mark.parametrize("how", ["gone", "link", "short", "longer", "flipped"])
@pytest.mark.parametrize("name", ["latents-00000.safetensors", "page-000001.safetensors", MANIFEST])
def test_a_hostile_folder_is_refused_with_the_file_named(good: Path, tmp_path, name: str, how: str) -> None:
    folder = copied(good, tmp_path)
    if name == MANIFEST and how in ("longer", "flipped"):
        how = "short"  # anything else may still be a sound manifest, whose files are checked
    tampered(name, how, folder)
    engine = toy_engine(3)
    with pytest.raises(UserError, match=name.replace(".", r"\.")):
        restore_world(engine, open_world(folder))
    engine.close()


def copied(good: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "world"
    folder.mkdir()
    for path in good.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "else"),
        (["format_version"], 2),
        (["blocks"], 10**9),
        (["blocks"], 6),
        (["blocks"], -1),
        (["files", "../../etc/passwd"], {"bytes": 1, "sha256": "0" * 64}),
        (["pages", 0, "file"], "../page-000000.safetensors"),
        (["pages", 0, "frames"], 1 << 40),
        (["files", "latents-00000.safetensors", "bytes"], 1 << 60),
        (["files", "latents-00000.safetensors", "sha256"], "x"),
        (["geometry", "latent_width"], 4000),
        (["history", "branches"], []),
        (["project", "events"], 3),
        (["project"], None),
        (["fingerprint"], "another model"),
    ],
)
def test_a_manifest_that_lies_is_refused_in_one_sentence(good: Path, tmp_path, path, value) -> None:
    folder = copied(good, tmp_path)
    document = json.loads((folder / MANIFEST).read_text())
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (folder / MANIFEST).write_text(json.dumps(document))
    engine = toy_engine(3)
    with pytest.raises(UserError) as told:
        restore_world(engine, open_world(folder))
    assert "\n" not in str(told.value)
    engine.close()


def test_no_saved_world_is_told(tmp_path) -> None:
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(UserError):
            open_world(place)
    (tmp_path / MANIFEST).write_text("[" * 100_000)
    with pytest.raises(UserError, match="no saved world"):
        open_world(tmp_path)
