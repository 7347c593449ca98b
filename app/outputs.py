"""What the worker writes to files while it makes a world: the recording and the export. No Qt in here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from worldattention.app.export import ExportJob, export_video
from worldattention.app.messages import Export, ExportDone, ExportProgress, Message, Record, Recorded
from worldattention.app.reel import Frames, Reel
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import Geometry
from worldattention.core.recorder import Recording


class Outputs:
    """Owns the recording, and knows whether an export runs. For the worker's thread."""

    def __init__(self, reel: Reel, publish: Callable[[Message], None]) -> None:
        self._reel = reel
        self._publish = publish
        self._recording: Recording | None = None
        self.exporting = False

    def export(self, command: Export, make_more: Callable[[], None], cancelled: Callable[[], bool]) -> None:
        """Writes a video; `make_more` makes one block. Every outcome is published.

        Raises what is no failure of the file.
        """

        def progress(frames: int) -> None:
            self._publish(ExportProgress(frames, command.frames))

        self.exporting = True
        try:
            job = ExportJob(command.path, command.frames, command.title)
            export_video(job, self._reel, make_more, progress, cancelled)
        except Cancelled:
            self._publish(ExportDone(command.path, 0, cancelled=True))
        except UserError as error:
            self._publish(ExportDone(command.path, 0, failure=str(error)))
        except Exception as error:
            self._publish(ExportDone(command.path, 0, failure=sentence(error)))
            raise
        else:
            self._publish(ExportDone(command.path, command.frames))
        finally:
            self.exporting = False

    def record(self, command: Record, sizes: Geometry | None) -> None:
        """Ends the recording and, where the command names a file, begins another. Raises UserError."""
        self.end_recording()
        if command.path is not None:
            if sizes is None:
                raise UserError("The world is not there yet: wait until it is, then record.")
            self._recording = Recording(command.path, sizes.height, sizes.width, title=command.title)

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

    def take_down(self, frames: Frames) -> None:
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
            told = f"{error} What was recorded until then is kept as '{kept.name}'."
            self._publish(Recorded(recording.path, recording.frames, told))


def sentence(error: Exception) -> str:
    """A failure as one sentence for people."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return (
            "The machine's memory ran out: close other programs or choose sparser attention, "
            "then restart the world."
        )
    cause = f"{type(error).__name__}: {error}".splitlines()[0][:160]
    return f"The world was stopped by a fault of the program ({cause}): restart it to go on."
