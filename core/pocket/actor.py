"""The actor: a person with a shirt, standing or walking, whose hands are where the action puts them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.pocket.palette import (
    HAIR_RGB,
    HUE_RGB,
    SHIRT_RGB,
    SKIN_RGB,
    TROUSERS_RGB,
    ambient_table,
    colour_table,
)
from worldattention.core.pocket.scenes import COLOURS, Hidden, Scene
from worldattention.core.pocket.static import actor_x
from worldattention.core.pocket.strokes import Strokes
from worldattention.core.pocket.vocabulary import ACTIONS, TIMES, WEATHERS

PERIOD_SECONDS = 2.5  # every motion repeats after a whole number of these
WALK_SECONDS = 12.5
FOOT_Y, HIP_Y, SHOULDER_Y, HEAD_Y = 116.0, 89.0, 66.5, 53.0
_WALK_REACH = 14.0
_UPPER_ARM = 11.5


@dataclass(frozen=True, slots=True)
class Cast:
    """Who and what moves in frames [B, T]. Numbers are [B, T, 1], colours [B, T, 1, 3] and already lit.

    phase is the angle of the common cycle, side (1 or -1) where the props are, facing the same but turning
    smoothly while walking; `action` etc. are [B, T, 1] integers.
    """

    hidden: Hidden
    action: Tensor
    time: Tensor
    weather: Tensor
    woman: Tensor
    ambient: Tensor
    shirt: Tensor
    skin: Tensor
    hair: Tensor
    trousers: Tensor
    seconds: Tensor
    phase: Tensor
    x: Tensor
    side: Tensor
    facing: Tensor
    shoulder: Tensor

    def does(self, action: str) -> Tensor:
        """1 where the actor does `action`, else 0; [B, T, 1]."""
        return (self.action == ACTIONS.index(action)).float()

    def lit(self, r: float, g: float, b: float) -> Tensor:
        return self.ambient * colour_table(((r, g, b),), self.ambient.device)

    def hidden_colour(self, name: str) -> Tensor:
        index = self.hidden.colours[:, COLOURS.index(name)]
        return colour_table(HUE_RGB, index.device)[index][:, None, None] * self.ambient


def cast(hidden: Hidden, scene: Scene, which: Tensor, seconds: Tensor) -> Cast:
    """The cast of frames `which` [B, T] (segment indices) at `seconds` [B, T]."""
    action, place, time, weather, shirt, sex = (
        values.gather(1, which)[..., None]
        for values in (scene.action, scene.place, scene.time, scene.weather, scene.shirt, scene.sex)
    )
    device = which.device
    ambient = ambient_table(device)[time, weather]

    def lit(colours: tuple[tuple[float, float, float], ...], index: Tensor) -> Tensor:
        return colour_table(colours, device)[index] * ambient

    skin, hair, trousers = hidden.person(sex, shirt)
    t = seconds[..., None].float()
    phase = math.tau * t / PERIOD_SECONDS
    home = actor_x(hidden, place[..., 0])[..., None]
    walking = (action == ACTIONS.index("dog")).float()
    stride = math.tau * t / WALK_SECONDS
    side = torch.where(home > 140, -1.0, 1.0)
    turn = (3.0 * stride.cos()).clamp(-1, 1)
    breath = (1 - walking) * 0.7 * phase.sin() - walking * 1.2 * (2 * phase).cos()
    return Cast(
        hidden=hidden,
        action=action,
        time=time,
        weather=weather,
        woman=sex.float(),
        ambient=ambient,
        shirt=lit(SHIRT_RGB, shirt),
        skin=lit(SKIN_RGB, skin),
        hair=lit(HAIR_RGB, hair),
        trousers=lit(TROUSERS_RGB, trousers),
        seconds=t,
        phase=phase,
        x=home + walking * _WALK_REACH * stride.sin(),
        side=side,
        facing=walking * turn + (1 - walking) * side,
        shoulder=SHOULDER_Y + breath,
    )


@dataclass(frozen=True, slots=True)
class Hands:
    """Where the prop hand and the free hand are, each [B, T, 1]."""

    prop_x: Tensor
    prop_y: Tensor
    free_x: Tensor
    free_y: Tensor


def draw_behind(s: Strokes, c: Cast) -> None:
    """Halo, shadow and long hair: what lies behind the person and props."""
    night = (c.time == TIMES.index("night")).float()
    s.ellipse(c.x, 86.0, 40.0, 46.0, (0.10, 0.12, 0.20), soft=60.0, alpha=night, mode=1.0)
    shadow = 0.30 - 0.10 * (c.weather == WEATHERS.index("snow")).float()
    s.ellipse(c.x, FOOT_Y + 1, 18.0, 3.4, (0.02, 0.03, 0.08), soft=3.0, alpha=shadow)


def draw_body(s: Strokes, c: Cast, hands: Hands) -> None:
    """Legs, the free arm, torso and head; the prop arm comes last, by `draw_prop_arm`."""
    walking = c.does("dog")
    head = c.shoulder - (SHOULDER_Y - HEAD_Y)
    hip = c.shoulder + (HIP_Y - SHOULDER_Y)
    s.add(c.x - 1.2 * c.facing, head + 5, 7.0, 9.0, c.hair, c.hair * 0.8, radius=2.0, alpha=c.woman)
    _draw_legs(s, c, hip, walking)
    _draw_arm(s, c, -1.0, hands.free_x, hands.free_y, 0.86)
    s.add(
        c.x, c.shoulder + 11.5, 6.0, 10.5, c.shirt * 1.04, c.shirt * 0.82, radius=3.0, taper=-0.06, shade=0.22
    )
    s.add(
        c.x,
        hip + 3,
        8.0,
        6.5,
        c.trousers,
        c.trousers * 0.85,
        taper=0.32,
        radius=1.0,
        alpha=c.woman,
        shade=0.2,
    )
    s.add(c.x, c.shoulder - 2.5, 2.2, 3.0, c.skin * 0.88)
    s.ellipse(c.x, head, 7.6, 8.4, c.skin, c.skin * 0.94, shade=0.14)
    s.dome(c.x - 0.7 * c.facing, head - 1.6, 8.6, 8.4, c.hair * 1.12, c.hair * 0.9)
    look = 1.6 * c.facing
    for eye in (-2.9, 2.9):
        s.ellipse(c.x + look + eye, head + 1.0, 1.8, 2.1, c.lit(0.97, 0.97, 0.97), soft=1.0)
        s.ellipse(c.x + 1.25 * look + eye, head + 1.2, 1.25, 1.6, (0.08, 0.07, 0.09), soft=1.0)
    s.dome(c.x + look, head + 4.2, 2.6, 2.0, c.lit(0.72, 0.22, 0.24), angle=math.pi)


def draw_prop_arm(s: Strokes, c: Cast, hands: Hands) -> None:
    _draw_arm(s, c, 1.0, hands.prop_x, hands.prop_y, 0.94)


def _draw_legs(s: Strokes, c: Cast, hip: Tensor, walking: Tensor) -> None:
    """Two legs; walking, they swing in opposition once a period and the forward one is lifted."""
    for leg in (-1.0, 1.0):
        swing = leg * c.phase.sin()
        lift = walking * 4.0 * (leg * c.phase.cos() * c.facing).clamp(min=0)
        foot_x = c.x + (1 - walking) * 5.5 * leg + walking * 8.5 * swing
        foot_y = FOOT_Y - 2.2 - lift
        knee_x, knee_y = (c.x + 3.2 * leg + foot_x) / 2 + 1.6 * walking * c.facing, (hip + foot_y) / 2
        s.line(c.x + 3.4 * leg, hip, knee_x, knee_y, 3.7, c.trousers)
        s.line(knee_x, knee_y, foot_x, foot_y, 3.2, c.trousers * 0.9)
        toe = foot_x + walking * 1.8 * c.facing + (1 - walking) * 1.2 * leg
        s.add(toe, foot_y + 1.2, 3.4, 0.7, c.lit(0.22, 0.18, 0.18), radius=1.5)


def _draw_arm(s: Strokes, c: Cast, arm: float, hand_x: Tensor, hand_y: Tensor, tint: float) -> None:
    """Sleeve, forearm and hand by two-bone inverse kinematics, the elbow bent outwards."""
    side = arm * c.side * (1 - c.does("dog")) + arm * c.facing * c.does("dog")
    x0, y0 = c.x + 7.2 * side, c.shoulder + 2.5
    dx, dy = hand_x - x0, hand_y - y0
    reach = torch.sqrt(dx * dx + dy * dy + 1e-4)
    near = reach.clamp(max=2 * _UPPER_ARM - 0.2)
    x1, y1 = x0 + dx / reach * near, y0 + dy / reach * near
    out = torch.sqrt((_UPPER_ARM**2 - near * near / 4).clamp(min=0)) / reach
    bend = out * side * (dy / 5).clamp(-1, 1)  # straight on the way from elbow out to elbow down
    elbow_x, elbow_y = (x0 + x1) / 2 + bend * dy, (y0 + y1) / 2 - bend * dx
    s.line(x0, y0, elbow_x, elbow_y, 3.1, c.shirt * tint)
    s.line(elbow_x, elbow_y, x1, y1, 2.4, c.skin * (0.5 + 0.5 * tint))
    s.ellipse(x1, y1, 3.0, 3.0, c.skin)
