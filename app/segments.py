"""Frames on disk: every frame coded by itself, many to a file. No Qt in here.

The files are nameless: nothing is left behind however the program ends, and nobody can delete them from under
it. A frame is JPEG at its best quality without subsampled colours: about a sixth of the bytes, in a millisecond.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import tempfile
import threading
from array import array
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from worldattention.core.files import private_folder

Frames = npt.NDArray[np.uint8]

SEGMENT_FRAMES = 256
MOST_FILES = 64
"""Each is an open descriptor, of which some systems give a program 256; hours of small frames would take them all."""
QUALITY = 95

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Segment:
    first: int
    file: BinaryIO
    ends: array[int] = field(default_factory=lambda: array("Q"))  # of every frame in the file

    @property
    def size_bytes(self) -> int:
        return self.ends[-1] if self.ends else 0


class Segments:
    """Frames by number, appended in order; once `quota_bytes` are used the oldest file goes.

    A file takes `segment_frames` frames, and more of small ones, so that there are never many files.

    One thread may write while others read. What looks at the books alone never waits for the disk.
    """

    def __init__(self, folder: Path | None, quota_bytes: int, segment_frames: int = SEGMENT_FRAMES) -> None:
        self._folder = folder
        self._quota_bytes = quota_bytes
        self._segment_frames = segment_frames
        self._disk = (
            threading.Lock()
        )  # taken before the other one; files are written, read and closed under it
        self._lock = threading.Lock()  # of the books
        self._segments: deque[_Segment] = deque()
        self._next = 0

    @property
    def oldest(self) -> int | None:
        """The first frame that is kept."""
        with self._lock:
            return self._segments[0].first if self._segments and self._segments[0].ends else None

    @property
    def size_bytes(self) -> int:
        """Bytes on disk."""
        with self._lock:
            return sum(segment.size_bytes for segment in self._segments)

    def append(self, frame: Frames) -> None:
        """Writes the next frame [H, W, 3]. Raises OSError; what was written before can still be read."""
        coded = _coded(frame)
        with self._disk:
            last = self._segments[-1] if self._segments else None
            if last is None or self._is_full(last):
                last = _Segment(self._next, self._new_file())
                with self._lock:
                    self._segments.append(last)
            written = os.pwrite(last.file.fileno(), coded, last.size_bytes)
            if written != len(coded):
                raise OSError(errno.ENOSPC, "the disk is full")
            with self._lock:
                last.ends.append(last.size_bytes + written)
                self._next += 1
                gone = []
                while len(self._segments) > 1 and self._size() > self._quota_bytes:
                    gone.append(self._segments.popleft())
            for segment in gone:
                segment.file.close()

    def read(self, number: int) -> Frames | None:
        """Frame `number` [H, W, 3]; None where it is not kept or the disk does not give it back."""
        with self._disk:
            segment = next((part for part in reversed(self._segments) if part.first <= number), None)
            index = number - segment.first if segment is not None else 0
            if segment is None or index >= len(segment.ends):
                return None
            start = segment.ends[index - 1] if index else 0
            length = segment.ends[index] - start
            try:
                coded = os.pread(segment.file.fileno(), length, start)
            except OSError as error:
                log.warning("frame %d cannot be read: %s", number, error)
                return None
        try:
            with Image.open(io.BytesIO(coded)) as picture:
                return np.asarray(picture.convert("RGB"))
        except (OSError, SyntaxError) as error:  # what Pillow raises for a broken picture
            log.warning("frame %d is broken: %s", number, error)
            return None

    def close(self) -> None:
        """Frees the files; the next frame is number 0 again."""
        with self._disk:
            with self._lock:
                gone = list(self._segments)
                self._segments.clear()
                self._next = 0
            for segment in gone:
                segment.file.close()

    def _is_full(self, segment: _Segment) -> bool:
        return (
            len(segment.ends) >= self._segment_frames
            and segment.size_bytes >= self._quota_bytes // MOST_FILES
        )

    def _size(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def _new_file(self) -> BinaryIO:
        if self._folder is not None:
            private_folder(self._folder)
        return tempfile.TemporaryFile(dir=self._folder)


def _coded(frame: Frames) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, "JPEG", quality=QUALITY, subsampling=0)
    return buffer.getvalue()
