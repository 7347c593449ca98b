"""The seven actions: where the hands are, and the props, all exact functions of time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from worldattention.core.pocket.actor import FOOT_Y, PERIOD_SECONDS, WALK_SECONDS, Cast, Hands
from worldattention.core.pocket.raster import ADD
from worldattention.core.pocket.strokes import Strokes
from worldattention.core.pocket.vocabulary import ACTIONS

_CATCH = 0.2  # share of the period that the ball rests in the hand
_RIBBON_PARTS = 10
_DOG_TURNS_EARLIER = 0.34  # of the walk's angle: when `Cast.facing` starts to turn
_STRING = (0.95, 0.95, 0.95)


def hands_of(c: Cast) -> Hands:
    """The hands of whatever action each frame shows."""
    one = torch.ones_like(c.x)
    y = c.shoulder
    swing = c.phase.sin()
    rest = (-10.5 * one, y + 20)
    prop, free = {}, dict.fromkeys(ACTIONS, rest)
    ball_x, ball_y, _ = _ball(c)
    prop["ball"] = ((ball_x - c.x) * c.side, ball_y)
    prop["ribbon"] = (20 + 4 * c.phase.cos(), y - 2 + 5 * swing)
    prop["torch"] = (16 + 2 * c.phase.cos(), y + 13 + 2 * swing)
    free["torch"] = (-16 + 2 * c.phase.cos(), y + 13 - 2 * swing)
    prop["kite"] = (15 * one, y + 1)
    free["kite"] = (3 * one, y + 8)
    prop["dog"] = (13 * one, y + 16)
    free["dog"] = (-7 - 4 * swing, y + 20)
    prop["wave"] = (20 + 7 * swing, y - 15 + 3 * swing * swing)
    prop["balloon"] = (15 * one, y + 7)
    choose = [c.does(action) for action in ACTIONS]
    side = torch.where(c.does("dog") > 0, c.facing, c.side)

    def pick(table: dict[str, tuple[Tensor, Tensor]], k: int) -> Tensor:
        return sum((on * table[a][k] for on, a in zip(choose, ACTIONS, strict=True)), torch.zeros_like(c.x))

    return Hands(c.x + side * pick(prop, 0), pick(prop, 1), c.x + side * pick(free, 0), pick(free, 1))


def draw_props_behind(s: Strokes, c: Cast, hands: Hands) -> None:
    """Props that the person covers."""
    _draw_kite(s, c, hands)
    _draw_balloon(s, c, hands)
    _draw_torches(s, c)


def draw_props_before(s: Strokes, c: Cast, hands: Hands) -> None:
    """Props that cover the person."""
    _draw_ribbon(s, c, hands)
    _draw_dog(s, c, hands)


def _ball(c: Cast) -> tuple[Tensor, Tensor, Tensor]:
    """Hand x, hand y, ball y: a dip and a throw that comes back to the hand."""
    turn = torch.remainder(c.seconds / PERIOD_SECONDS, 1.0)
    flight = ((turn - _CATCH) / (1 - _CATCH)).clamp(0, 1)
    dip = torch.sin(math.pi * (turn / _CATCH).clamp(0, 1)) * (turn < _CATCH)
    hand_y = c.shoulder + 14 + 5 * dip
    return c.x + 18 * c.side, hand_y, hand_y - 10 - 136 * flight * (1 - flight)


def draw_ball(s: Strokes, c: Cast) -> None:
    x, _, y = _ball(c)
    on, spin = c.does("ball"), c.phase * c.side
    s.ellipse(x, y, 10.0, 10.0, c.lit(0.93, 0.15, 0.13), c.lit(0.70, 0.08, 0.09), alpha=on, shade=0.2)
    s.add(x, y, 7.8, 3.4, c.hidden_colour("ball_stripe"), radius=0.5, angle=spin, alpha=on)
    s.ellipse(x - 3.2, y - 5.6, 1.8, 1.8, (1.0, 1.0, 1.0), soft=2.0, alpha=0.55 * on)


def _draw_ribbon(s: Strokes, c: Cast, hands: Hands) -> None:
    """A stick and a broad ribbon on which a wave runs outwards."""
    on, colour = c.does("ribbon"), c.hidden_colour("ribbon")
    tip_x, tip_y = hands.prop_x + 7 * c.side, hands.prop_y - 5
    part = torch.arange(_RIBBON_PARTS + 1, device=c.x.device, dtype=torch.float32)
    x = tip_x + c.side * 5.6 * part
    grow = 1 - torch.exp(-part / 2.0)
    y = tip_y + grow * (8 * torch.sin(c.phase - 0.7 * part) + 1.2 * part)
    x0, y0, x1, y1 = x[..., :-1], y[..., :-1], x[..., 1:], y[..., 1:]
    fold = 0.98 + 0.10 * torch.cos(c.phase - 0.7 * part[:-1])
    s.line(x0, y0, x1, y1, 4.4, colour * fold[..., None], count=_RIBBON_PARTS, alpha=on)
    s.line(hands.prop_x, hands.prop_y, tip_x, tip_y, 1.2, c.lit(0.95, 0.93, 0.88), alpha=on)


def _draw_torches(s: Strokes, c: Cast) -> None:
    """Three torches on one loop: up on the far side of the throw, low between the hands."""
    on = c.does("torch")
    third = torch.arange(3, device=c.x.device, dtype=torch.float32) * (math.tau / 3)
    loop = c.phase + third
    rise = loop.sin()
    x = c.x + 19 * loop.cos()
    y = c.shoulder + 8 - 38 * rise.clamp(min=0) + 4 * (-rise).clamp(min=0)
    lean = 0.35 * loop.cos()
    flame_x, flame_y = x + 12 * lean.sin(), y - 12 * lean.cos()
    flicker = (4 * c.phase + third).sin()
    glow = on * (0.30 + 0.25 * c.time)
    s.ellipse(flame_x, flame_y, 24.0, 24.0, (0.55, 0.28, 0.07), count=3, soft=44.0, alpha=glow, mode=ADD)
    s.add(x, y - 2, 2.0, 7.5, c.lit(0.50, 0.32, 0.18), count=3, angle=lean, alpha=on, radius=0.4)
    s.ellipse(
        flame_x,
        flame_y,
        5.6,
        8.2 + 0.5 * flicker,
        (1.0, 0.42, 0.10),
        (1.0, 0.62, 0.12),
        count=3,
        alpha=on,
        soft=1.8,
    )
    s.ellipse(flame_x, flame_y + 1.8, 3.1, 4.9, (1.0, 0.92, 0.45), count=3, alpha=on, soft=1.8)


def _draw_kite(s: Strokes, c: Cast, hands: Hands) -> None:
    on, colour = c.does("kite"), c.hidden_colour("kite")
    x = c.x + c.side * (62 + 9 * c.phase.sin())
    y = 30 + 4 * c.phase.cos()
    lean = c.side * (0.35 + 0.18 * c.phase.cos())
    cos, sin = lean.cos(), lean.sin()
    s.line(hands.prop_x, hands.prop_y, x, y, 0.7, _STRING, alpha=0.85 * on)
    bow = torch.arange(3, device=c.x.device, dtype=torch.float32)
    along, across = 29 + 8.5 * bow, 3.0 * torch.sin(c.phase - 0.9 * bow)
    s.ellipse(
        x - sin * along + cos * across,
        y + cos * along + sin * across,
        4.4,
        3.0,
        c.lit(0.97, 0.97, 0.95),
        count=3,
        alpha=on,
    )
    s.add(x + sin * 7.0, y - cos * 7.0, 8.5, 8.0, colour * 1.06, angle=lean, taper=1.0, alpha=on)
    s.add(x - sin * 11.0, y + cos * 11.0, 8.5, 10.0, colour * 0.84, angle=lean, taper=-1.0, alpha=on)
    s.add(x - sin * 3.0, y + cos * 3.0, 1.1, 17.5, c.lit(0.97, 0.97, 0.95), angle=lean, alpha=on)


def _draw_balloon(s: Strokes, c: Cast, hands: Hands) -> None:
    on, colour = c.does("balloon"), c.hidden_colour("balloon")
    x = c.x + c.side * (21 + 3.5 * c.phase.sin())
    y = 27 + 2.0 * c.phase.cos()
    s.line(hands.prop_x, hands.prop_y, x, y + 16, 0.7, _STRING, alpha=0.9 * on)
    s.add(x, y + 16.5, 1.4, 1.6, colour * 0.75, taper=0.8, alpha=on)
    s.ellipse(x, y, 13.5, 16.0, colour * 1.06, colour * 0.78, alpha=on, shade=0.22)
    s.ellipse(x - 4.8, y - 6.0, 3.2, 4.4, (1.0, 1.0, 1.0), soft=2.5, alpha=0.5 * on)


def _draw_dog(s: Strokes, c: Cast, hands: Hands) -> None:
    """A dog on a leash, ahead of the actor. Where the walk turns, it turns first and then runs past the actor."""
    on, coat = c.does("dog"), c.hidden_colour("dog")
    f = (10 * (math.tau * c.seconds / WALK_SECONDS + _DOG_TURNS_EARLIER).cos()).clamp(-1, 1)
    x, y = c.x + 36 * c.facing, FOOT_Y - 13 + 0.7 * (2 * c.phase).cos()
    s.ellipse(x, FOOT_Y + 1, 17.0, 2.8, (0.02, 0.03, 0.08), soft=3.0, alpha=0.28 * on)
    s.line(hands.prop_x, hands.prop_y, x + 10 * f, y - 3, 0.8, c.lit(0.30, 0.18, 0.14), alpha=on)
    for k, place in enumerate((-9.0, 9.0, -6.0, 6.0)):
        swing = 4.0 * torch.sin(2 * c.phase + math.pi * (k % 2) + math.pi * (k // 2))
        s.line(
            x + place * f,
            y + 3,
            x + (place + swing) * f,
            FOOT_Y + 0 * y,
            2.6,
            coat * (0.74 if k < 2 else 0.9),
            alpha=on,
        )
    wag = 2.5 * (2 * c.phase).sin()
    s.line(x - 12 * f, y - 2, x - 18 * f, y - 11 + wag, 2.1, coat * 0.92, alpha=on)
    s.add(x, y, 9.5, 3.4, coat * 1.06, coat * 0.80, radius=4.2, alpha=on)
    s.ellipse(x + 14.5 * f, y - 8, 7.2, 6.4, coat * 1.06, coat * 0.88, alpha=on)
    s.ellipse(x + 20 * f, y - 6, 4.2, 3.2, coat, alpha=on)
    s.ellipse(x + 23.3 * f, y - 7, 1.6, 1.4, (0.08, 0.07, 0.08), alpha=on)
    s.ellipse(x + 16 * f, y - 9.5, 1.1, 1.3, (0.08, 0.07, 0.08), alpha=on, soft=1.0)
    s.ellipse(x + 10.5 * f, y - 8, 2.8, 5.4, coat * 0.62, angle=0.35 * f, alpha=on)
