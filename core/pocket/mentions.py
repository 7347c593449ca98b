"""What of the pocket world a typed English sentence names, by keywords."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from worldattention.core.pocket.vocabulary import SHIRTS, VOCABULARY


@dataclass(frozen=True, slots=True)
class Mentions:
    """What of the pocket world a text names: an index per attribute, None where it names nothing."""

    sex: int | None = None
    shirt: int | None = None
    action: int | None = None
    place: int | None = None
    time: int | None = None
    weather: int | None = None

    @property
    def named(self) -> dict[str, str]:
        """Attribute -> value, for what was understood."""
        found = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: VOCABULARY[name][index] for name, index in found if index is not None}

    @property
    def missing(self) -> tuple[str, ...]:
        """The attributes that the text does not name."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is None)


_GARMENT = r"(?:shirt|t-?shirt|tee|top|sweater|jumper|pullover|hoodie|jacket|blouse|dress|coat)"
_NO_GARMENT = r"(?! (?:ball|ribbon|kite|dog|balloon|snow|rain|light|sky|sunset|house|sand|sea|water|weather))"
# Attribute -> value -> patterns; the value whose patterns occur most wins, the earlier one in a tie. A pattern
# listed twice weighs double: "village street" is a village.
_KEYWORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "sex": {
        "woman": (r"\b(?:woman|women|lady|girl|she|her|female)\b",),
        "man": (r"\b(?:man|men|guy|boy|he|his|him|male|gentleman)\b",),
    },
    "action": {
        "ball": (r"\bballs?\b", r"\bballs?\b", r"\bcatch(?:es|ing)?\b"),
        "ribbon": (r"\bribbons?\b", r"\bribbons?\b", r"\btwirl"),
        "torch": (r"\btorch(?:es)?\b", r"\btorch(?:es)?\b", r"\b(?:fire|flam(?:e|es|ing))\b", r"\bjuggl"),
        "kite": (r"\bkites?\b", r"\bkites?\b"),
        "dog": (r"\b(?:dogs?|pupp(?:y|ies))\b", r"\b(?:dogs?|pupp(?:y|ies))\b", r"\bleash\b"),
        "balloon": (r"\bballoons?\b", r"\bballoons?\b"),
        "wave": (r"\bwav(?:e|es|ing)\b(?! of)", r"\b(?:hello|greet(?:s|ing)?)\b"),
    },
    "place": {
        "village": (
            r"\bvillages?\b",
            r"\bvillages?\b",
            r"\bhouses?\b",
            r"\b(?:countryside|cottages?|hamlet)\b",
        ),
        "beach": (
            r"\b(?:beach(?:es)?|seaside|sea|ocean|coast|shore|seashore)\b",
            r"\b(?:sand|sandy|lighthouse|parasol|sail(?:boat)?|palm)\b",
        ),
        "mountain": (
            r"\b(?:mountains?|alpine|alps)\b",
            r"\b(?:peaks?|pines?|cabin|tent|camp|valley|meadow)\b",
        ),
        "city": (
            r"\b(?:city|downtown|skyscrapers?|urban)\b",
            r"\b(?:city|buildings?|downtown)\b",
            r"\b(?:streets?|road|town)\b",
        ),
    },
    "time": {
        "night": (r"\b(?:nights?|midnight|moonlight|moonlit|moon|after dark|starry|stars)\b",),
        "dusk": (r"\b(?:sunset|dusk|evening|sundown|twilight|sun goes down|golden hour)\b",),
        "day": (r"\b(?:daylight|daytime|noon|midday|morning|afternoon|sunny|(?<!rainy )days?)\b",),
    },
    "weather": {
        "clear": (r"\b(?:clear|sunny|(?:fine|dry) weather|cloudless)\b",),
        "snow": (r"\bsnow(?:s|ing|fall|flakes?|y(?! (?:peaks?|mountains?)))?\b", r"\b(?:blizzard|flakes)\b"),
        "rain": (r"\brain(?:s|ing|fall|y|drops?)?\b", r"\b(?:drizzl\w*|showers?)\b"),
    },
}
_SHIRT_WORDS = {**{c: c for c in SHIRTS}, "violet": "purple"}


def parse(text: str) -> Mentions:
    """Which attributes a typed prompt names, by keywords (English, as the text encoder is)."""
    words = " ".join(text[:4000].lower().split())
    found: dict[str, int] = {}
    for attribute, values in _KEYWORDS.items():
        scores = {v: sum(bool(re.search(p, words)) for p in patterns) for v, patterns in values.items()}
        best = max(scores, key=lambda v: scores[v])
        if scores[best]:
            found[attribute] = VOCABULARY[attribute].index(best)
    colours = "|".join(_SHIRT_WORDS)
    worn = re.search(rf"\b({colours})(?: [\w-]+)? {_GARMENT}\b", words) or re.search(
        rf"\b(?:in|wears|wearing) ({colours})\b{_NO_GARMENT}", words
    )
    if worn:
        found["shirt"] = SHIRTS.index(_SHIRT_WORDS[worn.group(1)])
    return Mentions(**found)
