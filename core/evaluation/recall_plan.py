"""The script of a recall episode: a scene, an absence in other places, and the scene again in other words."""

from __future__ import annotations

import random
from dataclasses import dataclass

from worldattention.core.pocket.grammar import sentence
from worldattention.core.pocket.vocabulary import ACTIONS, PLACES, SEXES, SHIRTS, TIMES, WEATHERS

WORDINGS = 24
"""Paraphrases to choose the return's wording from: the one that shares the fewest words is taken."""


@dataclass(frozen=True, slots=True)
class SceneWords:
    """The prompted attributes of one segment, as indices."""

    sex: int
    shirt: int
    action: int
    place: int
    time: int
    weather: int

    def phrase(self, rng: random.Random) -> str:
        """One sentence for this scene."""
        return sentence(self.sex, self.shirt, self.action, self.place, self.time, self.weather, rng)


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """Prompts of one episode; `scene` is what the visit and the comeback say.

    The prologue, elsewhere, fills the frames that every window keeps as its sink: were they of the visit, each
    policy would see it.
    """

    seed: int
    scene: SceneWords
    prologue: str
    visit: str
    absence: tuple[str, ...]
    comeback: str


def plan_episode(index: int, seed: int, absences: int) -> EpisodePlan:
    """Episode `index` of an evaluation: places take turns, all else is drawn from (`seed`, `index`)."""
    rng = random.Random(f"recall {seed} {index}")
    place = index % len(PLACES)
    scene = _scene(place, rng)
    elsewhere = [other for other in range(len(PLACES)) if other != place]
    rng.shuffle(elsewhere)
    prologue, *absence = (_scene(elsewhere[step % len(elsewhere)], rng) for step in range(1 + absences))
    visit = scene.phrase(rng)
    wordings = [scene.phrase(rng) for _ in range(WORDINGS)]
    comeback = min(
        (wording for wording in wordings if wording != visit),
        key=lambda wording: len(_words(wording) & _words(visit)),
    )
    return EpisodePlan(
        seed=rng.getrandbits(62),
        scene=scene,
        prologue=prologue.phrase(rng),
        visit=visit,
        absence=tuple(other.phrase(rng) for other in absence),
        comeback=comeback,
    )


def plan_scene(index: int, seed: int) -> tuple[SceneWords, int]:
    """Scene `index` of an evaluation and its world's seed: places take turns, all else is drawn."""
    rng = random.Random(f"scene {seed} {index}")
    return _scene(index % len(PLACES), rng), rng.getrandbits(62)


def _scene(place: int, rng: random.Random) -> SceneWords:
    return SceneWords(
        sex=rng.randrange(len(SEXES)),
        shirt=rng.randrange(len(SHIRTS)),
        action=rng.randrange(len(ACTIONS)),
        place=place,
        time=rng.randrange(len(TIMES)),
        weather=rng.randrange(len(WEATHERS)),
    )


def _words(text: str) -> set[str]:
    return set(text.lower().strip(".").replace(",", "").split())
