"""Folders that may not be entered: the program goes on without them, as it does without those that are not there.

Tests may run as a user who may enter everything, so the system is made to say no.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import worldattention.core
from tests.toy import toy_config, toy_model
from worldattention.app import appearance
from worldattention.core.engine import Engine
from worldattention.core.hkv.quotas import free_bytes

SOURCES = Path(worldattention.core.__file__).resolve().parents[1]


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of which nothing inside can be reached."""
    folder = tmp_path / "locked"
    folder.mkdir()

    def refusing(call: Any) -> Any:
        def refuse(path: Any, *rest: Any, **more: Any) -> Any:
            if str(path).startswith(f"{folder}/"):
                raise PermissionError(13, "Permission denied", str(path))
            return call(path, *rest, **more)

        return refuse

    for name in ("stat", "lstat", "mkdir", "open"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    return folder


def test_a_world_goes_on_without_a_cache_folder_that_cannot_be_entered(locked: Path) -> None:
    assert free_bytes(locked / "pages") == pytest.approx(free_bytes(locked), rel=0.05)
    engine = Engine(toy_model(), toy_config(folder=locked / "cache" / "pages"))
    try:
        notices = [notice for _ in range(4) for notice in engine.step("a red house").telemetry.notices]
    finally:
        engine.close()
    assert "Permission denied" in " ".join(notices)


def test_case_26_settings_that_cannot_be_reached_are_those_of_the_beginning(locked: Path) -> None:
    assert appearance.remembered(locked / "window.ini") == appearance.Appearance()
    appearance.remember(locked / "window.ini", appearance.Appearance("light", "ko"))


def test_paths_are_asked_for_without_raising() -> None:
    """`Path.exists` and its like raise where `os.path.exists` says no."""
    asking = re.compile(r"\.(exists|is_dir|is_file)\(\)")
    found = [
        str(path.relative_to(SOURCES))
        for package in ("app", "core", "kernels")
        for path in (SOURCES / package).rglob("*.py")
        if "training" not in path.parts and asking.search(path.read_text("utf-8"))
    ]
    assert found == []
