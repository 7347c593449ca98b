"""The language of the pocket world: sentences for scenes, and what a typed sentence names."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass, fields

from torch import Tensor

from worldattention.core.pocket.scenes import ACTIONS, PLACES, SEXES, SHIRTS, TIMES, WEATHERS, Scene

PARAPHRASES = 6

VOCABULARY: dict[str, tuple[str, ...]] = {
    "sex": SEXES,
    "shirt": SHIRTS,
    "action": ACTIONS,
    "place": PLACES,
    "time": TIMES,
    "weather": WEATHERS,
}

_SUBJECT = (
    ("a man", "the man", "a guy", "a young man", "one man", "a boy"),
    ("a woman", "the woman", "a lady", "a young woman", "one woman", "a girl"),
)
_WEAR = (
    "in {article} {colour} shirt",
    "wearing {article} {colour} shirt",
    "in {article} {colour} t-shirt",
    "with {article} {colour} top",
    "dressed in {article} {colour} shirt",
    "in {colour}",
)
_ACTION = {
    "ball": (
        "throws and catches a red ball",
        "is throwing a red ball into the air",
        "tosses a red ball up and catches it",
        "plays with a red ball",
        "keeps throwing a red ball",
        "plays catch with a ball",
    ),
    "ribbon": (
        "twirls a ribbon",
        "is spinning a long ribbon",
        "dances with a ribbon",
        "waves a ribbon through the air",
        "swings a colorful ribbon",
        "performs with a ribbon",
    ),
    "torch": (
        "juggles fire torches",
        "is juggling flaming torches",
        "juggles three burning torches",
        "throws burning torches into the air",
        "performs a fire show with torches",
        "juggles with fire",
    ),
    "kite": (
        "flies a kite",
        "is flying a kite",
        "holds the string of a kite in the sky",
        "plays with a kite",
        "lets a kite fly",
        "steers a kite in the wind",
    ),
    "dog": (
        "walks a dog",
        "is walking a dog on a leash",
        "takes the dog for a walk",
        "strolls with a dog",
        "goes for a walk with a dog",
        "walks with a puppy",
    ),
    "wave": (
        "waves hello",
        "is waving at the camera",
        "raises a hand and waves",
        "greets us with a wave",
        "waves at us",
        "is waving with one hand",
    ),
    "balloon": (
        "holds a balloon",
        "is holding a big balloon",
        "stands with a balloon on a string",
        "carries a balloon",
        "has a balloon in one hand",
        "plays with a balloon",
    ),
}
_PLACE = {
    "village": (
        "in a village street",
        "in front of village houses",
        "on the village path",
        "in a small village",
        "between the houses of a village",
        "in the countryside near three houses",
    ),
    "beach": (
        "on the beach",
        "by the sea",
        "at the seaside near a lighthouse",
        "on the sandy shore",
        "on the sand by the ocean",
        "at the coast",
    ),
    "mountain": (
        "in the mountains",
        "in a mountain meadow with pine trees",
        "near a cabin in the mountains",
        "below the high peaks",
        "at a camp in the mountains",
        "in an alpine valley",
    ),
    "city": (
        "in the city",
        "on a city street",
        "downtown between tall buildings",
        "in front of city buildings",
        "on a street in a big city",
        "by the road in the city",
    ),
}
_TIME = {
    "day": ("", "during the day", "in daylight", "on a bright day", "at noon", "in the morning"),
    "dusk": (
        "at sunset",
        "at dusk",
        "in the evening light",
        "as the sun goes down",
        "in the evening",
        "at sundown",
    ),
    "night": (
        "at night",
        "in the dark night",
        "late at night",
        "under the night sky",
        "after dark",
        "in the moonlight",
    ),
}
_WEATHER = {
    "clear": ("", "", "under a clear sky", "in clear weather", "in fine weather", "in dry weather"),
    "snow": (
        "in the snow",
        "while it is snowing",
        "as snow falls",
        "in falling snow",
        "in snowy weather",
        "among snowflakes",
    ),
    "rain": (
        "in the rain",
        "while it is raining",
        "as rain falls",
        "in rainy weather",
        "on a wet and rainy day",
        "during a shower of rain",
    ),
}


def sentence(
    sex: int, shirt: int, action: int, place: int, time: int, weather: int, rng: random.Random
) -> str:
    """One English sentence for a scene, phrased at random. Day and clear weather may go without saying."""
    actor = f"{rng.choice(_SUBJECT[sex])} {_worn(SHIRTS[shirt], rng)}"
    does = rng.choice(_ACTION[ACTIONS[action]])
    where = rng.choice(_PLACE[PLACES[place]])
    when = [rng.choice(_TIME[TIMES[time]]), rng.choice(_WEATHER[WEATHERS[weather]])]
    rng.shuffle(when)
    when = [phrase for phrase in when if phrase]
    order = rng.random()
    if order < 0.15:
        words = [where + ",", actor, does, *when]
    elif order < 0.35 and when:
        words = [when[0] + ",", actor, does, where, *when[1:]]
    elif order < 0.5 and when:
        words = [actor, does, *when, where]
    else:
        words = [actor, does, where, *when]
    text = " ".join(words)
    return text[0].upper() + text[1:] + "."


def _worn(colour: str, rng: random.Random) -> str:
    article = "an" if colour[0] in "aeiou" else "a"
    return rng.choice(_WEAR).format(article=article, colour=colour)


def prompt_table(seed: int = 0) -> list[str]:
    """Every scene's prompt in `PARAPHRASES` wordings: 24,192 sentences in the order of `prompt_index`."""
    rng = random.Random(seed)
    sizes = (range(len(values)) for values in (SEXES, SHIRTS, ACTIONS, PLACES, TIMES, WEATHERS))
    scenes = itertools.product(*sizes)
    return [sentence(a, b, c, d, e, f, rng) for a, b, c, d, e, f in scenes for _ in range(PARAPHRASES)]


def prompt_index(scene: Scene, segment: int, paraphrase: Tensor) -> Tensor:
    """Row [B] of `prompt_table` for one segment of each episode; paraphrase [B] in 0..PARAPHRASES-1."""
    index = scene.sex[:, segment]
    for name in ("shirt", "action", "place", "time", "weather"):
        index = index * len(VOCABULARY[name]) + getattr(scene, name)[:, segment]
    return index * PARAPHRASES + paraphrase


@dataclass(frozen=True, slots=True)
class Understood:
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


def parse(text: str) -> Understood:
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
    return Understood(**found)
