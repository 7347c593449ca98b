"""The truth of a rendered scene as class labels, to measure what a model remembers.

An attribute that a scene does not show (the cabin's colour on the beach) has the label -1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.pocket.scenes import (
    ACTION_COLOURS,
    COLOURS,
    HAIRS,
    HUES,
    LAYOUTS,
    PLACE_COLOURS,
    SKINS,
    TROUSERS,
    Hidden,
    Scene,
)
from worldattention.core.pocket.static import layout_of
from worldattention.core.pocket.vocabulary import ACTIONS, PLACES, VOCABULARY


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something that can be read off a picture; hidden ones are not in the prompt."""

    name: str
    classes: int
    hidden: bool


HIDDEN_ATTRIBUTES = (
    Attribute("layout", LAYOUTS, hidden=True),
    *(Attribute(name, len(HUES), hidden=True) for name in COLOURS),
    Attribute("skin", SKINS, hidden=True),
    Attribute("hair", HAIRS, hidden=True),
    Attribute("trousers", TROUSERS, hidden=True),
)
PROMPTED_ATTRIBUTES = tuple(Attribute(name, len(values), hidden=False) for name, values in VOCABULARY.items())
ATTRIBUTES = HIDDEN_ATTRIBUTES + PROMPTED_ATTRIBUTES

PLACE_ATTRIBUTES: dict[str, tuple[str, ...]] = {place: ("layout", *PLACE_COLOURS[place]) for place in PLACES}
"""Per place the hidden attributes that its background shows: what must come back when the place does."""
PERSON_ATTRIBUTES = ("skin", "hair", "trousers")
PROP_ATTRIBUTES = tuple(ACTION_COLOURS.values())


def shown_attributes(place: str, action: str) -> tuple[str, ...]:
    """The hidden attributes that a scene shows: its place's, its actor's, its prop's."""
    prop = (ACTION_COLOURS[action],) if action in ACTION_COLOURS else ()
    return (*PLACE_ATTRIBUTES[place], *PERSON_ATTRIBUTES, *prop)


def hidden_labels(hidden: Hidden, scene: Scene, segment: int) -> Tensor:
    """[B, len(HIDDEN_ATTRIBUTES)] integer: the true classes in one segment, -1 where nothing shows them."""
    place, action = scene.place[:, segment], scene.action[:, segment]
    shown = _shown_colours(place.device)[place, action]
    colours = torch.where(shown, hidden.colours, -1)
    layout = layout_of(hidden, place[:, None])
    actor = torch.stack(hidden.person(scene.sex[:, segment], scene.shirt[:, segment]), dim=1)
    return torch.cat([layout, colours, actor], dim=1)


def prompted_labels(scene: Scene, segment: int) -> Tensor:
    """[B, len(PROMPTED_ATTRIBUTES)] integer."""
    return torch.stack([getattr(scene, a.name)[:, segment] for a in PROMPTED_ATTRIBUTES], dim=1)


def labels(hidden: Hidden, scene: Scene, segment: int) -> Tensor:
    """[B, len(ATTRIBUTES)] integer: hidden, then prompted."""
    return torch.cat([hidden_labels(hidden, scene, segment), prompted_labels(scene, segment)], dim=1)


def _shown_colours(device: torch.device) -> Tensor:
    """[places, actions, colours] bool."""
    rows = [
        [
            [name in PLACE_COLOURS[place] or name == ACTION_COLOURS.get(action) for name in COLOURS]
            for action in ACTIONS
        ]
        for place in PLACES
    ]
    return torch.tensor(rows, device=device)
