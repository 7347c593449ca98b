"""What stands on the timeline beside events: markers of the user, recalls and mode changes of the world."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from worldattention.app.texts import QT_TRANSLATE_NOOP, translate
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.timeline import MAX_SECONDS

MAX_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True, order=True)
class Marker:
    """A time that the user marked, in seconds, perhaps with a name."""

    at: float
    name: str = ""


@dataclass(frozen=True, slots=True)
class Arc:
    """A recall: at time `at` the page that holds `start`..`end` was read again (seconds).

    `similarity` is stage 1's cosine of its chunk, `score` stage 2's of the page.
    """

    at: float
    start: float
    end: float
    score: float | None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class ModeChange:
    """From `block` on (`at` seconds) one mode of the world differs: its name, and its values as words."""

    block: int
    at: float
    mode: str
    before: str
    after: str


MODES: tuple[str, ...] = (
    QT_TRANSLATE_NOOP("Modes", "preset"),
    QT_TRANSLATE_NOOP("Modes", "attention"),
    QT_TRANSLATE_NOOP("Modes", "retrieval"),
    QT_TRANSLATE_NOOP("Modes", "density"),
    QT_TRANSLATE_NOOP("Modes", "seed"),
    QT_TRANSLATE_NOOP("Modes", "steps"),
)


def modes_of(record: BlockTelemetry) -> tuple[str, ...]:
    """The modes that a block was made with, in the order of `MODES`."""
    density = f"{record.asked_density:.0%}" if record.asked_density is not None else "τ"
    return record.preset, record.attention, record.retrieval, density, str(record.seed), str(record.steps)


def mode_changes(before: BlockTelemetry | None, record: BlockTelemetry, at: float) -> list[ModeChange]:
    """How a block's modes differ from those of the block before it."""
    if before is None:
        return []
    pairs = zip(MODES, modes_of(before), modes_of(record), strict=True)
    return [ModeChange(record.block, at, mode, old, new) for mode, old, new in pairs if old != new]


def mode_words(change: ModeChange) -> str:
    """A mode change in words."""
    return translate("Modes", "{0} {1} → {2}").format(
        translate("Modes", change.mode), change.before, change.after
    )


def short_words(change: ModeChange) -> str:
    """What a flag says: the new value, and of a number also what it counts."""
    if change.mode in ("preset", "attention", "retrieval"):
        return change.after
    return f"{translate('Modes', change.mode)} {change.after}"


def markers_from_json(value: object) -> tuple[Marker, ...]:
    """The markers that a project's file holds: numbers, or objects with `at` and `name`. All else is no marker."""
    if not isinstance(value, list):
        return ()
    found = []
    for entry in value:
        at, name = (entry.get("at"), entry.get("name")) if isinstance(entry, dict) else (entry, "")
        if isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at <= MAX_SECONDS:
            found.append(Marker(float(at), clean_name(name) if isinstance(name, str) else ""))
    return in_order(found)


def markers_to_json(markers: Iterable[Marker]) -> list[Any]:
    """As `markers_from_json` reads them; a nameless marker is a number."""
    return [{"at": marker.at, "name": marker.name} if marker.name else marker.at for marker in markers]


def clean_name(name: str) -> str:
    """A name as one line of at most 80 characters, fit for a file."""
    printable = "".join(c if c.isprintable() and not "\ud800" <= c <= "\udfff" else " " for c in name)
    return " ".join(printable.split())[:MAX_NAME_CHARACTERS].strip()


def in_order(markers: Iterable[Marker]) -> tuple[Marker, ...]:
    """By time, one a time: of two at one time the later one given stays."""
    return tuple(sorted({marker.at: marker for marker in markers}.values()))


def moved(markers: tuple[Marker, ...], marker: Marker, at: float) -> tuple[Marker, ...]:
    """With that marker at another time."""
    return in_order(
        [*(other for other in markers if other != marker), replace(marker, at=min(max(at, 0.0), MAX_SECONDS))]
    )
