"""All records of a world on disk, so that a long sitting costs no memory (DESIGN 6, 7)."""

from __future__ import annotations

import json
import logging
import threading
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

from worldattention.core.telemetry import BlockTelemetry, PageRecord, telemetry_from_json
from worldattention.core.telemetry_lines import changed
from worldattention.core.write_behind import WriteBehind

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

    One thread appends, others read; neither waits for a record to be written. A record of an earlier block replaces
    that block and all after it (a rewind). A block costs what changed in it, however many pages the world has. Where
    the disk takes no more, the log ends soon after and `failure` says why; a record that the disk does not give back
    is left out.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._file: WriteBehind | None = None
        self._spans: list[Span] = []
        self._end = 0
        self._told = False
        self._before: Sequence[PageRecord] | None = None

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def failure(self) -> str | None:
        """Why the disk takes no more records; None while it does."""
        error = None if self._file is None else self._file.failure
        return None if error is None else error.strerror or str(error)

    def clear(self) -> None:
        """A new world: no record yet."""
        with self._lock:
            self._close()

    def flush(self) -> None:
        """Waits until every record is written, or failed."""
        with self._lock:
            if self._file is not None:
                self._file.flush()

    def close(self) -> None:
        """Frees the file."""
        with self._lock:
            self._close()

    def append(self, record: BlockTelemetry) -> None:
        """Adds the record of a block."""
        text = replace(record, pages=()).to_json()
        rest = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        with self._lock:
            if self._failed() or record.block > len(self._spans):
                return
            anew, changes = self._changes(record)
            pages = _packed(changes)
            del self._spans[record.block :]
            if self._file is None:
                self._file = WriteBehind(self._folder, "telemetry-writer")
            span = Span(self._end, len(rest), len(pages), record.first_frame, record.frames, anew)
            self._file.write(span.offset, rest)
            self._file.write(span.offset + span.size, pages)
            self._spans.append(span)
            self._before = record.pages
            self._end += len(rest) + len(pages)

    def _failed(self) -> bool:
        failure = self.failure
        if failure is not None and not self._told:
            self._told = True
            log.warning("telemetry is no longer kept: %s", failure)
        return failure is not None

    def _changes(self, record: BlockTelemetry) -> tuple[int, Sequence[PageRecord]]:
        """Since which block the pages must be followed, and those that changed: all, where it is this one."""
        if self._before is None or record.block != len(self._spans):
            return record.block, record.pages
        anew = self._spans[-1].anew
        changes = None if record.block - anew >= PAGES_ANEW_BLOCKS else changed(record.pages, self._before)
        return (record.block, record.pages) if changes is None else (anew, changes)

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
        file, span = self._file, spans[block]
        try:
            for number in range(max(span.anew, pages.block + 1), block + 1):
                before = spans[number]
                data = file.read(before.offset + before.size, before.pages_size)
                pages.follow(number, data, anew=number == span.anew)
            text = zlib.decompress(file.read(span.offset, span.size)).decode("utf-8", "surrogatepass")
            return replace(telemetry_from_json(text), pages=tuple(pages.records.values()))
        except (OSError, ValueError, TypeError, zlib.error) as error:
            log.warning("a record of the telemetry is lost: %s", error)
            return None

    def _close(self) -> None:
        self._spans.clear()
        self._end, self._before, self._told = 0, None, False
        if self._file is not None:
            self._file.close()
            self._file = None


class _Pages:
    """The pages of a block, by number; `block` is -1 before the first."""

    def __init__(self) -> None:
        self.block = -1
        self.records: dict[int, PageRecord] = {}

    def follow(self, block: int, data: bytes | memoryview, anew: bool) -> None:
        """Goes on to the next block by its packed changes. Raises ValueError, TypeError or zlib.error."""
        changes = [PageRecord(*row) for row in zip(*json.loads(zlib.decompress(data)), strict=True)]
        if anew:
            self.records.clear()
        self.records.update((page.page, page) for page in changes)
        self.block = block


def _packed(pages: Sequence[PageRecord]) -> bytes:
    columns = [[getattr(page, name) for page in pages] for name in _COLUMNS] if pages else []
    return zlib.compress(json.dumps(columns, separators=(",", ":")).encode(), 1)
