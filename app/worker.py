"""The thread that owns device, engine and session (DESIGN 6).

Contract. The window posts frozen commands and never blocks; every command is answered by one `Acknowledged`
(but `Typing`, of which only the newest counts, by `WouldRecall`).
The worker publishes messages to an outbox and rings a payload-free bell; frames go to the reel. It makes a
block only while it is running and no more than one block lies ahead of the playhead. A failure of any kind is
published as `Failed` and leaves the thread alive for a restart. `close` cancels between two denoising steps,
also while loading, and joins with a deadline. No Qt in here.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from worldattention.app.export import ExportJob, export_video
from worldattention.app.foresight import Foresight
from worldattention.app.messages import (
    Acknowledged,
    Begun,
    Command,
    Configure,
    EngineLike,
    Export,
    ExportDone,
    ExportProgress,
    Failed,
    Loading,
    Made,
    Message,
    OpenEngine,
    OpenSession,
    Ready,
    Record,
    Recorded,
    Restart,
    Say,
    SessionLike,
    SetRunning,
    SetTimeline,
    Typing,
)
from worldattention.app.reel import Frames, Reel
from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.recorder import Recording
from worldattention.core.timeline import Timeline

log = logging.getLogger(__name__)


class Worker:
    """See the module's docstring. `bell` is called from the worker's thread whenever the outbox was empty."""

    def __init__(
        self,
        open_engine: OpenEngine,
        open_session: OpenSession,
        reel: Reel,
        bell: Callable[[], None],
        config: EngineConfig,
        timeline: Timeline,
    ) -> None:
        self._open_engine = open_engine
        self._open_session = open_session
        self._reel = reel
        self._bell = bell
        self._config = config
        self._timeline = timeline  # used when a session is opened
        self._engine: EngineLike | None = None
        self._session: SessionLike | None = None
        self._said: deque[tuple[int, float, str]] = deque()  # live prompts that the window has not seen yet
        self._running = False
        self._failed = False
        self._epoch = 0
        self._wanted_epoch = 0
        self._played = 0
        self._next_id = 1
        self._inbox: deque[Command] = deque()
        self._outbox: deque[Message] = deque()
        self._wake = threading.Condition()
        self._closing = threading.Event()
        self._export_cancel = threading.Event()
        self._exporting = False
        self._recording: Recording | None = None
        self._foresight = Foresight(self._publish)
        self._thread = threading.Thread(target=self._run, name="world", daemon=True)

    # The window's side.

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Starts the thread; it begins to load at once."""
        self._thread.start()

    def new_id(self) -> int:
        """The next command's id."""
        self._next_id += 1
        return self._next_id - 1

    def post(self, command: Command) -> None:
        """Queues a command. A `Restart` also cancels the block that is being made."""
        with self._wake:
            if isinstance(command, Typing):
                self._foresight.typed(command)
            else:
                self._inbox.append(command)
            if isinstance(command, Export):
                self._export_cancel.clear()  # a late cancel of the export before it
            if isinstance(command, Restart):
                self._wanted_epoch = max(self._wanted_epoch, command.epoch)
            self._wake.notify()

    def played(self, frame: int) -> None:
        """Tells where the playhead is, so that the worker stays about one block ahead."""
        with self._wake:
            self._played = frame
            self._wake.notify()

    def cancel_export(self) -> None:
        """Stops a running export between two denoising steps."""
        self._export_cancel.set()

    def take(self) -> list[Message]:
        """All messages since the last call, in order."""
        with self._wake:
            messages = list(self._outbox)
            self._outbox.clear()
        return messages

    def close(self, deadline_s: float = 10.0) -> bool:
        """Cancels and joins. False when the thread did not end within the deadline."""
        self._closing.set()
        with self._wake:
            self._wake.notify()
        if self._thread.ident is not None:
            self._thread.join(deadline_s)
        return not self._thread.is_alive()

    # The thread's side.

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._turn()
            except Cancelled:
                continue
            except Exception as error:  # the contract: nothing leaves the thread but as a message
                self._fail(error)
        self._end_recording()
        self._close_engine()

    def _turn(self) -> None:
        for command in self._commands():
            self._obey(command)
        self._foresight.answer(self._engine, self._epoch)
        if self._closing.is_set():
            return
        if self._session is None and not self._failed:
            self._load()
        elif self._may_step():
            self._step()
        else:
            with self._wake:
                idle = not (self._inbox or self._foresight.waiting or self._closing.is_set())
                if idle and not self._may_step():
                    self._wake.wait(1.0)

    def _commands(self) -> list[Command]:
        with self._wake:
            commands = list(self._inbox)
            self._inbox.clear()
            newest = self._wanted_epoch
        for command in commands:
            if command.epoch < newest:
                if isinstance(command, Export):
                    self._publish(ExportDone(command.path, 0, cancelled=True))
                self._acknowledge(command, "The world was restarted before this could take effect.")
        return [command for command in commands if command.epoch >= newest]

    def _obey(self, command: Command) -> None:
        try:
            match command:
                case Say():
                    self._say(command)
                case SetTimeline():
                    self._set_timeline(command)
                case Configure():
                    if self._engine is not None:
                        self._engine.configure(command.config)
                    self._config = command.config
                case SetRunning():
                    self._running = command.running
                case Restart():
                    self._restart(command)
                case Record():
                    self._record(command)
                case Export():
                    self._export(command)
        except UserError as error:
            self._acknowledge(command, str(error))
            if isinstance(command, Restart):  # there is no world to go back to
                self._fail(error)
        else:
            self._acknowledge(command)

    def _say(self, command: Say) -> None:
        if self._failed:
            raise UserError("The world stands still: restart it, then say what it shall show.")
        if self._session is None:
            self._timeline = self._timeline.set_prompt_from(0.0, command.prompt)
            self._said.append((command.id, 0.0, command.prompt))
            return
        block = self._session.say(command.prompt)
        self._said.append((command.id, self._seconds(block), command.prompt))

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
        self._epoch = command.epoch
        self._timeline = command.timeline
        self._config = command.config
        self._said.clear()
        self._reel.clear(self._epoch)
        with self._wake:
            self._played = 0
        if self._failed:
            self._close_engine()  # the next turn loads anew
            self._failed = False
        elif self._session is not None and self._engine is not None:
            self._session.timeline = command.timeline
            self._session.reset()
            self._engine.configure(command.config)  # after the reset: it may change what shapes the memory
            self._publish_ready()

    def _load(self) -> None:
        def progress(stage: str, fraction: float) -> None:
            if self._closing.is_set():
                raise Cancelled
            self._publish(Loading(stage, fraction))

        progress("Starting", 0.0)
        self._engine = self._open_engine(self._config, progress)
        self._session = self._open_session(self._engine, self._timeline)
        self._publish_ready()

    def _may_step(self) -> bool:
        if self._session is None or self._engine is None or self._failed or not self._running:
            return False
        ahead = self._reel.made - self._played
        return ahead <= self._engine.geometry.block_frames

    def _step(self) -> None:
        assert self._session is not None
        assert self._engine is not None
        block = self._engine.block
        self._publish(Begun(self._epoch, block, self._seconds(block + 1)))
        result = self._session.step(self._cancelled)
        if self._reel.append(self._epoch, result.frames):
            self._take_down(result.frames)
            self._publish(Made(self._epoch, result.telemetry))

    def _export(self, command: Export) -> None:
        def make_more() -> None:
            if self._session is None or self._failed:
                raise UserError("The world is not running: restart it, then export again.")
            self._step()

        def progress(frames: int) -> None:
            self._publish(ExportProgress(frames, command.frames))

        self._exporting = True
        try:
            job = ExportJob(command.path, command.frames, command.title)
            export_video(job, self._reel, make_more, progress, self._cancelled)
        except Cancelled:
            self._publish(ExportDone(command.path, 0, cancelled=True))
        except UserError as error:
            self._publish(ExportDone(command.path, 0, failure=str(error)))
        except Exception as error:
            self._publish(ExportDone(command.path, 0, failure=_sentence(error)))
            raise
        else:
            self._publish(ExportDone(command.path, command.frames))
        finally:
            self._exporting = False

    def _record(self, command: Record) -> None:
        self._end_recording()
        if command.path is not None:
            if self._engine is None:
                raise UserError("The world is not there yet: wait until it is, then record.")
            sizes = self._engine.geometry
            self._recording = Recording(command.path, sizes.height, sizes.width, title=command.title)

    def _end_recording(self) -> None:
        recording, self._recording = self._recording, None
        if recording is None:
            return
        try:
            recording.close()
        except UserError as error:
            self._publish(Recorded(recording.path, recording.frames, str(error)))
        else:
            self._publish(Recorded(recording.path, recording.frames))

    def _take_down(self, frames: Frames) -> None:
        """Adds frames to the recording; a full disk ends the recording, not the world."""
        if self._recording is None:
            return
        try:
            self._recording.write(frames)
        except UserError as error:
            recording, self._recording = self._recording, None
            with suppress(UserError):  # the reason is known already
                recording.close()
            kept = recording.partial if recording.partial.exists() else recording.path
            sentence = f"{error} What was recorded until then is kept as '{kept.name}'."
            self._publish(Recorded(recording.path, recording.frames, sentence))

    def _cancelled(self) -> bool:
        self._foresight.answer(self._engine, self._epoch)
        stop_export = self._exporting and self._export_cancel.is_set()
        return stop_export or self._closing.is_set() or self._wanted_epoch != self._epoch

    def _fail(self, error: Exception) -> None:
        log.debug("the world stopped", exc_info=error)  # told by Failed; --debug shows where
        self._failed = True
        self._running = False
        self._publish(Failed(self._epoch, _sentence(error), "".join(traceback.format_exception(error))))

    def _close_engine(self) -> None:
        engine, self._engine, self._session = self._engine, None, None
        if engine is not None:
            try:
                engine.close()
            except Exception:
                log.exception("the engine did not close cleanly")

    def _seconds(self, block: int) -> float:
        return self._engine.geometry.block_seconds(block) if self._engine is not None else 0.0

    def _acknowledge(self, command: Command, refused: str | None = None) -> None:
        block = self._engine.block if self._engine is not None else 0
        self._publish(Acknowledged(command.id, command.epoch, block, self._seconds(block), refused))

    def _publish_ready(self) -> None:
        assert self._engine is not None
        engine = self._engine
        seconds = self._seconds(engine.block)
        self._publish(
            Ready(self._epoch, engine.geometry, engine.device_name, engine.backend, engine.block, seconds)
        )

    def _publish(self, message: Message) -> None:
        with self._wake:
            ring = not self._outbox
            self._outbox.append(message)
        if ring:
            self._bell()


def _sentence(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return (
            "The machine's memory ran out: close other programs or choose sparser attention, "
            "then restart the world."
        )
    cause = f"{type(error).__name__}: {error}".splitlines()[0][:160]
    return f"The world was stopped by a fault of the program ({cause}): restart it to go on."
