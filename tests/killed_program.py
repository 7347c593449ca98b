"""The program itself, killed at random moments and started again: window or render, all but the model's weights real.

Run as a process of its own: `python killed_program.py window|render FOLDER KILLS PERIOD_S`, the last being that of the
copies of unsaved work. Everything is imported once, and each start of the program is a fork. What must hold after a
kill is asserted here; a JSON line tells the rest.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import torch
from PySide6.QtCore import QTimer

from tests.toy import toy_model
from worldattention.app import autosave, cli, dialogs, main_window, window_run
from worldattention.app.commandline import render, window  # noqa: F401
from worldattention.core import loading
from worldattention.core.hkv import session
from worldattention.core.hkv.session import MARKER
from worldattention.core.project import Project, load_project, project_from_json, save_project
from worldattention.core.recorded import open_recorded
from worldattention.core.timeline import Event, make_timeline
from worldattention.core.world_files import open_world

PAGE_BYTES = 8 * 6144  # of the toy
QUOTAS = ["--device-quota", f"{PAGE_BYTES}", "--dram-quota", f"{PAGE_BYTES}", "--write-through"]
EDIT_MS = 100
STORY = [Event(n + 1, 1.5 * n, 1.5 * n + 1.5, f"a {('red', 'blue')[n % 2]} house") for n in range(6)]


class Edited(main_window.MainWindow):
    """A window whose user plays the world and edits it ten times a second; each edit is told through a pipe."""

    pipe = -1

    def start(self) -> None:
        super().start()
        self.edits = 0
        self._hand = QTimer(self)
        self._hand.timeout.connect(self._edit)
        self._hand.start(EDIT_MS)
        self.world.ready.connect(lambda _message: self.world.playback.play())

    def _edit(self) -> None:
        self.edits += 1
        self.model.open(make_timeline([*STORY, Event(99, 50, 60, f"edit {self.edits}")]))
        os.write(self.pipe, f"{self.edits} {time.monotonic()}\n".encode())


class Looked(main_window.MainWindow):
    """A window that is closed again when a block is made and it has said what a crash left, which another thread looks
    for; `offered`: what was recovered in it."""

    offered: list[str] = []  # noqa: RUF012
    told = False

    def start(self) -> None:
        super().start()
        self.library._found.connect(self._tell)  # behind the library's own
        self.world.ready.connect(lambda _message: self.world.playback.play())
        self._eye = QTimer(self)
        self._eye.timeout.connect(self._look)
        self._eye.start(20)

    def _tell(self, _found: object) -> None:
        self.told = True

    def _look(self) -> None:
        if self.world.blocks > 0 and self.told:
            self._eye.stop()
            events = {event.prompt for event in self.model.timeline.events}
            if self.offered:
                assert any(prompt.startswith("edit ") for prompt in events), events
            self.files.accept_present()
            self.close()


def forked(work: Callable[[], int]) -> int:
    """Runs `work` in a child, which ends with its status; returns the child's id."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait(child: int, deadline_s: float = 120.0) -> int:
    """The status of a child, which must come to its end by itself."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


class Strict(logging.Handler):
    """A traceback in the log is a failure."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            print("logged:", self.format(record), file=sys.stderr, flush=True)
            os._exit(71)


class Place:
    """Folders of one user, with what other programs keep in them."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.config, self.films = folder / "cache", folder / "config", folder / "한글 films"
        self.pages = self.cache / "worldattention" / "pages"
        for path in (self.pages, self.config, self.films):
            path.mkdir(parents=True)
        self.theirs = [
            self.pages / "session-of-somebody-else" / "00000001.page",
            self.pages / "notes.txt",
            self.films / "holiday.mp4",
            self.films / ".holiday.part",
        ]
        for path in self.theirs:
            path.parent.mkdir(exist_ok=True)
            path.write_text("precious")
        self.render_s = 1.0  # what a render takes that is not killed
        self.project = self.films / "story.world"
        save_project(Project("Story", timeline=make_timeline(STORY)), self.project)
        os.environ |= {"XDG_CACHE_HOME": str(self.cache), "XDG_CONFIG_HOME": str(self.config)}

    @property
    def unsaved(self) -> Path:
        return self.config / "worldattention" / "unsaved"

    def sessions(self) -> list[Path]:
        return [path for path in self.pages.glob("session-*") if (path / MARKER).exists()]

    def check_theirs(self) -> None:
        assert all(path.read_text() == "precious" for path in self.theirs)

    def check_clean(self) -> None:
        """Nothing of ours is left but what is remembered between sittings."""
        self.check_theirs()
        assert self.sessions() == []
        left = [path for path in self.pages.rglob("*") if path.is_file() and path not in self.theirs]
        assert left == [], left
        assert list(self.films.glob(".worldattention-*")) == []
        assert list(self.unsaved.glob("*")) == [], list(self.unsaved.glob("*"))


def window_killed(place: Place, period_s: float) -> dict[str, float]:
    """One sitting that is killed, and the next start."""
    read, write = os.pipe()

    def sit() -> int:
        Edited.pipe = write
        autosave.PERIOD_MS = round(1000 * period_s)
        window_run.MainWindow = Edited
        return cli.main([str(place.project), *QUOTAS])

    child = forked(sit)
    os.close(write)
    time.sleep(random.random() * (3 + 1.5 * period_s))
    os.kill(child, signal.SIGKILL)
    killed = time.monotonic()
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it ended by itself"
    with os.fdopen(read) as pipe:
        lines = [line.split() for line in pipe.read().splitlines()]
    edits = {int(number): float(moment) for number, moment in lines}
    kept, copies = 0, 0
    for copy in place.unsaved.glob("[!.]*.recovery"):
        saved = project_from_json(json.loads(copy.read_text())["project"])
        kept, copies = int(saved.timeline.events[-1].prompt.removeprefix("edit ")), copies + 1
    assert copies <= 1
    lost_s = killed - edits[kept + 1] if kept + 1 in edits else 0.0
    left = len(place.sessions())
    offered, told = os.pipe()

    def look() -> int:
        logging.getLogger().addHandler(Strict())
        window_run.MainWindow = Looked

        def recover(_window: object, name: str) -> str:
            Looked.offered.append(name)
            os.write(told, b"r")
            return "recover"

        dialogs.ask_recover = recover
        return cli.main([str(place.project), *QUOTAS])

    status = wait(forked(look))
    os.close(told)
    with os.fdopen(offered) as pipe:
        offers = len(pipe.read())
    assert status == 0, status
    assert offers == copies, (offers, copies)
    place.check_clean()
    return {"lost_s": lost_s, "edits": len(edits), "offered": offers, "left": left}


def render_killed(place: Place, _period_s: float) -> dict[str, float]:
    """One render that is killed, and the same one again."""
    film, log = place.films / "film.mp4", place.films / "film.jsonl"
    command = ["render", str(place.project), "-o", str(film), "--telemetry", str(log), *QUOTAS]
    saved = place.films / "saved"
    command += ["--save-world", str(saved), "--save-pages"]

    def quietly() -> int:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        return cli.main(command)

    before = film.exists()
    child = forked(quietly)
    time.sleep(random.random() * place.render_s)
    os.kill(child, signal.SIGKILL)
    done = os.waitpid(child, 0)[1] == 0
    assert film.exists() or not before, "what was there before is gone"
    if before:
        assert open_world(saved).blocks == 12
    left = len(place.sessions()) + len(list(place.films.glob(".worldattention-*")))
    began = time.monotonic()
    assert wait(forked(quietly)) == 0
    place.render_s = time.monotonic() - began
    assert open_recorded(film).frames == 144
    assert open_world(saved).blocks == 12
    place.check_clean()
    assert load_project(place.project).name == "Story"
    if random.random() < 0.3:
        film.unlink()
        log.unlink()
    return {"lost_s": 0.0, "edits": 0, "offered": 0, "left": left, "done": done}


def main() -> None:
    kind, folder, kills, period_s = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(1)
    loading.load_model = lambda *_arguments: toy_model()
    session.UNMARKED_S = 0.0  # no other program is being started here
    place = Place(folder)
    one = {"window": window_killed, "render": render_killed}[kind]
    told = [one(place, period_s) for _ in range(kills)]
    summary = {
        "kills": len(told),
        "most_lost_s": round(max(each["lost_s"] for each in told), 2),
        "with_leftovers": sum(each["left"] > 0 for each in told),
        "offered": sum(each["offered"] for each in told),
        "edited": sum(each["edits"] > 0 for each in told),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
