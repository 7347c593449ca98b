"""What people type into the pocket world: how a prompt may go on, and what the world makes of it.

Without torch, so that a window can ask while the model is still loading.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from worldattention.core.pocket.grammar import AIR, DOES, SUBJECTS, WEARS, WHEN, WHERE
from worldattention.core.pocket.korean import describe, is_korean, parse_korean, to_english
from worldattention.core.pocket.mentions import Mentions, parse
from worldattention.core.pocket.vocabulary import SHIRTS

MAX_TYPED = 400
"""Characters: what is longer than any prompt of the grammar has no completion."""


def _rows(groups: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> tuple[str, ...]:
    """The phrases of all values, first wordings first, empty ones left out."""
    rounds = zip_longest(*groups, fillvalue="")
    return tuple(dict.fromkeys(phrase for row in rounds for phrase in row if phrase))


def _worn(wear: str) -> tuple[str, ...]:
    return tuple(wear.format(article="an" if c[0] in "aeiou" else "a", colour=c) for c in SHIRTS)


_SLOTS = {
    "subject": _rows(list(SUBJECTS)),
    "wear": tuple(phrase for wear in WEARS for phrase in _worn(wear)),
    "action": _rows(list(DOES.values())),
    "place": _rows(list(WHERE.values())),
    "time": _rows(list(WHEN.values())),
    "weather": _rows(list(AIR.values())),
}
_ACTOR = ("subject", "wear", "action")
# The orders of `grammar.sentence`, in which time and weather may go without saying; a comma follows what comes
# before the actor.
_ORDERS: tuple[tuple[str, ...], ...] = (
    (*_ACTOR, "place", "time", "weather"),
    (*_ACTOR, "place", "weather", "time"),
    (*_ACTOR, "time", "weather", "place"),
    (*_ACTOR, "weather", "time", "place"),
    (*_ACTOR, "time", "place", "weather"),
    (*_ACTOR, "weather", "place", "time"),
    ("place,", *_ACTOR, "time", "weather"),
    ("place,", *_ACTOR, "weather", "time"),
    ("time,", *_ACTOR, "place", "weather"),
    ("weather,", *_ACTOR, "place", "time"),
)


def complete(text: str, limit: int = 8) -> tuple[str, ...]:
    """Whole prompts of the grammar that begin with what is typed (letter case and blanks apart), at most `limit`.

    The typed text may end within a word. Empty when the grammar has no prompt that goes on from it.
    """
    typed = re.sub(r"\s+", " ", text[: MAX_TYPED + 1].lower()).lstrip()
    if len(typed) > MAX_TYPED or limit < 1:
        return ()
    heads: dict[str, tuple[str, ...]] = {}
    for order in _ORDERS:
        for head, rest in _heads(typed, order):
            heads.setdefault(head, rest)
    found: dict[str, None] = {}
    for attempt in range(3 if heads else 0):
        for head, rest in heads.items():
            prompt = _finish(head, rest, random.Random(f"{attempt} {head}"))
            if prompt.lower() != typed.rstrip():
                found.setdefault(prompt)
            if len(found) == limit:
                return tuple(found)
    return tuple(found)


def _heads(typed: str, order: tuple[str, ...], said: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Beginnings of prompts that contain all of `typed`, each with the slots that still follow."""
    if not order:
        if said == typed:
            yield said, ()
        return
    slot, comma = order[0].rstrip(","), order[0][len(order[0].rstrip(",")) :]
    for phrase in _SLOTS[slot]:
        whole = f"{said}{phrase}{comma} "
        if typed.startswith(whole):
            yield from _heads(typed, order[1:], whole)
        elif whole.startswith(typed):
            yield whole, order[1:]


def _finish(head: str, rest: tuple[str, ...], rng: random.Random) -> str:
    words = head + " ".join(rng.choice(_SLOTS[slot]) for slot in rest)
    words = words.strip()
    return f"{words[0].upper()}{words[1:]}."


class Encodes(Protocol):
    """A text encoder, as far as understanding needs it."""

    def encode(self, text: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Understood:
    """What the world makes of a prompt: each attribute by its value's name, None where the prompt names none.

    `english` is what is encoded; `nearest` the prompt of the grammar that is nearest; `similarity` the cosine to
    it (None without an encoder); `notice` one sentence when the prompt lies outside of the world.
    """

    action: str | None
    place: str | None
    weather: str | None
    time: str | None
    shirt: str | None
    sex: str | None
    english: str
    nearest: str
    similarity: float | None
    known: bool
    notice: str | None


def understand(text: str) -> Understood:
    """What of the pocket world a prompt names, in English or Korean."""
    mentions = parse_korean(text) if is_korean(text) else parse(text)
    named = mentions.named
    nearest = describe(_filled(mentions))
    known = bool(named)
    return Understood(
        action=named.get("action"),
        place=named.get("place"),
        weather=named.get("weather"),
        time=named.get("time"),
        shirt=named.get("shirt"),
        sex=named.get("sex"),
        english=to_english(text),
        nearest=nearest,
        similarity=None,
        known=known,
        notice=None if known else _notice(nearest),
    )


def _filled(mentions: Mentions) -> Mentions:
    """The mentions with what a prompt of the grammar must have."""
    values = {
        name: getattr(mentions, name) for name in ("sex", "shirt", "action", "place", "time", "weather")
    }
    return Mentions(**{name: 0 if value is None else value for name, value in values.items()})


def _notice(nearest: str) -> str:
    return (
        "This world knows villages, beaches, mountains and cities, and people with balls, ribbons, torches, "
        f"kites, dogs or balloons; it will show the nearest: {nearest}"
    )
