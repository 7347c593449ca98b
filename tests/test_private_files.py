"""Whatever a sitting writes is for its user alone, and lies where it belongs: files 0600, folders 0700."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.toy import toy_config, toy_model
from worldattention.app import appearance
from worldattention.core.engine import Engine
from worldattention.core.files import private_folder, replacing
from worldattention.core.session import Session
from worldattention.core.timeline import Event, make_timeline

PAGE_BYTES = 8 * 6144  # of the toy
STORY = make_timeline([Event(n + 1, n, n + 1.0, f"a {('red', 'blue')[n % 2]} house") for n in range(40)])


def modes(folder: Path) -> dict[str, str]:
    """Kind and permissions of everything under a folder, links not followed."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        found[str(path.relative_to(folder.parent))] = stat.filemode(status.st_mode)
    return found


def nameless(folder: Path) -> list[str]:
    """Permissions of the files that this process holds open there and that have no name."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            place = os.readlink(descriptor)
            if place.startswith(str(folder)) and place.endswith("(deleted)"):
                found.append(stat.filemode(os.fstat(int(descriptor.name)).st_mode))
        except OSError:
            continue
    return found


@pytest.fixture
def open_hands():
    """A user whose files are everybody's unless a program says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_all_that_a_sitting_writes_is_private(make_window, qtbot, tmp_path, open_hands):
    """A window over the toy world with pages in all tiers: the cache and the folder of what is remembered."""
    cache, config = tmp_path / "cache", tmp_path / "config"
    quotas = {"device_quota_bytes": PAGE_BYTES, "dram_quota_bytes": PAGE_BYTES, "folder": cache / "pages"}
    engines = []

    def open_engine(_config, _progress):
        engines.append(Engine(toy_model(), toy_config(write_through=True, **quotas)))
        return engines[-1]

    one = make_window(STORY, remember=True, setup={"open_engine": open_engine, "open_session": Session})
    qtbot.waitUntil(lambda: one.world.blocks >= 12, timeout=60000)
    one.world.playback.pause()
    one.model.open(make_timeline([Event(1, 0, 5, "an owl")]))
    assert one.library.autosave.keep()
    one.library.recent.add(tmp_path / "one.world")
    one._setup.preferences._file = config / "settings.json"
    one._setup.preferences.save(replace(one._setup.preferences.current, attention="dense"))
    one.recording_flow._mark(tmp_path / "live.mp4")
    appearance.remember(config / "window.ini", appearance.Appearance("light", "ko"))
    engines[0].bank._store.flush()
    there = modes(cache) | modes(config)
    names = {Path(name).name for name in there}
    assert {"settings.json", "recent.json", "window.ini", "recording", "unsaved", "lock"} <= names
    assert sum(name.endswith(".page") for name in names) > 2
    assert sum(name.endswith((".recovery", ".recovery.lock")) for name in names) == 2
    assert {name: mode for name, mode in there.items() if mode not in ("-rw-------", "drwx------")} == {}
    private = nameless(cache)
    assert len(private) >= 3  # frames, telemetry, latents
    assert set(private) == {"-rw-------"}
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "config"}
    one.files.accept_present()
    one.close()
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    assert list((config / "unsaved").iterdir()) == []


def test_a_project_keeps_its_permissions_and_what_is_private_never_has_others(tmp_path, open_hands):
    shared = tmp_path / "shared"
    shared.write_text("old")
    shared.chmod(0o664)
    for private, mode in ((False, 0o664), (True, 0o600)):
        with replacing(shared, "the file", private) as temporary:
            assert stat.S_IMODE(temporary.stat().st_mode) in (mode, 0o600)
        assert stat.S_IMODE(shared.stat().st_mode) == mode
    private_folder(tmp_path / "한글" / "b" / "c")
    assert {mode for name, mode in modes(tmp_path / "한글").items()} == {"drwx------"}
