"""Writing a world as a video: what was made comes from the reel, what is missing is made first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worldattention.app.reel import Frames, Reel
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import FPS
from worldattention.core.recorder import video_writer


@dataclass(frozen=True, slots=True)
class ExportJob:
    """The first `frames` frames of the world as an MP4 file at `path`."""

    path: Path
    frames: int
    title: str = ""


def export_video(
    job: ExportJob,
    reel: Reel,
    make_more: Callable[[], None],
    progress: Callable[[int], None],
    cancelled: Callable[[], bool],
) -> None:
    """Writes the video; `make_more` appends one block to the reel, `progress` takes the frames written.

    Raises Cancelled when `cancelled()`, UserError when frames are gone or the file cannot be written; then
    nothing half-written is left behind.
    """
    if job.frames <= 0:
        raise UserError("There is nothing to export yet: play the world first.")

    def frame(number: int) -> Frames:
        while reel.made <= number:
            make_more()
        if cancelled():
            raise Cancelled
        picture = reel.frame(number)
        if picture is None:
            raise UserError(
                "The first frames are no longer kept: save the project and use `worldattention render`."
            )
        return picture

    first = frame(0)
    with video_writer(job.path, first.shape[0], first.shape[1], title=job.title) as writer:
        for start in range(0, job.frames, FPS):
            stop = min(start + FPS, job.frames)
            writer.write(np.stack([frame(number) for number in range(start, stop)]))
            progress(stop)
