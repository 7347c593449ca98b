"""Writing a world to a file: what was made comes from the reel, what is missing is made first. No Qt but in the
strip of panels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from worldattention.app.reel import Reel
from worldattention.app.segments import Frames
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import FPS
from worldattention.core.pictures import GIF_WIDTH, enlarge, write_gif, write_pictures
from worldattention.core.recorded import log_path, write_log
from worldattention.core.recorder import video_writer
from worldattention.core.telemetry_log import TelemetryLog

VIDEO, GIF, PICTURES = "mp4", "gif", "png"
STRIP_HEIGHT = 480
"""The least height of a picture with a strip of panels beside it, in pixels."""
STRIP_GIF_WIDTH = 960
"""An animation's panels are still legible at this width."""


@dataclass(frozen=True, slots=True)
class ExportJob:
    """`frames` frames of the world from `first_frame` on, to `path` (for pictures, a folder that is made).

    `strip`: the panels of each block stand beside the picture. `telemetry`: a video gets its records beside it,
    so that it can be opened as a recorded session. `scale` magnifies the picture.
    """

    path: Path
    frames: int
    title: str = ""
    first_frame: int = 0
    kind: str = VIDEO
    scale: int = 1
    strip: bool = False
    telemetry: bool = True
    comment: str = ""

    @property
    def gif_width(self) -> int:
        """The greatest width of an animation, in pixels."""
        return STRIP_GIF_WIDTH if self.strip else GIF_WIDTH

    @property
    def stop(self) -> int:
        """The frame after the last."""
        return self.first_frame + self.frames


def export(
    job: ExportJob,
    reel: Reel,
    log: TelemetryLog,
    make_more: Callable[[], None],
    progress: Callable[[int], None],
    cancelled: Callable[[], bool],
) -> None:
    """Does the job; `make_more` appends one block to reel and log, `progress` takes the frames written.

    Raises Cancelled when `cancelled()`, UserError when frames are gone or the file cannot be written; then
    nothing half-written is left behind.
    """
    if job.frames <= 0:
        raise UserError("There is nothing to export yet: play the world first.")

    def numbered() -> Iterator[Frames]:
        for number in range(job.first_frame, job.stop):
            while reel.made <= number:
                make_more()
            if cancelled():
                raise Cancelled
            picture = reel.frame(number)
            if picture is None:
                raise UserError(
                    "The first frames are no longer kept: save the project and use `worldattention render`."
                )
            yield picture
            done = number + 1 - job.first_frame
            if done % FPS == 0 or done == job.frames:
                progress(done)

    pictures = _composed(job, log, numbered())
    if job.kind == GIF:
        write_gif(job.path, pictures, job.frames, job.gif_width)
    elif job.kind == PICTURES:
        write_pictures(job.path, pictures)
    else:
        _write_video(job, log, pictures)


def _write_video(job: ExportJob, log: TelemetryLog, pictures: Iterator[Frames]) -> None:
    first = next(pictures)
    with video_writer(
        job.path, first.shape[0], first.shape[1], title=job.title, comment=job.comment
    ) as writer:
        writer.write(first[None])
        while batch := list(islice(pictures, FPS)):
            writer.write(np.stack(batch))
    if job.telemetry:
        write_log(log_path(job.path), log.records(job.first_frame, job.stop))


def _composed(job: ExportJob, log: TelemetryLog, pictures: Iterable[Frames]) -> Iterator[Frames]:
    """The pictures in their size, with the panels of their block beside them."""
    if not job.strip:
        for picture in pictures:
            yield enlarge(picture, job.scale)
        return
    from worldattention.app.strip import draw_strip

    block, strip = -1, None
    for number, picture in enumerate(pictures, job.first_frame):
        scale = max(job.scale, -(-STRIP_HEIGHT // picture.shape[0]))
        large = enlarge(picture, scale)
        record = log.at(number)
        if strip is None or (record is not None and record.block != block):
            strip = draw_strip(record, large.shape[0])
            block = record.block if record is not None else -1
        yield np.concatenate([large, strip], axis=1)
