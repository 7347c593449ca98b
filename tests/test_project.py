"""Projects: round trips, what is kept, and every bad file in one sentence."""

import contextlib
import json
import locale
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.config import ATTENTION_MODES, PRESETS, RETRIEVAL_POLICIES
from worldattention.core.errors import UserError
from worldattention.core.project import (
    FORMAT,
    MAX_PROJECT_BYTES,
    Project,
    ProjectSettings,
    load_project,
    new_project,
    project_from_json,
    project_to_json,
    save_project,
)
from worldattention.core.timeline import Event, make_timeline

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


def extras(*known: str):
    return st.dictionaries(text.filter(lambda key: key not in known), json_values, max_size=3)


@st.composite
def timelines(draw):
    times = draw(st.lists(st.floats(0, 600_000), max_size=12, unique=True).map(sorted))
    spans = list(zip(times[::2], times[1::2], strict=False))
    ids = draw(st.permutations(range(1, len(spans) + 1)))
    return make_timeline(
        Event(event_id, start, end, draw(text)) for event_id, (start, end) in zip(ids, spans, strict=True)
    )


@st.composite
def projects(draw):
    timeline = draw(timelines())
    ids = [event.id for event in timeline.events]
    return Project(
        name=draw(text),
        seconds=draw(st.none() | st.floats(0.1, 600_000)),
        timeline=timeline,
        settings=ProjectSettings(
            preset=draw(st.sampled_from(PRESETS)),
            attention=draw(st.sampled_from(ATTENTION_MODES)),
            retrieval=draw(st.sampled_from(RETRIEVAL_POLICIES)),
            density=draw(st.none() | st.floats(0.001, 1)),
            seed=draw(st.integers(0, 2**63 - 1)),
            extra=draw(extras("preset", "attention", "retrieval", "density", "seed")),
        ),
        extra=draw(extras("format", "format_version", "name", "seconds", "settings", "events", "history")),
        event_extra={
            event_id: extra for event_id in ids if (extra := draw(extras("id", "start", "end", "prompt")))
        },
    )


@settings(max_examples=60, deadline=None)
@given(projects())
def test_round_trip_keeps_everything(project):
    assert project_from_json(project_to_json(project)) == project


def test_file_round_trip_and_second_save_are_equal(tmp_path):
    path = tmp_path / "한글 폴더 ñ" / "världen.world"
    path.parent.mkdir()
    timeline = make_timeline([Event(3, 0.1, 1 / 3, "🎈 שלום עולם"), Event(1, 2.5, 4.0, "")])
    project = Project("Büro", 12.5, timeline, ProjectSettings(seed=2**63 - 1), {"later": {"a": [1, None]}})
    save_project(project, path)
    first = path.read_bytes()
    assert load_project(path) == project
    save_project(load_project(path), path)
    assert path.read_bytes() == first
    assert "שלום".encode() in first
    assert os.listdir(path.parent) == [path.name]


def test_numbers_are_written_with_points_under_a_comma_locale(tmp_path, monkeypatch):
    """A German or French locale where one is installed, and in any case a `locale` module that says comma."""
    path = tmp_path / "p.world"
    project = Project(timeline=make_timeline([Event(1, 0.5, 1234.5, "x")]), seconds=2000.25)
    comma = {**locale.localeconv(), "decimal_point": ",", "thousands_sep": "."}
    old = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, name)
    monkeypatch.setattr(locale, "localeconv", lambda: comma)
    assert locale.str(1.5) == "1,5"
    try:
        save_project(project, path)
        assert load_project(path) == project
    finally:
        locale.setlocale(locale.LC_ALL, old)
    assert '"end": 1234.5' in path.read_text(encoding="utf-8")
    assert '"seconds": 2000.25' in path.read_text(encoding="utf-8")


def test_defaults_and_hand_written_events():
    document = {
        "format": FORMAT,
        "format_version": 1,
        "events": [
            {"start": 0, "end": 5, "prompt": "a"},
            {"id": 7, "start": 5, "end": 6, "prompt": "b"},
            {"start": 6, "end": 8, "prompt": "c", "colour": "red"},
        ],
    }
    project = project_from_json(json.dumps(document))
    assert [event.id for event in project.timeline.events] == [8, 7, 9]
    assert project.event_extra == {9: {"colour": "red"}}
    assert project.duration == 8
    assert project.settings == ProjectSettings()
    assert new_project("N").duration == 0


def test_byte_order_mark_is_no_error(tmp_path):
    path = tmp_path / "p.world"
    path.write_bytes(b"\xef\xbb\xbf" + project_to_json(new_project()).encode())
    assert load_project(path) == new_project()


def entry(**change):
    return {"id": 1, "start": 0.0, "end": 1.0, "prompt": "x"} | change


def document(**change):
    return json.dumps({"format": FORMAT, "format_version": 1} | change)


BAD = {
    "empty": ("", "is empty"),
    "blank": (" \n\t", "is empty"),
    "broken": ('{"format": "worldattention-project",', "broken at line 1"),
    "foreign list": ("[1, 2]", "no WorldAttention project"),
    "foreign object": ('{"kdenlive": 1}', "no WorldAttention project"),
    "foreign format": (document(format="other"), "no WorldAttention project"),
    "future": (document(format_version=2), "later version"),
    "past": (document(format_version=0), "never"),
    "version text": (document(format_version="1"), "'format_version'"),
    "version missing": ('{"format": "worldattention-project"}', "'format_version'"),
    "nan": (document(seconds=math.nan), "no finite number"),
    "infinity": (document(events=[entry(end=math.inf)]), "no finite number"),
    "overflow": (document().replace("1}", '1, "x": 1e999}'), "no finite number"),
    "huge whole number": (document(events=[entry(end=10**400)]), "'events.0.end'"),
    "negative": (document(events=[entry(start=-1.0)]), "before 0 s"),
    "backwards": (document(events=[entry(start=2.0)]), "positive length"),
    "overlap": (document(events=[entry(), entry(id=2, start=0.5, end=2.0)]), "overlap"),
    "same id": (document(events=[entry(), entry(start=2.0, end=3.0)]), "share the id"),
    "long prompt": (document(events=[entry(prompt="x" * 100_000)]), "100,000 characters"),
    "nul prompt": (document(events=[entry(prompt="a\0b")]), "NUL"),
    "nul name": (document(name="a\0b"), "NUL"),
    "surrogate prompt": (document(events=[entry(prompt="\ud83d")]), "surrogate"),
    "surrogate elsewhere": (document(other={"\udc00": 1}), "surrogate"),
    "prompt number": (document(events=[entry(prompt=3)]), "'events.0.prompt'"),
    "event text": (document(events=["x"]), "'events.0'"),
    "events object": (document(events={}), "'events'"),
    "settings null": (document(settings=None), "should be an object"),
    "attention": (document(settings={"attention": "magic"}), "Unknown attention 'magic'"),
    "retrieval": (document(settings={"retrieval": ""}), "Unknown retrieval"),
    "preset": (document(settings={"preset": "x"}), "Unknown preset"),
    "density": (document(settings={"density": 0}), "density"),
    "seed": (document(settings={"seed": -1}), "seed"),
    "seed real": (document(settings={"seed": 1.5}), "'settings.seed'"),
    "seconds zero": (document(seconds=0), "'seconds'"),
    "seconds true": (document(seconds=True), "'seconds'"),
    "too long": (document(events=[entry(end=1e9)]), "hours"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "digits": ("1" * 10_000, "too many digits"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_text_is_one_sentence_that_names_the_file(tmp_path, name):
    content, message = BAD[name]
    path = tmp_path / "bad.world"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_project(path)
    sentence = str(caught.value)
    assert message.lower() in sentence.lower()
    assert str(path) in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize("depth", [100, 800, 960, 990, 5000])
def test_what_can_be_opened_can_be_saved(tmp_path, depth):
    path = tmp_path / "deep.world"
    path.write_text(document(x=0)[:-2] + '{"a":' * depth + "1" + "}" * (depth + 1), encoding="utf-8")
    refusal = ""
    try:
        project = load_project(path)
    except UserError as error:
        refusal = str(error)
    else:
        save_project(project, tmp_path / "again.world")
        assert load_project(tmp_path / "again.world") == project
    assert not refusal or (depth > 100 and "nested too deeply" in refusal)


def test_bad_files_are_one_sentence(tmp_path):
    huge = tmp_path / "huge.world"
    with huge.open("wb") as file:
        file.truncate(MAX_PROJECT_BYTES + 1)
    (tmp_path / "binary.world").write_bytes(b"\xff\xfe\0\1")
    os.mkfifo(tmp_path / "pipe.world")
    for path, message in [
        (tmp_path / "missing.world", "no such file"),
        (tmp_path, "is a folder"),
        (huge, "bytes"),
        (tmp_path / "binary.world", "no UTF-8"),
        (tmp_path / "pipe.world", "no ordinary file"),
        (Path("/dev/zero"), "no ordinary file"),
        (tmp_path / "binary.world" / "x", "not a folder"),
        (tmp_path / ("x" * 300), "too long"),
        ("nul\0.world", "no file name"),
    ]:
        with pytest.raises(UserError, match=message):
            load_project(path)


def test_save_follows_links_and_keeps_permissions(tmp_path):
    real = tmp_path / "real.world"
    save_project(new_project("one"), real)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~umask()
    real.chmod(0o600)
    link = tmp_path / "link.world"
    link.symlink_to(real)
    save_project(new_project("two"), link)
    assert link.is_symlink()
    assert load_project(real).name == "two"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_failed_save_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    path = tmp_path / "p.world"
    save_project(new_project("old"), path)
    before = path.read_bytes()

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="disk is full"):
        save_project(new_project("new"), path)
    monkeypatch.undo()
    monkeypatch.setattr(os, "fsync", lambda descriptor: full(None, None))
    with pytest.raises(UserError, match="disk is full"):
        save_project(new_project("new"), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["p.world"]


def test_unsound_projects_are_not_saved(tmp_path):
    path = tmp_path / "p.world"
    for project in [
        Project(name="\ud800"),
        Project(seconds=math.inf),
        Project(extra={"x": math.nan}),
        Project(settings=ProjectSettings(attention="magic")),
    ]:
        with pytest.raises(UserError):
            save_project(project, path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["folder", "locked", "missing"])
def test_save_to_a_bad_place_is_one_sentence(tmp_path, kind):
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked").write_text("x")
    (tmp_path / "locked").chmod(0o400)
    target = tmp_path / kind / "x" if kind == "missing" else tmp_path / kind
    with pytest.raises(UserError, match=r"folder|read-only"):
        save_project(new_project(), target)
    assert sorted(os.listdir(tmp_path)) == ["folder", "locked"]


def test_a_killed_save_leaves_the_old_project_whole(tmp_path):
    path = tmp_path / "p.world"
    save_project(new_project("old"), path)
    script = (
        "import os, pathlib, sys\n"
        "from worldattention.core.project import new_project, save_project\n"
        "os.fsync = lambda descriptor: os._exit(9)\n"
        "save_project(new_project('new'), sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=60)
    assert done.returncode == 9
    assert load_project(path).name == "old"
