"""All records of a world on disk, so that a long sitting costs no memory (DESIGN 6, 7)."""

from __future__ import annotations

import errno
import json
import logging
import os
import tempfile
import threading
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from worldattention.core.files import private_folder
from worldattention.core.telemetry import BlockTelemetry, PageRecord, telemetry_from_json

log = logging.getLogger(__name__)

PAGES_ANEW_BLOCKS = 32
"""Every so many blocks a record names all pages of the world; those between, only the ones that changed."""

_COLUMNS = tuple(field.name for field in fields(PageRecord))


class Span(NamedTuple):
    """Where a packed record lies: its pages behind the rest. `anew`: the block whose record names all pages."""

    offset: int
    size: int
    pages_size: int
    first_frame: int
    frames: int
    anew: int


class TelemetryLog:
    """Records by block, in a nameless file: nothing is left behind however the program ends.

    One thread appends, others read. A record of an earlier block replaces that block and all after it (a
    rewind). A block costs what changed in it, however many pages the world has. Where the disk takes no more, the
    log ends there and `failure` says why; a record that the disk does not give back is left out.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._spans: list[Span] = []
        self._end = 0
        self.failure: str | None = None
        self._before: Sequence[PageRecord] | None = None

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
        text = replace(record, pages=()).to_json()
        rest = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        with self._lock:
            if self.failure is not None or record.block > len(self._spans):
                return
            anew, changed = self._changes(record)
            pages = _packed(changed)
            del self._spans[record.block :]
            try:
                if self._file is None:
                    if self._folder is not None:
                        private_folder(self._folder)
                    self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (lives with the log)
                if os.pwrite(self._file.fileno(), rest + pages, self._end) != len(rest) + len(pages):
                    raise OSError(errno.ENOSPC, "the disk is full")
            except OSError as error:
                log.warning("telemetry is no longer kept: %s", error)
                self.failure = error.strerror or str(error)
                return
            self._before = record.pages
            span = Span(self._end, len(rest), len(pages), record.first_frame, record.frames, anew)
            self._spans.append(span)
            self._end += len(rest) + len(pages)

    def _changes(self, record: BlockTelemetry) -> tuple[int, Sequence[PageRecord]]:
        """Since which block the pages must be followed, and those that changed: all, where it is this one."""
        before, pages = self._before, record.pages
        if before is None or record.block != len(self._spans) or len(pages) < len(before):
            return record.block, pages
        anew = self._spans[-1].anew
        if record.block - anew >= PAGES_ANEW_BLOCKS:
            return record.block, pages
        pairs = zip(pages, before, strict=False)
        changed = [(page, old) for page, old in pairs if page is not old and page != old]
        if any(page.page != old.page for page, old in changed):  # not the same pages
            return record.block, pages
        return anew, [page for page, _ in changed] + list(pages[len(before) :])

    def spans(self) -> tuple[Span, ...]:
        """Where the records of this branch lie, for `take_up`."""
        with self._lock:
            return tuple(self._spans)

    def take_up(self, spans: tuple[Span, ...], blocks: int) -> None:
        """Goes on behind the first `blocks` records of a branch that was left."""
        with self._lock:
            self._spans, self._before = list(spans[:blocks]), None

    def records(self, first: int = 0, stop: int | None = None) -> Iterator[BlockTelemetry]:
        """The records of the pixel frames [first, stop), those at its ends cut to them."""
        with self._lock:
            spans = list(self._spans)
        pages = _Pages()
        for block, span in enumerate(spans):
            end = span.first_frame + span.frames
            begin, end = max(span.first_frame, first), end if stop is None else min(end, stop)
            if end <= begin:
                continue
            with self._lock:
                record = self._read(spans, block, pages)
            if record is not None:
                whole = end - begin == span.frames
                yield record if whole else replace(record, first_frame=begin, frames=end - begin)

    def at(self, frame: int) -> BlockTelemetry | None:
        """The record of the block that holds a pixel frame, whole; None where there is none."""
        with self._lock:
            block = bisect_right(self._spans, frame, key=lambda span: span.first_frame) - 1
            span = self._spans[block] if block >= 0 else Span(0, 0, 0, 0, 0, 0)
            if not span.first_frame <= frame < span.first_frame + span.frames:
                return None
            return self._read(self._spans, block, _Pages())

    def _read(self, spans: Sequence[Span], block: int, pages: _Pages) -> BlockTelemetry | None:
        """Under the lock. `pages` are those of an earlier block, and then of this one."""
        if self._file is None:
            return None
        file, span = self._file.fileno(), spans[block]
        try:
            for number in range(max(span.anew, pages.block + 1), block + 1):
                data = os.pread(file, spans[number].pages_size, spans[number].offset + spans[number].size)
                pages.follow(number, data, anew=number == span.anew)
            text = zlib.decompress(os.pread(file, span.size, span.offset)).decode("utf-8", "surrogatepass")
            return replace(telemetry_from_json(text), pages=tuple(pages.records.values()))
        except (OSError, ValueError, TypeError, zlib.error) as error:
            log.warning("a record of the telemetry is lost: %s", error)
            return None

    def _close(self) -> None:
        self._spans.clear()
        self._end, self._before = 0, None
        if self._file is not None:
            self._file.close()
            self._file = None


class _Pages:
    """The pages of a block, by number; `block` is -1 before the first."""

    def __init__(self) -> None:
        self.block = -1
        self.records: dict[int, PageRecord] = {}

    def follow(self, block: int, data: bytes, anew: bool) -> None:
        """Goes on to the next block by its packed changes. Raises ValueError, TypeError or zlib.error."""
        changes = [PageRecord(*row) for row in zip(*json.loads(zlib.decompress(data)), strict=True)]
        if anew:
            self.records.clear()
        self.records.update((page.page, page) for page in changes)
        self.block = block


def _packed(pages: Sequence[PageRecord]) -> bytes:
    columns = [[getattr(page, name) for page in pages] for name in _COLUMNS] if pages else []
    return zlib.compress(json.dumps(columns, separators=(",", ":")).encode(), 1)
