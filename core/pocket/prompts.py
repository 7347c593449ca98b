"""What people type into the pocket world: how a prompt may go on, and what the world makes of it.

Without torch, so that a window can ask while the model is still loading.
"""

from __future__ import annotations

import itertools
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from worldattention.core.pocket.grammar import AIR, DOES, SUBJECTS, WEARS, WHEN, WHERE
from worldattention.core.pocket.korean import describe, is_korean, mentioned, to_english
from worldattention.core.pocket.korean_phrases import KOREAN_ORDERS, KOREAN_SLOTS
from worldattention.core.pocket.mentions import Mentions
from worldattention.core.pocket.vocabulary import (
    ACTIONS,
    PLACES,
    SEXES,
    SHIRTS,
    TIMES,
    VOCABULARY,
    WEATHERS,
)

if TYPE_CHECKING:
    from worldattention.core.models.text import TextEncoder

MAX_TYPED = 400
"""Characters: what is longer than any prompt of the grammar has no completion."""

_OTHER_LETTERS = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")  # of neither Latin script nor digits


def _rows(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The phrases of all values, first wordings first, empty ones left out."""
    rounds = itertools.zip_longest(*groups, fillvalue="")
    return tuple(dict.fromkeys(phrase for row in rounds for phrase in row if phrase))


def _worn(wear: str) -> tuple[str, ...]:
    return tuple(wear.format(article="an" if c[0] in "aeiou" else "a", colour=c) for c in SHIRTS)


Slots = Mapping[str, tuple[str, ...]]

_SLOTS: Slots = {
    "subject": _rows(SUBJECTS),
    "wear": tuple(phrase for wear in WEARS for phrase in _worn(wear)),
    "action": _rows(DOES.values()),
    "place": _rows(WHERE.values()),
    "time": _rows(WHEN.values()),
    "weather": _rows(AIR.values()),
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

    The typed text may end within a word. Korean is completed in Korean. Empty when the grammar has no prompt that
    goes on from it.
    """
    typed = re.sub(r"\s+", " ", unicodedata.normalize("NFC", text[: MAX_TYPED + 1]).lower()).lstrip()
    if len(typed) > MAX_TYPED or limit < 1:
        return ()
    slots, orders = (KOREAN_SLOTS, KOREAN_ORDERS) if is_korean(typed) else (_SLOTS, _ORDERS)
    heads: dict[str, tuple[str, ...]] = {}
    for order in orders:
        for head, rest in _heads(typed, order, slots):
            heads.setdefault(head, rest)
    found: dict[str, None] = {}
    for attempt in range(3 if heads else 0):
        for head, rest in heads.items():
            prompt = _finish(head, rest, slots, random.Random(f"{attempt} {head}"))
            if prompt.lower() != typed.rstrip():
                found.setdefault(prompt)
            if len(found) == limit:
                return tuple(found)
    return tuple(found)


def _heads(
    typed: str, order: tuple[str, ...], slots: Slots, said: str = ""
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Beginnings of prompts that contain all of `typed`, each with the slots that still follow."""
    if not order:
        if said == typed:
            yield said, ()
        return
    slot, comma = order[0].rstrip(","), order[0][len(order[0].rstrip(",")) :]
    for phrase in slots[slot]:
        whole = f"{said}{phrase}{comma} "
        if typed.startswith(whole):
            yield from _heads(typed, order[1:], slots, whole)
        elif whole.startswith(typed):
            yield whole, order[1:]


def _finish(head: str, rest: tuple[str, ...], slots: Slots, rng: random.Random) -> str:
    words = head + " ".join(
        rng.choice(slots[slot.rstrip(",")]) + ("," if slot.endswith(",") else "") for slot in rest
    )
    words = words.strip()
    return f"{words[0].upper()}{words[1:]}."


SIMILARITY_KNOWN = 0.40
"""A prompt less similar than this to what it names, or to anything the world knows, is of another world.
`worldattention eval prompt --understanding` measures it."""

LONGEST_TOKENS = 40
"""A prompt of more tokens is read by what it names: no sentence of the grammar, which the model was taught, has more
than 33, and of longer ones it makes no picture."""


@dataclass(frozen=True, slots=True)
class Understood:
    """What the world makes of a prompt: each attribute by its value's name, None where the prompt names none.

    `english` is what is encoded: the prompt, or `nearest` where it is not known. `nearest` is a prompt of the grammar
    that says what will be shown. `similarity` is the cosine to what was named, or where nothing was, to the nearest
    scene; None without an encoder. `notice` is one sentence for a prompt that is outside of the world, or too long.
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


def understand(text: str, encoder: TextEncoder | None = None) -> Understood:
    """What of the pocket world a prompt names, in English or Korean.

    Without `encoder` (an English one) a prompt is known when it names anything; with it, when it is also similar
    to that. The first prompt that names nothing encodes 28 scenes to be compared with.
    """
    mentions = mentioned(text)
    named = mentions.named
    english = to_english(text)
    nearest, similarity, known, long = describe(_filled(mentions)), None, bool(named), False
    if encoder is not None:
        said = encoder.encode(english)
        near = {scene: float(said.pooled @ encoder.encode(scene).pooled) for scene in _scenes(mentions)}
        best = max(near, key=lambda scene: near[scene])
        similarity = near[best]
        nearest = nearest if named else best
        known, long = similarity >= SIMILARITY_KNOWN, said.length > LONGEST_TOKENS
    if known and long and mentions.action is not None:
        nearest = describe(unsaid(mentions))
    return Understood(
        action=named.get("action"),
        place=named.get("place"),
        weather=named.get("weather"),
        time=named.get("time"),
        shirt=named.get("shirt"),
        sex=named.get("sex"),
        english=english if known and not long else nearest,
        nearest=nearest,
        similarity=similarity,
        known=known and not long,
        notice=None if known and not long else _notice(text, nearest, only_long=known),
    )


def unsaid(mentions: Mentions) -> Mentions:
    """The mentions without day and clear weather, which go without saying and are never said."""
    return replace(mentions, time=mentions.time or None, weather=mentions.weather or None)


def _scenes(mentions: Mentions) -> tuple[str, ...]:
    """What a prompt is compared with: the scene it names, or one for each action and place."""
    if mentions.named:
        return (describe(mentions),)
    pairs = itertools.product(range(len(ACTIONS)), range(len(PLACES)))
    return tuple(
        describe(
            Mentions(
                sex=(action + place) % len(SEXES),
                shirt=(3 * action + place) % len(SHIRTS),
                action=action,
                place=place,
                time=(action + place) % len(TIMES),
                weather=(action + 2 * place) % len(WEATHERS),
            )
        )
        for action, place in pairs
    )


def _filled(mentions: Mentions) -> Mentions:
    """The mentions with the first value of whatever was not named."""
    return Mentions(**{name: getattr(mentions, name) or 0 for name in VOCABULARY})


def _notice(text: str, nearest: str, only_long: bool) -> str:
    if only_long:
        return f"This prompt is longer than the sentences that this world knows; it will show: {nearest}"
    if _OTHER_LETTERS.search(text) and not is_korean(text):
        return f"This world understands English and Korean; it will show: {nearest}"
    return (
        "This world knows villages, beaches, mountains and cities, and people with balls, ribbons, torches, "
        f"kites, dogs or balloons; it will show the nearest: {nearest}"
    )
