"""The n-th call to the disk fails, for every n, while something is saved or opened: whole, old, or a plain sentence."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest
from PySide6.QtWidgets import QWidget

from tests.faulty_calls import FAULTS, FaultyCalls
from tests.toy import toy_engine
from worldattention.app.autosave import Autosave, find_lost
from worldattention.app.opening import Opening
from worldattention.app.preferences import Preferences, PreferencesStore
from worldattention.app.project_files import Present, ProjectFiles
from worldattention.app.recent import Recent
from worldattention.core.errors import UserError
from worldattention.core.history import Branch, History
from worldattention.core.hkv import session
from worldattention.core.parts import remove_dead_parts
from worldattention.core.project import Project, ProjectSettings, load_project, save_project
from worldattention.core.saved_world import save_world
from worldattention.core.timeline import Event, Timeline, make_timeline
from worldattention.core.world_files import open_world

OLD = Project("old", timeline=make_timeline([Event(1, 0, 5, "an owl")]))
NEW = Project("new", timeline=make_timeline([Event(1, 0, 9, "an owl " * 1400)]))
FAULT = pytest.mark.parametrize(
    ("fault", "once"),
    [(fault, once) for fault in FAULTS for once in (True, False) if once or fault != "EINTR"],
)  # Python asks again after EINTR: for ever, if it never ends
STEP = pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.endurance), 7])


class Projects:
    """A project over an older one."""

    def prepare(self, folder):
        save_project(OLD, folder / "p.world")

    def save(self, folder):
        save_project(NEW, folder / "p.world")

    def read(self, folder):
        return load_project(folder / "p.world").name

    state = read


class Settings:
    """Settings over older ones; what cannot be read is set aside with a sentence."""

    def prepare(self, folder):
        PreferencesStore(folder / "settings.json").save(Preferences(model="old"))

    def save(self, folder):
        store = PreferencesStore(None)
        store._file = folder / "settings.json"
        store.save(Preferences(model="new"))

    def read(self, folder):
        store = PreferencesStore(folder / "settings.json")
        if store.problem is not None:
            raise UserError(store.problem)
        return store.current.model

    def state(self, folder):
        return PreferencesStore(folder / "settings.json").current.model


class Lately:
    """The list of recent projects; that it cannot be kept is no failure."""

    def prepare(self, folder):
        Recent(folder / "recent.json").add(folder / "old")

    def save(self, folder):
        recent = Recent(None)
        recent._file = folder / "recent.json"
        recent.add(folder / "new")

    def read(self, folder):
        names = [path.name for path in Recent(folder / "recent.json").paths]
        return names[0] if names else "old"

    def state(self, folder):
        return json.loads((folder / "recent.json").read_text())[0].rsplit("/", 1)[1]


class Worlds:
    """A saved world over an older one, with pages."""

    def __init__(self, folder):
        engine = toy_engine(folder=folder / "cache")
        self.timeline = make_timeline([Event(1, 0, 30, "a red house")])
        self.engines = {}
        for name in ("old", "new"):
            engine.step("a red house")
            self.engines[name] = engine.fork()
        engine.close()

    def _save(self, folder, name):
        engine = self.engines[name]
        history = History((Branch("Main", timeline=self.timeline, records=tuple(engine.records)),))
        save_world(folder / "w", engine, Project(name), history, pages=True, telemetry=["{}"])

    def prepare(self, folder):
        self._save(folder, "old")

    def save(self, folder):
        self._save(folder, "new")

    def read(self, folder):
        world = open_world(folder / "w")
        assert len(list(world.latents())) == world.blocks == {"old": 1, "new": 2}[world.project.name]
        assert world.telemetry() == ["{}"]
        assert all(entry.file in world.files for entry in world.pages)
        return world.project.name

    state = read


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    made = Worlds(tmp_path_factory.mktemp("worlds"))
    yield made
    for engine in made.engines.values():
        engine.close()


KINDS = {"project": Projects, "settings": Settings, "recent": Lately, "world": None}


@STEP
@FAULT
@pytest.mark.parametrize("kind", KINDS)
def test_case_25_every_call_of_a_save_may_fail(tmp_path, worlds, kind, fault, once, step):
    """What is there afterwards is the old or the new, whole; a save that says nothing has saved."""
    keeper = worlds if kind == "world" else KINDS[kind]()
    for nth in count(0, step):
        folder = tmp_path / f"{nth}"
        folder.mkdir()
        keeper.prepare(folder)
        told = None
        with FaultyCalls(folder, fault, nth, once) as calls:
            try:
                keeper.save(folder)
            except UserError as error:
                told = str(error)
        assert told is None or (told.endswith(".") and "Traceback" not in told)
        state = keeper.state(folder)
        assert state in ("old", "new")
        assert state == "new" or told is not None or kind == "recent", (nth, calls.where)
        remove_dead_parts(folder)
        left = {path.name for path in folder.iterdir() if not path.name.endswith(".old")}
        assert left <= {"p.world", "settings.json", "recent.json", "w"}, (nth, calls.where)
        shutil.rmtree(folder)
        if not calls.was_hit:
            break
    assert nth > 4


@STEP
@FAULT
@pytest.mark.parametrize("kind", KINDS)
def test_every_call_of_an_opening_may_fail(tmp_path, worlds, kind, fault, once, step):
    """What is opened is what was saved, or a sentence says why not; the file is as it was."""
    keeper = worlds if kind == "world" else KINDS[kind]()
    for nth in count(0, step):
        folder = tmp_path / f"{nth}"
        folder.mkdir()
        keeper.prepare(folder)
        with FaultyCalls(folder, fault, nth, once) as calls, suppress(UserError):
            assert keeper.read(folder) == "old"
        if kind != "settings":  # those are set aside
            assert keeper.state(folder) == "old"
        shutil.rmtree(folder)
        if not calls.was_hit:
            break
    assert nth >= 2


@STEP
@FAULT
def test_case_25_every_call_of_an_autosave_and_of_a_recovery_may_fail(tmp_path, qtbot, fault, once, step):
    parent = QWidget()
    qtbot.addWidget(parent)
    now = [Timeline()]
    opening = Opening(parent)
    files = ProjectFiles(
        parent, opening, Project("Night"), None, lambda: Present(now[0], (), ProjectSettings())
    )
    for nth in count(0, step):
        folder, now[0] = tmp_path / f"{nth}", Timeline()
        autosave = Autosave(folder, files)
        now[0] = OLD.timeline
        assert autosave.keep()
        now[0] = NEW.timeline
        with FaultyCalls(folder, fault, nth, once) as calls:
            kept = autosave.keep()
        autosave._timer.stop()
        autosave._disk.shutdown()
        autosave._lock.unlock()  # a crash
        with FaultyCalls(folder, fault, nth, once) as reading:
            found = find_lost(folder)
        found = found or find_lost(folder)
        if found:
            assert found[0].project.timeline in (OLD.timeline, NEW.timeline)
            assert found[0].project.timeline == NEW.timeline or not kept
            with FaultyCalls(folder, fault, nth, once):
                found[0].discard()
        else:
            assert reading.was_hit  # a copy that cannot be read is not offered
        for left in find_lost(folder):
            assert not once  # nothing can be discarded on a disk that takes nothing at all
            left.discard()
        assert find_lost(folder) == []
        if not (calls.was_hit or reading.was_hit):
            break
    assert nth > 4


@STEP
@FAULT
def test_case_10_every_call_of_a_session_may_fail(tmp_path, monkeypatch, fault, once, step):
    """Made and closed, or an OSError and nothing left that the next start does not remove."""
    monkeypatch.setattr(session, "UNMARKED_S", -1.0)
    for nth in count(0, step):
        root = tmp_path / f"{nth}" / "pages"
        root.parent.mkdir()
        with FaultyCalls(root, fault, nth, once) as calls:
            try:
                made = session.CacheSession(root)
                made.page_path(1).touch()
                made.check()
                session.remove_dead_sessions(root)
                made.close()
            except OSError:
                made = None
        session.remove_dead_sessions(root)
        left = [str(path) for path in root.glob("*")]
        if made is not None and left:
            made.close()
        assert list(root.glob("*/*.page")) == [] or made is not None, calls.where
        if not calls.was_hit:
            assert left == []
            break
    assert nth > 4


def test_the_faults_do_reach_what_they_are_for(tmp_path):
    """Every kind of call is met by one of these; a fault that misses would show nothing."""
    save_project(OLD, tmp_path / "p.world")
    seen = set()
    for nth in count():
        with FaultyCalls(tmp_path, "EIO", nth, True) as calls, suppress(UserError):
            save_project(replace(OLD, name=f"{nth}"), tmp_path / "p.world")
        seen.add(calls.where)
        if not calls.was_hit:
            break
    assert {"open", "close", "write", "fsync", "replace", "stat"} <= seen | {
        "replace" if "rename" in seen else ""
    }
