"""A world that fails: what people read, what they can copy, and that the window lives on."""

import errno
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton

from tests.window_hands import read
from worldattention.app.about import PACKAGES, AboutDialog, licences
from worldattention.app.export import PICTURES, ExportJob
from worldattention.app.faults import explain
from worldattention.app.report import redact
from worldattention.app.window_run import _faults_told
from worldattention.core.errors import UserError
from worldattention.core.timeline import Event, make_timeline

OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})
CUDA_FULL = OutOfMemoryError(
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139 GiB"
)
CPU_FULL = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
    "allocate 3000000000 bytes. Error code 12 (Cannot allocate memory)"
)
LOST = RuntimeError(
    "CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported"
)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CUDA_FULL, ("L1", "2.15 GB", "quota", "restart the world")),
        (CPU_FULL, ("L2", "3 GB", "quota", "restart the world")),
        (MemoryError(), ("memory ran out", "restart the world")),
        (OSError(errno.ENOSPC, "No space left on device"), ("disk is full", "cache folder")),
        (LOST, ("stopped answering", "cpu")),
        (UserError("The folder is gone: choose another."), ("The folder is gone: choose another.",)),
        (ZeroDivisionError("x\ny"), ("ZeroDivisionError: x", "restart")),
    ],
)
def test_case_6_every_failure_says_what_happened_and_what_to_do(error, words):
    sentence = explain(error)
    assert all(word in sentence for word in words)
    assert "\n" not in sentence
    assert sentence.endswith((".", "on."))


@pytest.mark.parametrize("error", [CUDA_FULL, OSError(errno.ENOSPC, "No space left")])
def test_case_5_the_world_restarts_in_the_same_window(make_window, qtbot, error):
    one = make_window(fail_at={2: error})
    qtbot.waitUntil(lambda: one.world.state == "failed", timeout=20000)
    overlay = one.viewport.overlay
    assert overlay.text == explain(error)
    restart = next(b for b in one.viewport.findChildren(QPushButton) if b.text() == "Restart the world")
    qtbot.mouseClick(restart, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: one.world.blocks > 3, timeout=20000)
    assert one.viewport.overlay is None
    assert one.isVisible()


def test_a_report_is_copied_without_prompts_and_folders(make_window, qtbot):
    secret = 'my secret "garden" 정원'
    error = RuntimeError(f"no such thing: {Path.home()}/worlds/a.world while making {secret!r}")
    one = make_window(timeline=make_timeline([Event(1, 0, 30, secret)]), fail_at={2: error})
    qtbot.waitUntil(lambda: one.world.state == "failed", timeout=20000)
    copy = next(b for b in one.viewport.findChildren(QPushButton) if b.text() == "Copy report")
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    report = QGuiApplication.clipboard().text()
    assert "garden" not in report
    assert str(Path.home()) not in report
    assert "~/worlds/a.world" in report
    for part in ("WorldAttention Playground", "Python 3", "torch", "cpu, scripted", "Traceback", '"block":1'):
        assert part in report
    assert "clipboard" in one.notifications.history[-1].text


@pytest.mark.parametrize("prompt", ['a "quoted" one', "back\\slash", "two\nlines", "정원 🌷", "tab\there"])
def test_prompts_are_redacted_however_they_are_quoted(prompt):
    import json

    text = (
        f"{prompt} | {prompt!r} | {json.dumps(prompt)} | {json.dumps({'prompt': prompt}, ensure_ascii=False)}"
    )
    clean = redact(text, [prompt, "", " "])
    assert clean.count("<prompt ") == 4


def test_about_names_everything_that_the_wheel_needs():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert {re.split(r"[^\w.-]", line)[0] for line in project["dependencies"]} == set(PACKAGES)


def test_about_shows_the_licences_and_ffmpegs_first_words(make_window, qtbot):
    found = {licence.part.split()[0]: licence for licence in licences()}
    assert "GNU GENERAL PUBLIC LICENSE" in found["ffmpeg"].text
    assert "Apache License" in found["WorldAttention"].text
    assert found[
        "PySide6_Essentials" if "PySide6_Essentials" in found else "PySide6-Essentials"
    ].name.startswith("LGPL")
    assert {"torch", "numpy", "pydantic"} <= set(found)
    assert all(licence.text.strip() and licence.name.strip() for licence in found.values())
    one = make_window()
    one.actions_by_name["about"].trigger()
    dialog = one.findChild(AboutDialog)
    assert dialog.isVisible()
    dialog.parts.setFocus()
    qtbot.keyClick(dialog.parts, Qt.Key.Key_Down)
    assert "ffmpeg.org" in dialog.text.toPlainText()
    dialog.reject()


def test_an_unusable_cache_folder_costs_the_past_but_not_the_world(make_window, qtbot, tmp_path):
    (tmp_path / "file").write_text("")
    one = make_window(setup={"cache_folder": tmp_path / "file" / "cache"})
    qtbot.waitUntil(lambda: one.world.blocks > 8, timeout=20000)
    assert one.world.state == "ready"
    assert len(one.world.log) < 3  # what was made before the failure was known is in memory
    one.export_flow.begin(
        ExportJob(tmp_path / "pictures", 4, kind=PICTURES, first_frame=one.world.reel.made - 4)
    )
    qtbot.waitUntil(lambda: not one.export_flow.running, timeout=20000)
    assert len(os.listdir(tmp_path / "pictures")) == 4


BAD_PROJECTS = {
    "broken": b'{"format": "worldattention-project", ',
    "empty": b"",
    "foreign": b'{"format": "something-else"}',
    "future": b'{"format": "worldattention-project", "format_version": 99}',
    "no text": bytes(range(256)),
    "huge": b" " * ((8 << 20) + 1),
}


def test_a_bad_project_is_one_sentence_and_nothing_is_lost(make_window, qtbot, tmp_path):
    one = make_window()
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    before = one.model.timeline
    for kind, content in BAD_PROJECTS.items():
        path = tmp_path / f"{kind}.world"
        path.write_bytes(content)
        one.library.open(path)
        read(qtbot, one)
        said = one.notifications.history[-1].text
        assert said.endswith(".")
        assert "\n" not in said
        assert str(path) in said
        assert one.model.timeline == before
        assert path.read_bytes() == content
    made = one.world.blocks
    qtbot.waitUntil(lambda: one.world.blocks > made, timeout=20000)


def test_a_fault_in_the_window_is_told_with_a_report(make_window, qtbot):
    one = make_window(timeline=make_timeline([Event(1, 0, 30, "a secret garden")]))
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    with _faults_told(one):
        try:
            raise ValueError("a secret garden has no gate")
        except ValueError as fault:
            sys.excepthook(ValueError, fault, fault.__traceback__)
    assert "the world goes on" in one.notifications.history[-1].text
    copy = next(b for b in one.viewport.findChildren(QPushButton) if b.text() == "Copy report")
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    report = QGuiApplication.clipboard().text()
    assert "has no gate" in report
    assert "garden" not in report
