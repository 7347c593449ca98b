"""The window as a program: the application around it, signals, faults, and a picture of it on request."""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from platformdirs import user_cache_path, user_config_path
from PySide6.QtCore import QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from worldattention.app import icons
from worldattention.app.appearance import Appearance, remembered, take_on
from worldattention.app.collector import collecting
from worldattention.app.commandline import console
from worldattention.app.engine_like import EngineLike, OpenEngine, Progress, SessionLike
from worldattention.app.latency import LatencyReport, measure_latency
from worldattention.app.live_config import LiveConfig
from worldattention.app.main_window import PROGRAM, MainWindow, Setup
from worldattention.app.panels.panels import TURN_MS
from worldattention.app.preferences import PreferencesStore
from worldattention.app.texts import translate
from worldattention.core.config import EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.files import is_saved_world
from worldattention.core.pocket import prompts
from worldattention.core.project import load_project
from worldattention.core.timeline import Timeline

if TYPE_CHECKING:
    from worldattention.app.commandline.options import Options

APP_NAME = "worldattention"
SCREENSHOT_DEADLINE_S = 600.0

log = logging.getLogger(__name__)


def run(
    project_path: Path | None,
    options: Options,
    screenshot: Path | None,
    after_blocks: int | None,
    colours: str | None = None,
    language: str | None = None,
    size: tuple[int, int] | None = None,
) -> int:
    """See `window_entry.run_window`."""
    qInstallMessageHandler(_qt_says)
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    app.setApplicationName(PROGRAM)
    app.setDesktopFileName(icons.APP_ID)
    app.setWindowIcon(icons.app_icon())
    saved = project_path if project_path is not None and is_saved_world(project_path) else None
    setup = make_setup(project_path if saved is None else None, options, remember=screenshot is None)
    kept = remembered(setup.state_file)
    look = Appearance(colours or kept.theme, language or kept.language)
    take_on(app, look)
    window = MainWindow(replace(setup, look=look))
    if size is not None:
        window.resize(*size)
    shot = Screenshot(window, screenshot, after_blocks or 8) if screenshot is not None else None
    window.show()
    if size is not None:
        _tell_if_larger(window, size)
    if saved is not None:
        window.saved_worlds.open_at_start(saved)
    else:
        window.start()
    with _faults_told(window), _signals_close(window):
        status = app.exec()
    if not window.world_ended:
        # A native call did not come back; leaving through Python would wait for it.
        os._exit(0 if shot is None or shot.saved else 1)
    if shot is not None:
        shot.check()
    return int(status)


def _tell_if_larger(window: MainWindow, size: tuple[int, int]) -> None:
    if window.width() > size[0] or window.height() > size[1]:
        has = f"{window.width()}x{window.height()}"
        console.note(f"The window cannot be {size[0]}x{size[1]}: its parts need {has}, so it has that size.")


def measure(options: Options, repeats: int) -> LatencyReport:
    """Opens a window without a memory of its own and measures how soon it answers. Raises UserError."""
    qInstallMessageHandler(_qt_says)
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    take_on(app, Appearance("dark", "en"))
    window = MainWindow(make_setup(None, options, remember=False))
    with _faults_told(window), _signals_close(window), collecting(window.world):
        report = measure_latency(window, app, repeats)
    return report


@contextmanager
def _signals_close(window: MainWindow) -> Iterator[None]:
    """Ctrl+C and a polite kill close the window without a question; a second one ends at once."""

    def close(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        QTimer.singleShot(0, window, window.leave)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, close) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _faults_told(window: MainWindow) -> Iterator[None]:
    """A fault in a slot becomes a notice, and the window goes on."""

    def tell(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
        log.error("a fault in the window", exc_info=(kind, fault, trace))
        sentence = translate("Window", "Something went wrong in the window ({}); the world goes on.")
        cause = f"{kind.__name__}: {fault}".splitlines()[0][:160]
        window.failure.offer(sentence.format(cause), "".join(traceback.format_exception(kind, fault, trace)))

    before, sys.excepthook = sys.excepthook, tell
    try:
        yield
    finally:
        sys.excepthook = before


def make_setup(project_path: Path | None, options: Options, remember: bool) -> Setup:
    """A window over the real engine. Raises UserError on a bad project or option."""
    state_file = Path(user_config_path(APP_NAME)) / "window.ini" if remember else None
    store = PreferencesStore(state_file.parent / "settings.json" if state_file is not None else None)
    project = load_project(project_path) if project_path is not None else store.current.new_project()
    settings = project.settings
    chosen = replace(
        settings,
        preset=options.preset or settings.preset,
        attention=options.attention or settings.attention,
        retrieval=options.retrieval or settings.retrieval,
        density=settings.density if options.density is None else options.density,
        seed=settings.seed if options.seed is None else options.seed,
    )
    configs = LiveConfig(options, store)
    return Setup(
        open_engine=_engine_opener(options, store, configs),
        open_session=_open_session,
        configure=configs.of,
        project=replace(project, settings=chosen),
        path=project_path,
        state_file=state_file,
        cache_folder=Path(user_cache_path(APP_NAME)),
        language=prompts if _model(options, store) == "pocket" else None,
        preferences=store,
    )


class Screenshot:
    """Waits for enough blocks and for the picture to show them, saves the window, closes it."""

    def __init__(self, window: MainWindow, path: Path, blocks: int) -> None:
        self._window = window
        self._path = path
        self._blocks = blocks
        self._failure = "The world did not get far enough in time for a screenshot."
        self.saved = False
        window.world.playback.moved.connect(self._look)
        window.world.failed.connect(lambda message: self._give_up(message.sentence))
        window.world.ready.connect(lambda _message: window.world.playback.play())
        QTimer.singleShot(int(SCREENSHOT_DEADLINE_S * 1000), window, window.close)

    def check(self) -> None:
        """Raises UserError when there is no picture."""
        if not self.saved:
            raise UserError(self._failure)

    def _look(self) -> None:
        world = self._window.world
        newest = world.telemetry[-1] if world.telemetry else None
        if newest is None or world.blocks < self._blocks or world.playback.position < newest.first_frame:
            return
        world.playback.moved.disconnect(self._look)
        QTimer.singleShot(150, self._window, self._save)  # let everything paint itself

    def _save(self) -> None:
        if not self._window.panels.settled:  # they draw one after the other: one block in all of them
            QTimer.singleShot(TURN_MS, self._window, self._save)
            return
        self.saved = self._window.grab().save(str(self._path), "PNG")
        if not self.saved:
            self._failure = f"The screenshot could not be written to '{self._path}': choose another place."
        self._window.close()

    def _give_up(self, sentence: str) -> None:
        self._failure = sentence
        self._window.close()


def _qt_says(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """Qt's own messages go where ours go, not to the user's terminal."""
    grave = kind in (QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg)
    logging.getLogger("worldattention.qt").log(logging.ERROR if grave else logging.DEBUG, "%s", text)


def _model(options: Options, store: PreferencesStore) -> str:
    return store.current.model if options.model == "pocket" else options.model


def _engine_opener(options: Options, store: PreferencesStore, configs: LiveConfig) -> OpenEngine:
    def open_engine(config: EngineConfig, progress: Progress) -> EngineLike:
        progress("Loading the libraries", 0.0)
        from worldattention.core import loading  # slow: torch comes with it, so the worker does it

        device = store.current.device if options.device == "auto" else options.device
        return loading.open_engine(_model(options, store), device, configs.fit(config, device), progress)

    return open_engine


def _open_session(engine: EngineLike, timeline: Timeline) -> SessionLike:
    from worldattention.core.session import Session

    return Session(engine, timeline)  # type: ignore[arg-type]
