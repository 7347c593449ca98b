"""The language of the pocket world: sentences for scenes."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

from worldattention.core.pocket.vocabulary import ACTIONS, PLACES, SEXES, SHIRTS, TIMES, VOCABULARY, WEATHERS

if TYPE_CHECKING:  # the window completes prompts before torch is loaded
    from torch import Tensor

    from worldattention.core.pocket.scenes import Scene

PARAPHRASES = 6

SUBJECTS = (
    ("a man", "the man", "a guy", "a young man", "one man", "a boy"),
    ("a woman", "the woman", "a lady", "a young woman", "one woman", "a girl"),
)
WEARS = (
    "in {article} {colour} shirt",
    "wearing {article} {colour} shirt",
    "in {article} {colour} t-shirt",
    "with {article} {colour} top",
    "dressed in {article} {colour} shirt",
    "in {colour}",
)
DOES = {
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
WHERE = {
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
WHEN = {
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
AIR = {
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
    actor = f"{rng.choice(SUBJECTS[sex])} {_worn(SHIRTS[shirt], rng)}"
    does = rng.choice(DOES[ACTIONS[action]])
    where = rng.choice(WHERE[PLACES[place]])
    when = [rng.choice(WHEN[TIMES[time]]), rng.choice(AIR[WEATHERS[weather]])]
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
    return rng.choice(WEARS).format(article=article, colour=colour)


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
