"""All records of a world on disk, so that a long sitting costs no memory (DESIGN 6, 7)."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import threading
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from worldattention.core.files import private_folder
from worldattention.core.telemetry import BlockTelemetry, telemetry_from_json

log = logging.getLogger(__name__)


Span = tuple[int, int, int, int]
"""Offset and bytes of a packed record, first pixel frame and pixel frames of its block."""


class TelemetryLog:
    """Records by block, in a nameless file: nothing is left behind however the program ends.

    One thread appends, others read. A record of an earlier block replaces that block and all after it (a
    rewind). Records are packed: each names every page of the world. Where the disk takes no more, the log ends
    there and `failure` says why; a record that the disk does not give back is left out.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._spans: list[Span] = []
        self._end = 0
        self.failure: str | None = None

    def __len__(self) -> int:
        return len(self._spans)

    def clear(self) -> None:
        """A new world: no record yet."""
        with self._lock:
            self._close()
            self.failure = None

    def close(self) -> None:
        """Frees the file."""
        with self._lock:
            self._close()

    def append(self, record: BlockTelemetry) -> None:
        """Adds the record of a block."""
        data = zlib.compress(record.to_json().encode("utf-8", "surrogatepass"), 1)
        with self._lock:
            if self.failure is not None or record.block > len(self._spans):
                return
            del self._spans[record.block :]
            try:
                if self._file is None:
                    if self._folder is not None:
                        private_folder(self._folder)
                    self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (lives with the log)
                if os.pwrite(self._file.fileno(), data, self._end) != len(data):
                    raise OSError(errno.ENOSPC, "the disk is full")
            except OSError as error:
                log.warning("telemetry is no longer kept: %s", error)
                self.failure = error.strerror or str(error)
                return
            self._spans.append((self._end, len(data), record.first_frame, record.frames))
            self._end += len(data)

    def spans(self) -> tuple[Span, ...]:
        """Where the records of this branch lie, for `take_up`."""
        with self._lock:
            return tuple(self._spans)

    def take_up(self, spans: tuple[Span, ...], blocks: int) -> None:
        """Goes on behind the first `blocks` records of a branch that was left."""
        with self._lock:
            self._spans = list(spans[:blocks])

    def records(self, first: int = 0, stop: int | None = None) -> Iterator[BlockTelemetry]:
        """The records of the pixel frames [first, stop), those at its ends cut to them."""
        with self._lock:
            spans = list(self._spans)
        for offset, size, start, frames in spans:
            begin, end = max(start, first), start + frames if stop is None else min(start + frames, stop)
            if end <= begin:
                continue
            with self._lock:
                record = self._read(offset, size)
            if record is not None:
                whole = end - begin == frames
                yield record if whole else replace(record, first_frame=begin, frames=end - begin)

    def at(self, frame: int) -> BlockTelemetry | None:
        """The record of the block that holds a pixel frame, whole; None where there is none."""
        with self._lock:
            index = bisect_right(self._spans, frame, key=lambda span: span[2]) - 1
            offset, size, start, frames = self._spans[index] if index >= 0 else (0, 0, 0, 0)
            return self._read(offset, size) if start <= frame < start + frames else None

    def _read(self, offset: int, size: int) -> BlockTelemetry | None:
        """Under the lock."""
        if self._file is None:
            return None
        try:
            data = os.pread(self._file.fileno(), size, offset)
            return telemetry_from_json(zlib.decompress(data).decode("utf-8", "surrogatepass"))
        except (OSError, ValueError, zlib.error) as error:
            log.warning("a record of the telemetry is lost: %s", error)
            return None

    def _close(self) -> None:
        self._spans.clear()
        self._end = 0
        if self._file is not None:
            self._file.close()
            self._file = None
