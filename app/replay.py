"""Recorded sessions in the window: the video is scrubbed and all panels follow, with no engine (DESIGN 7)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from worldattention.app import file_dialogs
from worldattention.app.engine_like import EngineLike, OpenEngine, OpenSession, Progress, SessionLike
from worldattention.core.config import EngineConfig
from worldattention.core.project import Project, ProjectSettings
from worldattention.core.recorded import RecordedSession, open_recorded
from worldattention.core.replay import ReplayEngine, ReplaySession
from worldattention.core.timeline import Timeline

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow

SETTLED_MS = 40


class Source:
    """What the worker opens next: the engine, or a recording in its place. No Qt in here."""

    def __init__(self, open_engine: OpenEngine, open_session: OpenSession) -> None:
        self._open_engine = open_engine
        self._open_session = open_session
        self.recorded: RecordedSession | None = None
        self.saved: Path | None = None  # a saved world's folder

    def open_engine(self, config: EngineConfig, progress: Progress) -> EngineLike:
        """For the worker's thread."""
        recorded = self.recorded
        if recorded is not None:
            return ReplayEngine(recorded)
        engine = self._open_engine(config, progress)
        if self.saved is not None:
            from worldattention.core import saved_world, world_files  # torch comes with them

            world = world_files.open_world(self.saved)
            saved_world.restore_world(engine, world, progress)  # type: ignore[arg-type]
        return engine

    def open_session(self, engine: EngineLike, timeline: Timeline) -> SessionLike:
        """For the worker's thread."""
        if isinstance(engine, ReplayEngine):
            return ReplaySession(engine)
        session = self._open_session(engine, timeline)
        if self.saved is not None:
            from worldattention.core import world_files

            session.saved_lines = world_files.open_world(self.saved).telemetry()  # type: ignore[attr-defined]
        return session


class ReplayFlow(QObject):
    """Opens recordings, and keeps the panels at the moment that is shown."""

    def __init__(self, window: MainWindow, source: Source) -> None:
        super().__init__(window)
        self._window = window
        self._source = source
        self._next: RecordedSession | None = None
        self._shown = -1  # newest block in the panels
        self._settle = QTimer(self)  # a drag passes many blocks: the panels draw where it rests
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLED_MS)
        self._settle.timeout.connect(self._follow)
        window.world.playback.moved.connect(self._moved)
        window.world.made.connect(self._read)

    @property
    def active(self) -> bool:
        """Whether a recording is open."""
        return self._source.recorded is not None

    @property
    def path(self) -> Path | None:
        """The video of the recording that is open."""
        return None if self._source.recorded is None else self._source.recorded.video

    def take_turn(self) -> bool:
        """A project was opened: whether engine and recording change places, so that the worker must load.

        A recording that was just opened is shown; else the world is made.
        """
        was, self._source.recorded = self.active, self._next
        self._next = None
        self._shown = -1
        self._window.world.playback.free = self.active
        return was or self.active

    def ask(self) -> None:
        """Opens a recording that is chosen in a dialog."""
        window = self._window
        folder = str(window.files.path.parent) if window.files.path is not None else ""
        kinds = self.tr("Recorded sessions (*.mp4 *.jsonl)")
        title = self.tr("Open a recorded session")
        if (path := file_dialogs.open_file(window, title, folder, kinds)) is not None:
            self.open(path)

    def open(self, path: Path) -> None:
        """Opens the recording at `path` (its video or its telemetry), after asking about unsaved changes."""
        self._window.opening.read(path.name, lambda tell: open_recorded(path, tell), self._adopt)

    def _adopt(self, recorded: RecordedSession) -> None:
        window = self._window
        if not window.files.confirm():
            return
        first = recorded.records[0]
        settings = ProjectSettings(first.preset, first.attention, first.retrieval, seed=first.seed)
        project = Project(recorded.video.stem, timeline=recorded.timeline, settings=settings)
        self._next = recorded
        window.files.adopt(project, None)

    def _read(self, _records: object) -> None:
        """More of the recording is there: a playhead that was ahead of it has its picture now."""
        playback = self._window.world.playback
        if self.active and not playback.playing:
            playback.moved.emit()

    def _moved(self) -> None:
        playback, recorded = self._window.world.playback, self._source.recorded
        if recorded is not None and playback.position + 1 >= recorded.frames:
            playback.pause()
        if self.active and self._block() != self._shown and not self._settle.isActive():
            self._settle.start()

    def _follow(self) -> None:
        recorded, block = self._source.recorded, self._block()
        if recorded is None or block == self._shown or block < 0:
            return
        window = self._window
        records = recorded.records
        if 0 <= self._shown < block:
            fresh = list(records[self._shown + 1 : block + 1])
        else:
            window.panels.clear()
            fresh = list(records[: block + 1])
        self._shown = block
        window.presenter.show_blocks(fresh)

    def _block(self) -> int:
        world = self._window.world
        if not world.reel.made:
            return -1
        return world.geometry.block_at_frame(min(world.playback.position, world.reel.made - 1))
