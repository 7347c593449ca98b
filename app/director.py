"""What each command of the window does to the world. For the worker's thread only; no Qt in here.

`Worker` queues, drops stale epochs, acknowledges and survives failures; `Director` knows engine, session,
timeline and settings. A new command needs a `case` in `obey` and a method.
"""

from __future__ import annotations

import logging
from array import array
from collections import deque
from collections.abc import Callable

from worldattention.app.engine_like import EngineLike, OpenEngine, OpenSession, SessionLike
from worldattention.app.foresight import Foresight
from worldattention.app.messages import (
    Begun,
    Branched,
    Command,
    Configure,
    DeleteBranch,
    Due,
    Export,
    Loading,
    Made,
    Message,
    Ready,
    Record,
    RenameBranch,
    Restart,
    RestoreBranch,
    Rewind,
    SaveWorld,
    Say,
    SetRunning,
    SetTimeline,
    SwitchBranch,
    Waking,
)
from worldattention.app.outputs import Outputs
from worldattention.app.pace import Pace
from worldattention.app.reel import Reel
from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import Geometry
from worldattention.core.history import History
from worldattention.core.replay import ReplaySession
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.telemetry_lines import lines_of
from worldattention.core.telemetry_log import Span, TelemetryLog
from worldattention.core.timeline import Timeline

log = logging.getLogger(__name__)

RECENT_BLOCKS = 160
"""Whose records come along when another branch goes on: as many as the panel of pages shows."""

Left = tuple["array[int]", tuple[Span, ...]]


class Director:
    """Owns the engine and its session. `cancelled` is asked between two steps, also while loading."""

    def __init__(
        self,
        open_engine: OpenEngine,
        open_session: OpenSession,
        reel: Reel,
        telemetry: TelemetryLog,
        publish: Callable[[Message], None],
        cancelled: Callable[[], bool],
        config: EngineConfig,
        timeline: Timeline,
        history: History | None = None,
    ) -> None:
        self._open_engine = open_engine
        self._open_session = open_session
        self._reel = reel
        self._log = telemetry
        self._publish = publish
        self._cancelled = cancelled
        self._config = config
        self._timeline = timeline  # used when a session is opened
        self._engine: EngineLike | None = None
        self._session: SessionLike | None = None
        self._history = history  # taken over when a session is opened
        self._anew = False
        self._said: deque[tuple[int, float, str]] = deque()  # live prompts that the window has not seen yet
        self._left: dict[str, Left] = {}  # frames and records of the branches that were left
        self.outputs = Outputs(reel, telemetry, publish)
        self._pace = Pace()
        self.running = False
        self.failed = False
        self.epoch = 0

    @property
    def block(self) -> int:
        """The next block to be made."""
        return self._engine.block if self._engine is not None else 0

    @property
    def geometry(self) -> Geometry | None:
        """Sizes of the world's frames, once it is loaded."""
        return self._engine.geometry if self._engine is not None else None

    @property
    def needs_loading(self) -> bool:
        """Whether there is no world yet, and no failure that a restart must clear first."""
        return self._session is None and not self.failed

    def seconds(self, block: int) -> float:
        """Start of a block."""
        return self._engine.geometry.block_seconds(block) if self._engine is not None else 0.0

    def load(self, cancelled: Callable[[], bool], unwanted: Callable[[], bool]) -> None:
        """Opens engine and session. Raises Cancelled; while the past is read, also where it is `unwanted` by now."""

        def progress(stage: str, fraction: float) -> None:
            if cancelled():
                raise Cancelled
            self._publish(Loading(stage, fraction))

        progress("Starting", 0.0)
        self._engine = self._open_engine(self._config, progress)
        self._session = self._open_session(self._engine, self._timeline)
        self._take_history()
        self._take_past(unwanted)
        self._publish_ready()

    def may_step(self, played: int) -> bool:
        """Whether a block may be made: the world runs, and what lies ahead of frame `played` may end before it."""
        if self._session is None or self._engine is None or self.failed:
            return False
        if isinstance(self._session, ReplaySession):  # all of it is there: read it for scrubbing
            return not self._session.ended
        if not self.running:
            return False
        ahead = self._pace.frames_ahead(self._engine.geometry.block_frames, self._new_prompt)
        return self._reel.made - played <= ahead

    def step(self) -> None:
        """Makes a block. Raises Cancelled."""
        assert self._session is not None
        block, branch = self.block, self._session.branch
        with self._pace.block(self._new_prompt, first=block == 0) as due:
            self._publish(Begun(self.epoch, block, self.seconds(block + 1), due))
            result = self._session.step(self._between_steps)
        if self._session.branch != branch:  # a past of another sitting was left for a new one
            self._publish_branches()
        if self._reel.append(self.epoch, result.frames):
            self.outputs.take_down(result)
            self._publish(Made(self.epoch, result.telemetry, self._session.last_record))

    def _between_steps(self) -> bool:
        due = self._pace.went_on()
        if due is not None:
            self._publish(Due(self.epoch, due))
        if self._engine is not None and self._engine.awake < 1.0:
            self._publish(Waking(self.epoch, self._engine.awake))
        return self._cancelled()

    @property
    def _new_prompt(self) -> bool:
        """Whether the next block's prompt is another than the one before it had."""
        block, session = self.block, self._session
        if session is None or block == 0:
            return False
        prompt_at = session.timeline.prompt_at
        return prompt_at(self.seconds(block)) != prompt_at(self.seconds(block - 1))

    def foresee(self, foresight: Foresight) -> None:
        """Lets a typed text be answered."""
        foresight.answer(self._engine, self.epoch)

    def obey(self, command: Command) -> None:
        """Does what the command asks for. Raises UserError when that cannot be."""
        match command:
            case Say():
                self._say(command)
            case SetTimeline():
                self._set_timeline(command)
            case Configure():
                self._configure(command)
            case SetRunning():
                self.running = command.running
            case Restart():
                self._restart(command)
            case Record():
                self.outputs.record(command, self.geometry)
            case Export():
                self.outputs.export(command, self._make_more, self._cancelled)
            case SaveWorld():
                lines = lines_of(self._log.records())
                self._a_session().save(command.folder, command.project, command.pages, lines)
            case Rewind() | SwitchBranch():
                self._change_branch(command)
            case RenameBranch():
                self._rename(command)
            case DeleteBranch():
                self._a_session().delete(command.name)
                self._publish_branches()
            case RestoreBranch():
                self._a_session().restore(command.name)
                self._publish_branches()

    def fail(self) -> None:
        """The world stands still until a restart."""
        self.failed = True
        self.running = False

    def close(self) -> None:
        """Ends recording, session and engine."""
        self.outputs.end_recording()
        self._log.close()
        self._close_engine()

    def _configure(self, command: Configure) -> None:
        if self._session is not None:
            branch = self._session.branch
            self._session.configure(command.config)
            if self._session.branch != branch:
                self._publish_branches()
        self._config = command.config

    def _say(self, command: Say) -> None:
        if self.failed:
            raise UserError("The world stands still: restart it, then say what it shall show.")
        if self._session is None:
            self._timeline = self._timeline.set_prompt_from(0.0, command.prompt)
            self._said.append((command.id, 0.0, command.prompt))
            return
        block = self._session.say(command.prompt)
        self._pace.hurry()
        self._said.append((command.id, self.seconds(block), command.prompt))

    def _set_timeline(self, command: SetTimeline) -> None:
        while self._said and self._said[0][0] <= command.said:
            self._said.popleft()
        timeline = command.timeline
        for _, seconds, prompt in self._said:  # typed while the window was editing an older timeline
            timeline = timeline.set_prompt_from(seconds, prompt)
        self._timeline = timeline
        if self._session is not None:
            self._session.timeline = timeline

    def _restart(self, command: Restart) -> None:
        self.epoch = command.epoch
        self._timeline = command.timeline
        self._config = command.config
        self._history, self._anew = command.history, command.anew
        self._said.clear()
        self._pace = Pace()
        self._reel.clear(self.epoch)
        self._log.clear()
        self._left.clear()
        if self.failed or command.reload:
            self._close_engine()  # the next turn loads anew
            self.failed = False
        elif self._session is not None and self._engine is not None:
            self._session.timeline = command.timeline
            self._session.reset()
            self._engine = self._session.engine
            self._engine.configure(command.config)  # after the reset: it may change what shapes the memory
            self._take_history()
            self._publish_ready()

    def _change_branch(self, command: Rewind | SwitchBranch) -> None:
        """Whatever comes of it, the epoch is the new one: the block that was being made is gone.

        The world stands until the window, which may want the branch otherwise, lets it run.
        """
        self.epoch, self.running = command.epoch, False
        left = self._reel.truncate(self.epoch, self._reel.made), self._log.spans()
        self._set_timeline(command.left)
        session = self._a_session()
        before = session.history.current
        if isinstance(command, Rewind):
            session.rewind(command.block, command.name)
            self._left[before] = left
        else:
            session.switch(command.name)
            self._left[before], left = left, self._left.get(command.name, left)
        self._said.clear()
        self._engine, self._timeline = session.engine, session.timeline
        frames, records = left
        self._reel.take_up(self.epoch, frames, self._engine.geometry.frames_before_block(self.block))
        self._log.take_up(records, self.block)
        self._publish_branches(moved=True)

    def _take_history(self) -> None:
        """Branches of another sitting: made again as they are played."""
        assert self._session is not None
        if self._history is not None and not self._history.plain:
            first = self._history.records(self._history.current)[:1]
            self._session.begin(self._history)
            if self._anew and first and first[0].config(self._config) != self._config:
                self._session.configure(self._config)
            self._publish_branches()

    def _take_past(self, unwanted: Callable[[], bool]) -> None:
        """Frames and records of a world that was saved."""
        if self._session is None or not self.block:
            return
        for done, (frames, telemetry, record) in enumerate(self._session.past()):
            if unwanted():
                raise Cancelled
            self._publish(Loading("past", done / self.block))
            self._reel.append(self.epoch, frames)
            if telemetry is not None:
                self._log.append(telemetry)
                self._publish(Made(self.epoch, telemetry, record))
        self._publish_branches()

    def _rename(self, command: RenameBranch) -> None:
        self._a_session().rename(command.name, command.new)
        if command.name in self._left:
            self._left[command.new.strip()] = self._left.pop(command.name)
        self._publish_branches()

    def _publish_branches(self, moved: bool = False) -> None:
        session, block = self._a_session(), self.block
        seconds = self.seconds(block)
        recent: tuple[BlockTelemetry, ...] = ()
        if moved and self._engine is not None:
            first = self._engine.geometry.frames_before_block(max(0, block - RECENT_BLOCKS))
            recent = tuple(self._log.records(first))
        self._publish(Branched(self.epoch, session.history, block, seconds, session.timeline, moved, recent))

    def _a_session(self) -> SessionLike:
        if self._session is None or self.failed:
            raise UserError("The world stands still: restart it first.")
        return self._session

    def _make_more(self) -> None:
        if self._session is None or self.failed:
            raise UserError("The world is not running: restart it, then export again.")
        self.step()

    def _close_engine(self) -> None:
        session, engine = self._session, self._engine
        self._session = self._engine = None
        try:
            if session is not None:
                session.close()
            elif engine is not None:
                engine.close()
        except Exception:
            log.exception("the engine did not close cleanly")

    def _publish_ready(self) -> None:
        assert self._engine is not None
        engine = self._engine
        seconds = self.seconds(engine.block)
        self._publish(
            Ready(self.epoch, engine.geometry, engine.device_name, engine.backend, engine.block, seconds)
        )
