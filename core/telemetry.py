"""Immutable records of what happened in a block: what the panels show and what the log keeps (DESIGN 2, 7)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class TierUsage:
    """One memory tier after a block. Byte and page counts; read/written/hits/misses count the whole session.

    `drops` includes `thinned`: every second page of a chunk, on a full disk. `refused`: pages that the tier was
    too busy to take; `late`: pages that came after the deadline. `read_ms`, `write_ms`: median and 99th
    percentile of the latest moves, None before the first.
    """

    name: str  # device | dram | disk
    pages: int
    used_bytes: int
    quota_bytes: int
    read_bytes: int = 0
    written_bytes: int = 0
    hits: int = 0
    misses: int = 0
    evictions: int = 0
    drops: int = 0
    active: bool = True
    thinned: int = 0
    refused: int = 0
    late: int = 0
    prefetched: int = 0
    prefetch_hits: int = 0
    read_ms: tuple[float, float] | None = None
    write_ms: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class PageRecord:
    """Where one page of the bank is and what it holds; `similarity` and `score` are of this block's recall."""

    page: int
    chunk: int
    first_frame: int  # latent
    frames: int  # latent, 1..8
    tier: str  # device | dram | disk | dropped
    similarity: float | None = None  # stage 1, cosine of its chunk
    score: float | None = None  # stage 2; None where the page was no candidate
    recalled: bool = False  # in the attention window of this block


_PAGE_FIELDS = tuple(one.name for one in fields(PageRecord))
_page_values = attrgetter(*_PAGE_FIELDS)


@dataclass(frozen=True, slots=True)
class RecallRecord:
    """One recall: the query prompt, every score and the choice, in chronological order."""

    block: int
    policy: str
    prompt_hash: str
    chunk_similarity: tuple[float, ...]  # by chunk id
    candidates: tuple[int, ...]  # page ids
    scores: tuple[float, ...]  # of the candidates, in their order
    chosen: tuple[int, ...]  # page ids, chronological
    missed: tuple[int, ...] = ()  # chosen pages that could not be read


@dataclass(frozen=True, slots=True)
class WindowSpan:
    """Consecutive latent frames in the attention window; `kind` is sink | page | recent | current."""

    kind: str
    first_frame: int
    frames: int
    first_slot: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class BlockTelemetry:
    """One block. Head arrays are [layers, heads] float32, averaged over the denoising steps.

    `stage_ms` has text, retrieve, install, denoise, context, decode, total (milliseconds of wall time).
    """

    block: int
    epoch: int
    first_frame: int  # pixel
    frames: int  # pixel
    prompt: str
    prompt_hash: str
    seed: int
    preset: str
    attention: str
    retrieval: str
    gini: npt.NDArray[np.float32]
    threshold: npt.NDArray[np.float32]
    density: npt.NDArray[np.float32]
    window: tuple[WindowSpan, ...]
    pages: tuple[PageRecord, ...]
    tiers: tuple[TierUsage, ...]
    stage_ms: dict[str, float]
    recall: RecallRecord | None = None
    prompt_changed: bool = False
    notices: tuple[str, ...] = field(default=())
    steps: int = 4  # denoising steps
    asked_density: float | None = None  # None: every head chose its own
    backend: str = ""  # what ran the sparse branch
    approximate: bool = False  # the past that it was made from is no longer exactly what it was

    @property
    def fps(self) -> float:
        """Pixel frames a second at which this block was made."""
        return 1000.0 * self.frames / max(self.stage_ms["total"], 1e-6)

    def to_json(self, page_changes: Sequence[PageRecord] | None = None) -> str:
        """The record as a line, with all its pages or with these changes in their place (see `telemetry_lines`)."""
        record: dict[str, Any] = asdict(replace(self, pages=()))
        pages = self.pages if page_changes is None else page_changes
        named = [dict(zip(_PAGE_FIELDS, _page_values(page), strict=True)) for page in pages]
        if page_changes is None:
            record["pages"] = named
        else:
            del record["pages"]
            record["page_changes"] = named
        for name in ("gini", "threshold", "density"):
            record[name] = np.round(getattr(self, name), 5).tolist()
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class BlockResult:
    """What `Engine.step` returns: uint8 frames [T, height, width, 3] and the block's record."""

    frames: npt.NDArray[np.uint8]
    telemetry: BlockTelemetry


_PARTS: dict[str, TypeAdapter[Any]] = {
    "window": TypeAdapter(tuple[WindowSpan, ...]),
    "pages": TypeAdapter(tuple[PageRecord, ...]),
    "page_changes": TypeAdapter(tuple[PageRecord, ...]),
    "tiers": TypeAdapter(tuple[TierUsage, ...]),
    "recall": TypeAdapter(RecallRecord | None),
    "notices": TypeAdapter(tuple[str, ...]),
    "stage_ms": TypeAdapter(dict[str, float]),
    "asked_density": TypeAdapter(float | None),
}
_MOST_FRAMES = 4096


def telemetry_from_json(line: str) -> BlockTelemetry:
    """The record of a line that names all its pages. Raises ValueError when it is none."""
    record, changes = read_line(line)
    if changes is not None:
        raise ValueError("not a telemetry record by itself: it tells of changes only")
    return record


def read_line(line: str) -> tuple[BlockTelemetry, tuple[PageRecord, ...] | None]:
    """The record of a line, and what changed in its pages where it does not name them. Raises ValueError."""
    try:
        record = json.loads(line)
        for name in ("gini", "threshold", "density"):
            record[name] = np.asarray(record[name], dtype=np.float32)
        for name, part in _PARTS.items():
            if name in record:
                record[name] = part.validate_python(record[name])
        changes = record.pop("page_changes", None)
        found = BlockTelemetry(**(record if changes is None else {**record, "pages": ()}))
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a telemetry record: {error}") from error
    plain = {one.name: one.type for one in fields(found) if one.type in ("str", "int", "bool")}
    wrong = [name for name, kind in plain.items() if type(getattr(found, name)).__name__ != kind]
    if wrong or not (0 <= found.block < 1 << 53 and 0 < found.frames <= _MOST_FRAMES):
        raise ValueError(f"not a telemetry record: {', '.join(wrong) or 'impossible numbers'}")
    if "total" not in found.stage_ms or not all(map(math.isfinite, found.stage_ms.values())):
        raise ValueError("not a telemetry record: no time")
    return found, changes


def prompt_hash(prompt: str) -> str:
    """A short stable name of a prompt: the first 12 hex digits of its SHA-256."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:12]
