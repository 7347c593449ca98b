"""Video files: H.264 in MP4 through ffmpeg's pipe, at a constant 16 frames a second (DESIGN 7).

`video_writer` makes a whole file or none. `Recording` makes a file that plays up to its last frame even when
the machine is switched off, and turns it into an ordinary one on a clean stop.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import numpy as np
import numpy.typing as npt

from worldattention.core.errors import UserError
from worldattention.core.files import check_target, reason, replacing
from worldattention.core.fragments import Fragments
from worldattention.core.geometry import FPS

CRF = 18
SUFFIX = ".mp4"
_PIPE_BYTES = 1 << 20
_MOST_LOST_FRAMES = FPS
"""A recording that is killed lacks its last second at most, however far behind ffmpeg may be."""
_SLICE_FRAMES = FPS // 2
_POLL_S = 0.002
_PATIENCE_S = 1.0
_FRAGMENTED: Final = (
    *("-movflags", "+frag_every_frame+empty_moov+default_base_moof"),
    *("-g", "16", "-tune", "zerolatency", "-flush_packets", "1"),
)
_BT709: Final = (
    *("-vf", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"),
    *("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"),
)


def find_ffmpeg() -> str:
    """The path of ffmpeg. Raises UserError when there is none."""
    import imageio_ffmpeg

    try:
        path = str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise _no_ffmpeg() from error
    if not os.access(path, os.X_OK) and Path(path).parent != Path():
        raise _no_ffmpeg()
    return path


def check_video_target(path: Path) -> None:
    """Raises UserError when no video could be written at `path`; leaves nothing behind."""
    if path.suffix.lower() != SUFFIX:
        raise UserError(f"The video cannot be written to '{path}': end its name with {SUFFIX}.")
    check_target(path, "the video")
    find_ffmpeg()


class Encoder:
    """One ffmpeg process that takes frames through a pipe and writes an MP4 file.

    Args:
        path: the file, which is overwritten.
        target: the file that it becomes, which failures name; None: `path` itself.
        height, width: size of the frames; an odd one is padded by one row or column of the edge.
        title, comment: metadata, of any length.
        fragmented: written so that everything up to the last second plays after a crash.
    """

    def __init__(
        self,
        path: Path,
        height: int,
        width: int,
        *,
        title: str = "",
        comment: str = "",
        fragmented: bool = False,
        target: Path | None = None,
    ) -> None:
        self.frames = 0
        self._target = target or path
        self._size = (height, width)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long-lived as the process
        size = f"{width + width % 2}x{height + height % 2}"
        with _metadata(title, comment) as metadata:
            command = [
                *(find_ffmpeg(), "-hide_banner", "-nostdin", "-loglevel", "error", "-y"),
                *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-framerate", str(FPS), "-i", "pipe:0"),
                *("-f", "ffmetadata", "-i", f"file:/dev/fd/{metadata}", "-map", "0:v", "-map_metadata", "1"),
                *("-c:v", "libx264", "-crf", str(CRF), "-preset", "veryfast", *_BT709),
                *(_FRAGMENTED if fragmented else ("-movflags", "+faststart")),
                *("-f", "mp4", f"file:{path.absolute()}"),
            ]
            self._process = _start(command, self._log, (metadata,))
        self._pipe = self._process.stdin
        self._widen_pipe()

    def write(self, frames: npt.NDArray[np.uint8]) -> None:
        """Appends uint8 frames [T, height, width, 3]. Raises UserError when ffmpeg cannot go on."""
        height, width = self._size
        if frames.dtype != np.uint8 or frames.shape[1:] != (height, width, 3):
            raise ValueError(f"frames are {frames.dtype} {frames.shape}, not uint8 [T, {height}, {width}, 3]")
        if height % 2 or width % 2:
            frames = np.pad(frames, ((0, 0), (0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        assert self._pipe is not None
        try:
            self._pipe.write(np.ascontiguousarray(frames).data)
        except OSError as error:
            self._process.wait()
            raise self._failure() from error
        self.frames += len(frames)

    def check(self, waited_s: float) -> None:
        """Raises UserError when ffmpeg has ended, or complained and stands still: it would read on before it ends."""
        complained = waited_s > _PATIENCE_S and os.fstat(self._log.fileno()).st_size > 0
        if complained or self._process.poll() is not None:
            self._process.kill()
            self._process.wait()
            raise self._failure()

    def close(self) -> None:
        """Finishes the file. Raises UserError when ffmpeg could not."""
        if self._pipe is not None and not self._pipe.closed:
            with suppress(OSError):  # ffmpeg died before the last bytes: its exit status says so
                self._pipe.close()
        failed = self._process.wait() != 0
        if failed:
            raise self._failure()
        self._log.close()

    def abort(self) -> None:
        """Stops at once; the file is left as it is. Safe at any time, also after `close`."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._pipe is not None:
            with suppress(OSError):
                self._pipe.close()
        self._log.close()

    def _failure(self) -> UserError:
        if self._log.closed:
            return UserError(f"The video '{self._target}' could not be written: its writer was stopped.")
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        text = next((line for line in lines if "No space left" in line), lines[-1] if lines else "")
        self._log.close()
        if "No space left" in text:
            return UserError(f"The video '{self._target}' could not be written: the disk is full.")
        cause = text.strip(" .")[:200] or f"it ended with {self._process.returncode}"
        return UserError(f"The video '{self._target}' could not be written: ffmpeg failed ({cause}).")

    def _widen_pipe(self) -> None:
        """Lets about a block of frames wait in the pipe, so that the engine seldom waits for the encoder."""
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            assert self._pipe is not None
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


@contextmanager
def video_writer(
    path: Path, height: int, width: int, *, title: str = "", comment: str = ""
) -> Iterator[Encoder]:
    """An encoder whose file appears at `path` when the block ends well, and not at all otherwise.

    Raises:
        UserError: the video cannot be written there.
    """
    check_video_target(path)
    with replacing(path, "the video") as temporary:
        encoder = Encoder(temporary, height, width, title=title, comment=comment, target=path)
        try:
            yield encoder
            encoder.close()
        finally:
            encoder.abort()


class Recording:
    """A video of a live world: until `close` it is NAME.recording.mp4 beside its target, and plays there.

    Every frame is a fragment of its own, and a write waits for frames before it to be on their way to the disk:
    all but the last second of what was written survives a kill, at any load.
    """

    def __init__(self, path: Path, height: int, width: int, *, title: str = "", comment: str = "") -> None:
        check_video_target(path)
        self.path = path
        self.partial = _free_name(path)
        self._fragments = Fragments(self.partial)
        try:
            self._encoder = Encoder(
                self.partial, height, width, title=title, comment=comment, fragmented=True, target=path
            )
        except BaseException:
            self._fragments.close()
            self.partial.unlink(missing_ok=True)
            raise

    @property
    def frames(self) -> int:
        """Frames taken so far."""
        return self._encoder.frames

    def write(self, frames: npt.NDArray[np.uint8]) -> None:
        """Appends uint8 frames [T, height, width, 3]. Raises UserError."""
        for start in range(0, len(frames), _SLICE_FRAMES):
            part = frames[start : start + _SLICE_FRAMES]
            begin = time.monotonic()
            while self.frames + len(part) - self._fragments.count() > _MOST_LOST_FRAMES:
                self._encoder.check(time.monotonic() - begin)
                time.sleep(_POLL_S)
            self._encoder.write(part)

    def close(self) -> None:
        """Finishes the video at its target. Raises UserError; what was recorded then stays as it was."""
        if not self.frames:
            self.abort()
            raise UserError("Nothing was recorded: let the world run before you stop the recording.")
        self._fragments.close()
        self._encoder.close()
        try:
            with replacing(self.path, "the video") as temporary:
                _remux(self.partial, temporary, self.path)
        except UserError as error:
            raise UserError(f"{error} The recording is kept as '{self.partial}'.") from error
        self.partial.unlink(missing_ok=True)

    def abort(self) -> None:
        """Throws the recording away."""
        self._fragments.close()
        self._encoder.abort()
        self.partial.unlink(missing_ok=True)


def unfinished(path: Path) -> list[Path]:
    """Recordings to `path` that were cut off."""
    names = (f"{path.stem}.recording", f"{path.stem}.recording-")
    return [
        found
        for found in path.parent.iterdir()
        if found.suffix == SUFFIX and (found.stem == names[0] or found.stem.startswith(names[1]))
    ]


def _remux(source: Path, target: Path, named: Path) -> None:
    command = [
        *(find_ffmpeg(), "-hide_banner", "-nostdin", "-loglevel", "error", "-y"),
        *("-i", f"file:{source.absolute()}", "-map", "0", "-c", "copy", "-movflags", "+faststart"),
        *("-f", "mp4", f"file:{target.absolute()}"),
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        cause = lines[-1] if lines else "ffmpeg failed"
        raise UserError(f"The video '{named}' could not be finished: {cause}.")


def _free_name(path: Path) -> Path:
    for number in range(1, 1000):
        tail = ".recording" if number == 1 else f".recording-{number}"
        partial = path.with_name(path.stem + tail + SUFFIX)
        try:
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"The video cannot be recorded to '{path}': {reason(error)}.") from error
        return partial
    raise UserError(f"There are too many unfinished recordings beside '{path}': delete some.")


@contextmanager
def _metadata(title: str, comment: str) -> Iterator[int]:
    """A descriptor of a nameless file in ffmpeg's metadata format: an argument could be too long."""
    with tempfile.TemporaryFile() as file:
        file.write(b";FFMETADATA1\n")
        for key, value in (("title", title), ("comment", comment)):
            if value:
                for special in "\\=;#\n":
                    value = value.replace(special, "\\" + special)
                file.write(f"{key}={value}\n".encode("utf-8", "replace"))
        file.flush()
        file.seek(0)
        yield file.fileno()


def _start(command: list[str], log: IO[bytes], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=descriptors,
            start_new_session=True,  # Ctrl+C in a terminal is for us, not for ffmpeg
        )
    except OSError as error:
        log.close()
        raise _no_ffmpeg() from error


def _no_ffmpeg() -> UserError:
    return UserError(
        "There is no ffmpeg to write the video with: run `pip install imageio-ffmpeg`, or set "
        "IMAGEIO_FFMPEG_EXE to its path."
    )
