"""One environment for all tests: no display, no network, one thread, and never the user's own files."""

import gc
import logging
import os
import random
import secrets
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# `python -m pytest` puts the repository root on the path, where the folder `kernels` passes for Hugging Face's
# package of that name, and transformers would import it.
_root = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _root]

# At import, before torch, Qt or transformers read them.
_home = tempfile.TemporaryDirectory(prefix="worldattention-tests-")
for _name in ("CONFIG", "CACHE", "DATA", "STATE"):
    os.environ[f"XDG_{_name}_HOME"] = str(Path(_home.name) / _name.lower())
_runtime = Path(_home.name) / "runtime"
_runtime.mkdir(mode=0o700)
os.environ["XDG_RUNTIME_DIR"] = str(_runtime)
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
if not any(Path("/dev").glob("nvidia[0-9]*")) and not Path("/proc/driver/nvidia").exists():
    os.environ.setdefault(
        "TRITON_INTERPRET", "1"
    )  # Triton decides at import; on a GPU the kernels are compiled
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests are small: a second thread costs more than it gives

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

OF_ENGINES = ("page-", "telemetry-")
"""How the names of threads begin that only `close` ends."""

_connect = socket.socket.connect


def _connect_locally(self: socket.socket, address: Any) -> None:
    """CASES 29: every test runs with the network blocked, so none of the program can need it."""
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in (
        "127.0.0.1",
        "::1",
        "localhost",
    ):
        raise AssertionError(f"a test reached for the network: {address}")
    _connect(self, address)


socket.socket.connect = _connect_locally  # type: ignore[method-assign]

# In a thread of an engine, Python's collector would end Qt objects of the window's (app/collector.py).
gc.disable()


def pytest_runtest_logfinish() -> None:
    """Between tests, and in the main thread only: the oldest generation whose turn it is."""
    due = [count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, its_turn in enumerate(due) if its_turn))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Inputs are fresh in every run; a failure shows the seed, and TEST_SEED repeats it."""
    seed = int(os.environ.get("TEST_SEED") or secrets.randbits(31))
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    item.add_report_section("setup", "seed", f"TEST_SEED={seed} draws the same inputs again")


@pytest.fixture(autouse=True)
def _process_as_it_was() -> Iterator[None]:
    """Commands run in this process set up logging on a captured stream, and a shell that starts the tests in the
    background leaves Ctrl+C ignored: neither may reach another test.
    """
    handlers, level = logging.root.handlers[:], logging.root.level
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.fixture(autouse=True, scope="module")
def _engines_are_closed() -> Iterator[None]:
    """Threads of an engine that a module leaves open would go on beside all tests that follow."""
    before = set(threading.enumerate())
    yield
    left = [one for one in threading.enumerate() if one.name.startswith(OF_ENGINES) and one not in before]
    for thread in left:
        thread.join(10)
    assert not [thread.name for thread in left if thread.is_alive()], "an engine was left open"


@pytest.fixture
def make_window(qtbot, qapp, tmp_path, monkeypatch):
    """Builds windows over a scripted engine; `remember` gives them a folder for what outlives them.

    They run at 100 frames a second, and are closed at the end.
    """
    from tests.fakes_window import FakeSession, Script, opener
    from worldattention.app import playback, theme
    from worldattention.app.main_window import MainWindow, Setup
    from worldattention.core.project import Project
    from worldattention.core.timeline import Event, make_timeline

    monkeypatch.setattr(playback, "FRAME_MS", 10.0)
    theme.apply_theme(qapp, "dark")
    two = make_timeline(
        [Event(1, 0, 3, "a red house by the sea"), Event(2, 3, 30, "a green hill in the rain")]
    )
    made = []

    def make(timeline=two, start=True, remember=False, path=None, name="Test", setup=None, **script):
        one_script = Script(**{"step_s": 0.02, "load_s": 0.01, **script})
        parts = {
            "open_engine": opener(one_script),
            "open_session": FakeSession,
            "configure": lambda settings: settings.engine_config(),
            "project": Project(name, timeline=timeline),
            "path": path,
            "cache_folder": tmp_path / "cache",
            "state_file": tmp_path / "config" / "window.ini" if remember else None,
        }
        one = MainWindow(Setup(**{**parts, **(setup or {})}))
        one.script = one_script
        made.append(one)
        one.show()
        qtbot.waitExposed(one)
        if start:
            one.start()
        return one

    yield make
    for one in made:
        if one.script.hold is not None:
            one.script.hold.set()
        one.files.accept_present()  # no question at the end
        one.close()
        assert one.world_ended
        one.deleteLater()
    qapp.processEvents()


@pytest.fixture
def world(tmp_path) -> Path:
    """A project of three events in a folder with blanks and many scripts."""
    from worldattention.core.project import Project, ProjectSettings, save_project
    from worldattention.core.timeline import Event, make_timeline

    path = tmp_path / "한글 폴더 ñ" / "w.world"
    path.parent.mkdir()
    timeline = make_timeline(
        [Event(1, 0.0, 1.0, "a dog 🎈"), Event(2, 1.0, 2.0, "שלום עולם"), Event(3, 2.0, 3.5, "a dog 🎈")]
    )
    save_project(Project("Wörld", None, timeline, ProjectSettings(seed=4)), path)
    return path


@pytest.fixture
def toy(monkeypatch):
    """The command line with a toy model of random weights in place of the installed one."""
    from tests.toy import toy_model
    from worldattention.core import loading
    from worldattention.core.engine import Engine

    opened: list[Engine] = []

    def open_toy(model, device, config, progress=None):
        engine = Engine(toy_model(), config)
        opened.append(engine)
        return engine

    monkeypatch.setattr(loading, "open_engine", open_toy)
    return opened
