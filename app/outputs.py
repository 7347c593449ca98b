"""What the worker writes to files while it makes a world: the recording and the export. No Qt in here."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from worldattention.app.export import export
from worldattention.app.faults import explain
from worldattention.app.messages import Export, ExportDone, ExportProgress, Message, Record, Recorded
from worldattention.app.reel import Reel
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import Geometry
from worldattention.core.recorded import SessionRecording
from worldattention.core.telemetry import BlockResult
from worldattention.core.telemetry_log import TelemetryLog


class Outputs:
    """Owns the recording, and knows whether an export runs. For the worker's thread."""

    def __init__(self, reel: Reel, log: TelemetryLog, publish: Callable[[Message], None]) -> None:
        self._reel = reel
        self._log = log
        self._publish = publish
        self._recording: SessionRecording | None = None
        self.exporting = False

    def export(self, command: Export, make_more: Callable[[], None], cancelled: Callable[[], bool]) -> None:
        """Writes a file; `make_more` makes one block. Every outcome is published.

        Raises what is no failure of the file.
        """

        job = command.job

        def progress(frames: int) -> None:
            self._publish(ExportProgress(frames, job.frames))

        self.exporting = True
        try:
            export(job, self._reel, self._log, make_more, progress, cancelled)
        except Cancelled:
            self._publish(ExportDone(job.path, 0, cancelled=True))
        except UserError as error:
            self._publish(ExportDone(job.path, 0, failure=str(error)))
        except Exception as error:
            self._publish(ExportDone(job.path, 0, failure=explain(error)))
            raise
        else:
            self._publish(ExportDone(job.path, job.frames))
        finally:
            self.exporting = False

    def record(self, command: Record, sizes: Geometry | None) -> None:
        """Ends the recording and, where the command names a file, begins another. Raises UserError."""
        self.end_recording()
        if command.path is not None:
            if sizes is None:
                raise UserError("The world is not there yet: wait until it is, then record.")
            self._recording = SessionRecording(
                command.path, sizes.height, sizes.width, title=command.title, comment=command.comment
            )

    def end_recording(self) -> None:
        """Closes the recording's file."""
        recording, self._recording = self._recording, None
        if recording is None:
            return
        try:
            recording.close()
        except UserError as error:
            self._publish(Recorded(recording.path, recording.frames, str(error)))
        else:
            self._publish(Recorded(recording.path, recording.frames))

    def take_down(self, result: BlockResult) -> None:
        """A block was made: log and recording take it. A full disk ends the recording, not the world."""
        self._log.append(result.telemetry)
        if self._recording is None:
            return
        try:
            self._recording.write(result.frames, result.telemetry)
        except UserError as error:
            recording, self._recording = self._recording, None
            with suppress(UserError):  # the reason is known already
                recording.close()
            kept = recording.partial if os.path.exists(recording.partial) else recording.path
            told = f"{error} What was recorded until then is kept as '{kept.name}'."
            self._publish(Recorded(recording.path, recording.frames, told))
