"""What a scene of the pocket world is made of, and how scenes are drawn at random.

*Prompted* attributes are named by the prompt; *hidden* ones are not, are drawn once per episode, and can only
come back through memory. Every attribute is discrete.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from worldattention.core.pocket.vocabulary import ACTIONS, PLACES, SEXES, SHIRTS, TIMES, WEATHERS

HUES = ("red", "orange", "yellow", "green", "teal", "blue", "purple", "pink")
LAYOUTS = 4
SKINS = 3
HAIRS = 4
TROUSERS = 3

PLACE_COLOURS: dict[str, tuple[str, ...]] = {
    "village": ("house_1", "house_2", "house_3"),
    "beach": ("lighthouse", "umbrella", "sail"),
    "mountain": ("cabin", "tent"),
    "city": ("building_1", "building_2", "building_3", "building_4"),
}
ACTION_COLOURS: dict[str, str] = {
    "ball": "ball_stripe",
    "ribbon": "ribbon",
    "kite": "kite",
    "dog": "dog",
    "balloon": "balloon",
}
COLOURS = tuple(name for names in PLACE_COLOURS.values() for name in names) + tuple(ACTION_COLOURS.values())


@dataclass(frozen=True, slots=True)
class Hidden:
    """What an episode looks like beyond its prompts; B episodes.

    layout [B, len(PLACES)] is one arrangement per place, colours [B, len(COLOURS)] indexes `HUES`. The rest is
    [B, SEXES, SHIRTS]: whoever is prompted alike is the same person, whatever was between.
    """

    layout: Tensor
    colours: Tensor
    skin: Tensor
    hair: Tensor
    trousers: Tensor

    def select(self, index: Tensor | slice) -> Hidden:
        """The episodes at `index` (anything that indexes the first dimension of a tensor)."""
        return Hidden(*(getattr(self, field.name)[index] for field in fields(self)))

    def person(self, sex: Tensor, shirt: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Skin, hair and trousers of those whom `sex` and `shirt` [B, ...] name, each [B, ...]."""
        episode = torch.arange(len(sex), device=sex.device).view(-1, *[1] * (sex.ndim - 1))
        skin, hair, trousers = (v[episode, sex, shirt] for v in (self.skin, self.hair, self.trousers))
        return skin, hair, trousers


@dataclass(frozen=True, slots=True)
class Scene:
    """The prompted attributes of B episodes of S segments, each [B, S]."""

    sex: Tensor
    shirt: Tensor
    action: Tensor
    place: Tensor
    time: Tensor
    weather: Tensor

    def select(self, index: Tensor | slice) -> Scene:
        """The episodes at `index` (anything that indexes the first dimension of a tensor)."""
        return Scene(*(getattr(self, field.name)[index] for field in fields(self)))


def sample_hidden(batch: int, generator: torch.Generator, device: torch.device | str) -> Hidden:
    """Uniform hidden attributes; the colours within one place differ from each other."""

    def below(n: int, *shape: int) -> Tensor:
        return torch.randint(n, shape, generator=generator, device=device)

    columns = []
    for names in PLACE_COLOURS.values():
        order = torch.rand(batch, len(HUES), generator=generator, device=device).sort(dim=1).indices
        columns.append(order[:, : len(names)])
    columns.append(below(len(HUES), batch, len(ACTION_COLOURS)))
    people = batch, len(SEXES), len(SHIRTS)
    return Hidden(
        layout=below(LAYOUTS, batch, len(PLACES)),
        colours=torch.cat(columns, dim=1),
        skin=below(SKINS, *people),
        hair=below(HAIRS, *people),
        trousers=below(TROUSERS, *people),
    )


def sample_scenes(batch: int, segments: int, generator: torch.Generator, device: torch.device | str) -> Scene:
    """Segments as people prompt them: the actor stays as a rule, and no two neighbours are alike.

    From one segment to the next the place changes in 55 %; the action changes when the place does not, and in
    three of four moves; time and weather are drawn again in 30 %, sex and shirt (another actor) in 35 %.
    """

    def below(n: int, *shape: int) -> Tensor:
        return torch.randint(n, shape, generator=generator, device=device)

    def chance(p: float) -> Tensor:
        return torch.rand(batch, generator=generator, device=device) < p

    def step(old: Tensor, n: int, change: Tensor) -> Tensor:
        return torch.where(change, (old + 1 + below(n - 1, batch)) % n, old)

    sizes = (len(SEXES), len(SHIRTS), len(ACTIONS), len(PLACES), len(TIMES), len(WEATHERS))
    current = [below(n, batch) for n in sizes]
    track = [current]
    for _ in range(segments - 1):
        sex, shirt, action, place, time, weather = current
        other, moves, light = chance(0.35), chance(0.55), chance(0.3)
        current = [
            torch.where(other, below(len(SEXES), batch), sex),
            torch.where(other, below(len(SHIRTS), batch), shirt),
            step(action, len(ACTIONS), ~moves | chance(0.75)),
            step(place, len(PLACES), moves),
            torch.where(light, below(len(TIMES), batch), time),
            torch.where(light, below(len(WEATHERS), batch), weather),
        ]
        track.append(current)
    return Scene(*(torch.stack(column, dim=1) for column in zip(*track, strict=True)))
