"""A history as a part of the project's file: branches with their events, blocks in runs of equal ones (DESIGN 7)."""

from __future__ import annotations

import itertools
from dataclasses import asdict, fields
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from worldattention.core.config import ATTENTION_MODES, PRESETS, RETRIEVAL_POLICIES, check_choice
from worldattention.core.errors import UserError
from worldattention.core.history import BlockRecord, Branch, History, make_history
from worldattention.core.timeline import Event, Timeline, check_prompt, make_timeline

MAX_BLOCKS = 7 * 24 * 3600 * 2
"""More blocks than the longest world has."""


class OpenModel(BaseModel):
    """Keeps keys that this version does not know, and takes no value of another type."""

    model_config = ConfigDict(extra="allow", strict=True)


class EventFile(OpenModel):
    """A prompt event of a timeline."""

    id: int | None = Field(default=None, ge=1, lt=1 << 53)
    start: float
    end: float
    prompt: str


class _RunFile(BaseModel):
    model_config = ConfigDict(strict=True)

    count: int = Field(default=1, ge=1, le=MAX_BLOCKS)
    prompt: str
    seed: int = Field(default=0, ge=0, lt=1 << 63)
    preset: str = "playground"
    attention: str = "hsa"
    retrieval: str = "hkv"
    density: float | None = Field(default=None, gt=0, le=1)
    recall_every_blocks: int = Field(default=0, ge=0, le=MAX_BLOCKS)
    timesteps: list[float] = Field(default=list(BlockRecord("").timesteps), min_length=1, max_length=1000)
    pages: list[int] = Field(default=[], max_length=64)
    missed: list[int] = Field(default=[], max_length=64)
    recalled: bool = False


class _BranchFile(OpenModel):
    name: str = Field(max_length=200)
    parent: str | None = None
    from_block: int = Field(default=0, ge=0, le=MAX_BLOCKS)
    events: list[EventFile] = []
    blocks: list[_RunFile] = []


class HistoryFile(OpenModel):
    """The tree of branches."""

    current: str = Field(max_length=200)
    branches: list[_BranchFile] = Field(max_length=10_000)


def history_to_json(history: History) -> dict[str, Any]:
    """The value of the project's key `history`."""
    branches = [
        {
            "name": branch.name,
            "parent": branch.parent,
            "from_block": branch.from_block,
            "events": events_to_json(branch.timeline, branch.event_extra),
            "blocks": [_run(record, count) for record, count in _runs(branch.records)],
            **branch.extra,
        }
        for branch in history.branches
    ]
    return {"current": history.current, "branches": branches, **history.extra}


def history_from_file(file: HistoryFile) -> History:
    """The history that a project's file holds. Raises UserError when it is unsound."""
    branches = []
    total = 0
    for entry in file.branches:
        timeline, event_extra = events_from_file(entry.events)
        total += sum(run.count for run in entry.blocks)
        if total > MAX_BLOCKS:
            raise UserError("Its history has more blocks than any world: correct their counts.")
        branches.append(
            Branch(
                name=entry.name,
                parent=entry.parent,
                from_block=entry.from_block,
                timeline=timeline,
                records=tuple(itertools.chain.from_iterable(map(_records, entry.blocks))),
                extra=entry.model_extra or {},
                event_extra=event_extra,
            )
        )
    return make_history(tuple(branches), file.current, file.model_extra or {})


def events_to_json(timeline: Timeline, extra: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Events as a file holds them; `extra` has the keys that this version does not know, by event id."""
    return [
        {
            "id": event.id,
            "start": float(event.start),
            "end": float(event.end),
            "prompt": event.prompt,
            **extra.get(event.id, {}),
        }
        for event in timeline.events
    ]


def events_from_file(entries: list[EventFile]) -> tuple[Timeline, dict[int, dict[str, Any]]]:
    """A sound timeline and the unknown keys of its events, by id. Raises UserError."""
    free_id = 1 + max((entry.id or 0 for entry in entries), default=0)
    events: list[Event] = []
    extra: dict[int, dict[str, Any]] = {}
    for entry in entries:
        event_id = entry.id
        if event_id is None:  # written by hand
            event_id, free_id = free_id, free_id + 1
        events.append(Event(event_id, entry.start, entry.end, entry.prompt))
        if entry.model_extra:
            extra[event_id] = entry.model_extra
    return make_timeline(events), extra


def _runs(records: tuple[BlockRecord, ...]) -> list[tuple[BlockRecord, int]]:
    return [(record, len(list(group))) for record, group in itertools.groupby(records)]


_DEFAULTS = asdict(BlockRecord(""))


def _run(record: BlockRecord, count: int) -> dict[str, Any]:
    """A run of equal blocks; what is as usual is left out."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    unusual = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in unusual.items()}
    return {"count": count, "prompt": record.prompt, **listed}


def _records(run: _RunFile) -> list[BlockRecord]:
    check_prompt(run.prompt)
    check_choice("preset", run.preset, PRESETS)
    check_choice("attention", run.attention, ATTENTION_MODES)
    check_choice("retrieval", run.retrieval, RETRIEVAL_POLICIES)
    if not all(0 < step <= 1000 for step in run.timesteps):
        raise UserError("Its history has a timestep that is not above 0 and at most 1000: correct it.")
    if any(page < 0 for page in (*run.pages, *run.missed)):
        raise UserError("Its history names a page below 0: correct it.")
    values = run.model_dump(exclude={"count"})
    for name in ("timesteps", "pages", "missed"):
        values[name] = tuple(values[name])
    return [BlockRecord(**values)] * run.count
