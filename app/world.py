"""The worker as the window sees it: Qt signals in, epochs and acknowledgements kept in order."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage

from worldattention.app.engine_like import OpenEngine, OpenSession
from worldattention.app.export import ExportJob
from worldattention.app.known_history import KnownHistory
from worldattention.app.messages import (
    Acknowledged,
    Begun,
    Branched,
    Configure,
    DeleteBranch,
    Due,
    Export,
    ExportDone,
    ExportProgress,
    Failed,
    Loading,
    Made,
    Ready,
    Record,
    Recorded,
    RenameBranch,
    Restart,
    RestoreBranch,
    Rewind,
    SaveWorld,
    Say,
    SetRunning,
    SetTimeline,
    SwitchBranch,
    Typing,
    Waking,
    WouldRecall,
)
from worldattention.app.past import Past
from worldattention.app.playback import Playback
from worldattention.app.reel import Reel
from worldattention.app.thumbnails import Thumbnails
from worldattention.app.worker import Worker
from worldattention.core.config import EngineConfig
from worldattention.core.geometry import FPS, POCKET_GEOMETRY, Geometry
from worldattention.core.history import History
from worldattention.core.project import Project, ProjectSettings
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.telemetry_log import TelemetryLog
from worldattention.core.timeline import Timeline

LOADING_DEADLINE_S = 1.5
"""An import of a large library cannot be cancelled, and before the first world there is nothing to lose."""
TELEMETRY_BLOCKS = 2000
"""Newest records that are kept in memory."""
PAGED_BLOCKS = 240
"""Of these, records that keep their pages: a long world has thousands, and they are new ones in every record."""


class World(QObject):
    """Owns worker, reel and playback. All methods are for the window's thread."""

    loading = Signal(str, float)
    ready = Signal(object)  # Ready
    said = Signal(object, str)  # Acknowledged, prompt
    configured = Signal(object, object)  # Acknowledged, the settings that were asked for
    begun = Signal(object)  # Begun
    waking = Signal(float)
    branched = Signal(object)  # Branched
    branch_refused = Signal(str)
    saved = Signal(object, str)  # the folder of a saved world, and why it could not be
    would_recall = Signal(object)  # WouldRecall
    made = Signal(object)  # list of BlockTelemetry, newest last
    failed = Signal(object)  # Failed
    recording_refused = Signal(str)
    recorded = Signal(object)  # Recorded
    export_moved = Signal(int, int)
    export_done = Signal(object)  # ExportDone
    latency = Signal(float)  # seconds from Enter to the picture
    _bell = Signal()

    def __init__(
        self,
        open_engine: OpenEngine,
        open_session: OpenSession,
        config: EngineConfig,
        timeline: Timeline,
        folder: Path | None = None,
        parent: QObject | None = None,
        history: History | None = None,
    ) -> None:
        super().__init__(parent)
        self.reel = Reel(folder)
        self.past = Past(self.reel, self)
        self.log = TelemetryLog(folder)
        self.playback = Playback(self.reel, self)
        self.thumbnails = Thumbnails()
        self.geometry: Geometry = POCKET_GEOMETRY
        self.telemetry: deque[BlockTelemetry] = deque(maxlen=TELEMETRY_BLOCKS)
        self.blocks = 0  # made in this world
        self.state = "loading"  # loading | ready | failed
        self._epoch = 0
        self._says: dict[int, tuple[str, float]] = {}  # waiting for their acknowledgement
        self._configures: dict[int, ProjectSettings] = {}
        self._recordings: set[int] = set()  # waiting for their acknowledgement
        self._savings: dict[int, Path] = {}  # waiting for their acknowledgement
        self._branchings: set[int] = set()  # waiting for their acknowledgement
        self._known = KnownHistory(history)
        self._unseen: list[tuple[int, float]] = []  # frame from which a prompt shows, moment of Enter
        self._last_said = 0
        self._last_made = 0.0  # moment
        self._worker = Worker(
            open_engine, open_session, self.reel, self._bell.emit, config, timeline, self.log, history
        )
        self._bell.connect(self._drain, Qt.ConnectionType.QueuedConnection)
        self.playback.moved.connect(self._played)
        self.playback.running_changed.connect(self._running_changed)

    @property
    def epoch(self) -> int:
        """Number of the present world; each restart begins another."""
        return self._epoch

    @property
    def made_fps(self) -> float | None:
        """Frames a second at which the last blocks were made. The first, before which more is made, tells nothing."""
        recent = [record for record in list(self.telemetry)[-4:] if record.block]
        milliseconds = sum(record.stage_ms["total"] for record in recent)
        return 1000.0 * sum(record.frames for record in recent) / milliseconds if milliseconds > 0 else None

    @property
    def awaited_frame(self) -> int | None:
        """The first frame of an accepted prompt that was not seen yet."""
        return self._unseen[0][0] if self._unseen else None

    def seconds_until(self, frame: int) -> float:
        """Estimated time until a frame is shown live: what lies before it is played, what is missing made."""
        playing = (frame - self.playback.live) / FPS
        sizes, fps = self.geometry, self.made_fps
        blocks = sizes.blocks_for_frames(frame + 1) - sizes.blocks_for_frames(self.reel.made)
        making = 0.0
        if blocks > 0 and fps is not None:
            making = blocks * sizes.block_frames / fps - (time.perf_counter() - self._last_made)
        return max(0.0, playing, making)

    @property
    def configuring(self) -> bool:
        """Whether settings were asked for and not answered yet."""
        return bool(self._configures)

    def history(self, timeline: Timeline) -> History:
        """All branches as they are now, `timeline` being the current one's."""
        return self._known.history(timeline)

    def thumbnail(self, frame: int) -> QImage | None:
        """A small picture of a past moment, also where its pages were dropped."""
        return self.thumbnails.at(frame)

    def start(self) -> None:
        """Begins to load."""
        self._worker.start()

    def say(self, prompt: str) -> int:
        """A prompt for the next block; `said` answers."""
        return self._say(prompt, time.perf_counter())

    def typing(self, text: str) -> None:
        """What stands in the prompt line; `would_recall` answers the newest."""
        self._worker.post(Typing(self._worker.new_id(), self._epoch, text))

    def set_timeline(self, timeline: Timeline) -> None:
        """The edited timeline, for blocks that are not made yet."""
        self._worker.post(self._timeline_command(timeline))

    def configure(self, config: EngineConfig, settings: ProjectSettings) -> None:
        """Settings from the next block on; `configured` answers."""
        command = Configure(self._worker.new_id(), self._epoch, config)
        self._configures[command.id] = settings
        self._worker.post(command)

    def restart(
        self,
        timeline: Timeline,
        config: EngineConfig,
        keep_prompts: bool = True,
        reload: bool = False,
        history: History | None = None,
        anew: bool = False,
    ) -> None:
        """A new world from block 0. Prompts that were not acknowledged yet go along, unless told otherwise.

        `reload`: the engine is opened anew. `history`: branches that are made again, the current one at once;
        `anew`: with `config` rather than with the settings of then.
        """
        self._epoch += 1
        history = None if history is None or history.plain else history
        self._known = KnownHistory(history)
        waiting, self._says = self._says, {}
        self._configures.clear()
        self._unseen.clear()
        self.telemetry.clear()
        self.thumbnails.clear()
        self.blocks = 0
        self.reel.clear(self._epoch)
        self.past.clear()  # after the reel: it must not fetch the old frames anew
        self.state = "loading"
        self._worker.post(
            Restart(self._worker.new_id(), self._epoch, timeline, config, reload, history, anew)
        )
        self._worker.post(SetRunning(self._worker.new_id(), self._epoch, self.playback.running))
        if keep_prompts:
            for prompt, since in waiting.values():
                self._say(prompt, since)
        self.playback.rewind()

    def rewind(self, block: int, name: str, timeline: Timeline) -> None:
        """Goes on from the start of `block` as a new branch; `branched` or `branch_refused` answer."""
        left = self._timeline_command(timeline)
        self._go_elsewhere(Rewind(self._worker.new_id(), self._epoch + 1, block, name, left))

    def switch_branch(self, name: str, timeline: Timeline) -> None:
        """Leaves a branch with its edited timeline for another; `branched` or `branch_refused` answer."""
        left = self._timeline_command(timeline)
        self._go_elsewhere(SwitchBranch(self._worker.new_id(), self._epoch + 1, name, left))

    def rename_branch(self, name: str, new: str) -> None:
        """Another name; `branched` or `branch_refused` answer."""
        self._change_branches(RenameBranch(self._worker.new_id(), self._epoch, name, new))

    def delete_branch(self, name: str) -> None:
        """Takes out a branch; `branched` or `branch_refused` answer."""
        self._change_branches(DeleteBranch(self._worker.new_id(), self._epoch, name))

    def restore_branch(self, name: str) -> None:
        """Brings a deleted branch back; `branched` or `branch_refused` answer."""
        self._change_branches(RestoreBranch(self._worker.new_id(), self._epoch, name))

    def save_world(self, folder: Path, project: Project, pages: bool) -> None:
        """Saves the world as a folder; `saved` answers."""
        command = SaveWorld(self._worker.new_id(), self._epoch, folder, project, pages)
        self._savings[command.id] = folder
        self._worker.post(command)

    def record(self, path: Path | None, title: str = "", comment: str = "") -> None:
        """Records from the next block on, or ends the recording; `recorded` or `recording_refused` answer."""
        command = Record(self._worker.new_id(), self._epoch, path, title, comment)
        self._recordings.add(command.id)
        self._worker.post(command)

    def export(self, job: ExportJob) -> None:
        """Writes a file; `export_moved` and `export_done` answer."""
        self._worker.post(Export(self._worker.new_id(), self._epoch, job))

    def cancel_export(self) -> None:
        """Stops the export soon."""
        self._worker.cancel_export()

    def close(self, deadline_s: float = 10.0) -> bool:
        """Ends the worker and frees the reel. False when the worker did not end in time."""
        self.playback.pause()
        if self.state == "loading" and self._epoch == 0:
            deadline_s = min(deadline_s, LOADING_DEADLINE_S)
        ended = self._worker.close(deadline_s)
        self.past.close()
        if ended:
            self.reel.close()
        return ended

    def _timeline_command(self, timeline: Timeline) -> SetTimeline:
        return SetTimeline(self._worker.new_id(), self._epoch, timeline, self._last_said)

    def _go_elsewhere(self, command: Rewind | SwitchBranch) -> None:
        """Prompts that were not acknowledged yet go along."""
        self._epoch = command.epoch
        waiting, self._says = self._says, {}
        self._unseen.clear()
        self._change_branches(command)
        for prompt, since in waiting.values():
            self._say(prompt, since)

    def _change_branches(
        self, command: Rewind | SwitchBranch | RenameBranch | DeleteBranch | RestoreBranch
    ) -> None:
        self._branchings.add(command.id)
        self._worker.post(command)

    def _say(self, prompt: str, since: float) -> int:
        command = Say(self._worker.new_id(), self._epoch, prompt)
        self._says[command.id] = (prompt, since)
        self._worker.post(command)
        return command.id

    def _running_changed(self) -> None:
        self._worker.post(SetRunning(self._worker.new_id(), self._epoch, self.playback.running))

    def _played(self) -> None:
        live = self.playback.live
        self._worker.played(live)
        while self._unseen and self.reel.made > self._unseen[0][0] <= live:
            _, since = self._unseen.pop(0)
            if not self.playback.past:  # else nobody saw it
                self.latency.emit(time.perf_counter() - since)

    def _drain(self) -> None:
        made: list[BlockTelemetry] = []
        for message in self._worker.take():
            if isinstance(message, Made) and message.epoch == self._epoch:
                made.append(message.telemetry)
                self._known.add(message.telemetry.block, message.record)
                continue
            if made:
                self._tell_made(made)
                made = []
            self._receive(message)
        if made:
            self._tell_made(made)

    def _tell_made(self, made: list[BlockTelemetry]) -> None:
        self._last_made = time.perf_counter()
        for record in made:
            self.telemetry.append(record)
            if len(self.telemetry) > PAGED_BLOCKS:
                self.telemetry[-PAGED_BLOCKS - 1] = replace(self.telemetry[-PAGED_BLOCKS - 1], pages=())
        self.blocks += len(made)
        for record in made:
            frame = self.reel.frame(record.first_frame + record.frames // 2)
            if frame is not None:
                self.thumbnails.add(record.first_frame, frame)
        self.made.emit(made)
        self.playback.wake()

    def _receive(self, message: object) -> None:
        match message:
            case Loading():
                self.loading.emit(message.stage, message.fraction)
            case Ready(epoch=self._epoch):
                self.geometry = message.geometry
                self.state = "ready"
                self.ready.emit(message)
            case Acknowledged():
                self._acknowledged(message)
            case Branched(epoch=self._epoch):
                self._known = KnownHistory(message.history)
                self.blocks = message.block
                self.branched.emit(message)
                if message.moved:
                    self._running_changed()
            case Begun(epoch=self._epoch):
                self.playback.expect(message.due)
                self.begun.emit(message)
            case Due(epoch=self._epoch):
                self.playback.expect(message.due)
            case Waking(epoch=self._epoch):
                self.waking.emit(message.share)
            case WouldRecall(epoch=self._epoch):
                self.would_recall.emit(message)
            case Failed(epoch=self._epoch):
                self.state = "failed"
                self.playback.pause()
                self.failed.emit(message)
            case Recorded():
                self.recorded.emit(message)
            case ExportProgress():
                self.export_moved.emit(message.frames, message.total)
            case ExportDone():
                self.export_done.emit(message)

    def _acknowledged(self, message: Acknowledged) -> None:
        if message.id in self._says:
            prompt, since = self._says.pop(message.id)
            self._last_said = message.id
            if message.refused is None:
                self._unseen.append((self.geometry.frames_before_block(message.block), since))
            self.said.emit(message, prompt)
        elif message.id in self._recordings:
            self._recordings.discard(message.id)
            if message.refused is not None:
                self.recording_refused.emit(message.refused)
        elif message.id in self._savings:
            self.saved.emit(self._savings.pop(message.id), message.refused or "")
        elif message.id in self._branchings:
            self._branchings.discard(message.id)
            if message.refused is not None:
                self.branch_refused.emit(message.refused)
                self._running_changed()
        elif message.id in self._configures:
            self.configured.emit(message, self._configures.pop(message.id))
