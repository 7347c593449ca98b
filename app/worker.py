"""The thread that owns device, engine and session (DESIGN 6).

Contract. The window posts frozen commands and never blocks; every command is answered by one `Acknowledged`
(but `Typing`, of which only the newest counts, by `WouldRecall`).
The worker publishes messages to an outbox and rings a payload-free bell; frames go to the reel. It makes a
block only while it is running and the frames ahead of the playhead, a block's at most, are few enough (`Pace`).
A failure of any kind is published as `Failed` and leaves the thread alive for a restart. `close` cancels between
two denoising steps, also while loading, and joins with a deadline. What a command does is the director's affair.
No Qt in here.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections import deque
from collections.abc import Callable

from worldattention.app.director import Director
from worldattention.app.engine_like import OpenEngine, OpenSession
from worldattention.app.faults import explain
from worldattention.app.foresight import Foresight
from worldattention.app.messages import (
    Acknowledged,
    Command,
    Export,
    ExportDone,
    Failed,
    Message,
    Restart,
    Rewind,
    Say,
    SwitchBranch,
    Typing,
)
from worldattention.app.reel import Reel
from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.history import History
from worldattention.core.telemetry_log import TelemetryLog
from worldattention.core.timeline import Timeline

log = logging.getLogger(__name__)

NEW_EPOCH = (Restart, Rewind, SwitchBranch)
"""Commands after which nothing of what was being made is wanted any more."""


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
        telemetry: TelemetryLog | None = None,
        history: History | None = None,
    ) -> None:
        self._bell = bell
        self._wanted_epoch = 0
        self._restarts = 0  # epoch of the newest world that was begun
        self._reloads = 0  # epoch of the newest that another engine shall make
        self._played = 0
        self._next_id = 1
        self._inbox: deque[Command] = deque()
        self._outbox: deque[Message] = deque()
        self._wake = threading.Condition()
        self._closing = threading.Event()
        self._export_cancel = threading.Event()
        telemetry = TelemetryLog() if telemetry is None else telemetry
        self._director = Director(
            open_engine,
            open_session,
            reel,
            telemetry,
            self._publish,
            self._cancelled,
            config,
            timeline,
            history,
        )
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
        """Queues a command. One that begins an epoch also cancels the block that is being made."""
        with self._wake:
            if isinstance(command, Typing):
                self._foresight.typed(command)
            else:
                self._inbox.append(command)
            if isinstance(command, Say):  # understood, and its pages read, while the block before it is made
                self._foresight.typed(Typing(command.id, command.epoch, command.prompt))
            if isinstance(command, Export):
                self._export_cancel.clear()  # a late cancel of the export before it
            if isinstance(command, NEW_EPOCH):
                self._wanted_epoch = max(self._wanted_epoch, command.epoch)
            if isinstance(command, Restart):
                self._restarts = command.epoch
                self._reloads = command.epoch if command.reload else self._reloads
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
        self._director.close()

    def _turn(self) -> None:
        for command in self._commands():
            self._obey(command)
        self._director.foresee(self._foresight)
        if self._closing.is_set():
            return
        if self._director.needs_loading:
            self._director.load(self._useless, self._unwanted)
        elif self._director.may_step(self._played):
            self._director.step()
        else:
            with self._wake:
                idle = not (self._inbox or self._foresight.waiting or self._closing.is_set())
                if idle and not self._director.may_step(self._played):
                    self._wake.wait(1.0)

    def _commands(self) -> list[Command]:
        with self._wake:
            commands = list(self._inbox)
            self._inbox.clear()
            newest = self._wanted_epoch
        for command in commands:
            if command.epoch < newest:
                if isinstance(command, Export):
                    self._publish(ExportDone(command.job.path, 0, cancelled=True))
                self._acknowledge(command, "The world was restarted before this could take effect.")
        return [command for command in commands if command.epoch >= newest]

    def _obey(self, command: Command) -> None:
        if isinstance(command, Restart):
            with self._wake:
                self._played = 0
        try:
            self._director.obey(command)
        except UserError as error:
            self._acknowledge(command, str(error))
            if isinstance(command, Restart):  # there is no world to go back to
                self._fail(error)
        else:
            self._acknowledge(command)

    def _cancelled(self) -> bool:
        director = self._director
        director.foresee(self._foresight)
        stop_export = director.outputs.exporting and self._export_cancel.is_set()
        return stop_export or self._closing.is_set() or self._wanted_epoch != director.epoch

    def _useless(self) -> bool:
        """Whether the engine that is loaded will not be needed."""
        return self._closing.is_set() or self._reloads > self._director.epoch

    def _unwanted(self) -> bool:
        """Whether another world is wanted than the one that is loaded."""
        return self._closing.is_set() or self._restarts > self._director.epoch

    def _fail(self, error: Exception) -> None:
        log.debug("the world stopped", exc_info=error)  # told by Failed; --debug shows where
        self._director.fail()
        detail = "".join(traceback.format_exception(error))
        self._publish(Failed(self._director.epoch, explain(error), detail))

    def _acknowledge(self, command: Command, refused: str | None = None) -> None:
        block = self._director.block
        seconds = self._director.seconds(block)
        self._publish(Acknowledged(command.id, command.epoch, block, seconds, refused))

    def _publish(self, message: Message) -> None:
        with self._wake:
            ring = not self._outbox
            self._outbox.append(message)
        if ring:
            self._bell()
