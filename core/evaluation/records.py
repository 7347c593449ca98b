"""Finished parts of an evaluation, one JSON object a line, so that a run that is ended early still tells.

Runs of other shares of the same evaluation may write files of their own; `read_records` takes them together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldattention.core.errors import UserError

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Share:
    """Part `number` (from 1) of `parts` of an evaluation's episodes: consecutive ones, since places take turns."""

    number: int = 1
    parts: int = 1

    def of(self, episodes: int) -> tuple[int, ...]:
        """The indices of its episodes, of those from 0 to `episodes` - 1."""
        first, end = (episodes * number // self.parts for number in (self.number - 1, self.number))
        return tuple(range(first, end))


EVERYTHING = Share()


@dataclass(frozen=True, slots=True)
class Recorder:
    """Appends to a file (None: to none); every record says what it is `about`.

    Raises:
        UserError: the file cannot be written.
    """

    path: Path | None = None

    def add(self, about: Record, values: Record) -> None:
        """One line more, on the disk when this returns."""
        if self.path is None:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**about, **values}, separators=(",", ":")) + "\n")
        except OSError as error:
            raise UserError(
                f"The records could not be written to '{self.path}' ({error.strerror}): name another file."
            ) from None


NO_RECORDS = Recorder()


def read_records(paths: Sequence[Path], what: str) -> list[dict[str, Any]]:
    """All records of these files; a line that was cut off at the end is left out.

    Raises:
        UserError: a file cannot be read, holds something else than records of `what`, or there are none.
    """
    records: list[dict[str, Any]] = []
    for path in paths:
        try:
            *lines, _ = path.read_text("utf-8").split("\n")
            found = [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise UserError(
                f"The records '{path}' cannot be read ({error}): give files of --records."
            ) from None
        for record in found:
            if not isinstance(record, dict) or record.get("what") != what:
                raise UserError(f"'{path}' holds no records of `eval {what}`: give files of its --records.")
        records += found
    if not records:
        raise UserError("There are no records in these files: give files of --records.")
    return records


def agreed(records: Sequence[Record], name: str) -> Any:
    """The value that all records have. Raises UserError when they differ: they are of different evaluations."""
    values = {record.get(name) for record in records}
    if len(values) != 1:
        raise UserError(f"These records differ in their {name}: give those of one evaluation.")
    return values.pop()
