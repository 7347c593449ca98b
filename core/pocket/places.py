"""The four places, four layouts each, as shapes.

The picture is 256 x 128 pixels. Wherever a layout puts the actor (`ACTOR_X`), the background stays calm.
"""

from __future__ import annotations

from worldattention.core.pocket.palette import RGB
from worldattention.core.pocket.sketch import Paint, Sketch

ACTOR_X: dict[str, tuple[float, float, float, float]] = {
    "village": (144.0, 112.0, 84.0, 172.0),
    "beach": (144.0, 112.0, 152.0, 104.0),
    "mountain": (132.0, 124.0, 92.0, 164.0),
    "city": (132.0, 164.0, 92.0, 128.0),
}
_SUN_X: dict[str, tuple[float, float, float, float]] = {
    "village": (208.0, 44.0, 150.0, 96.0),
    "beach": (176.0, 76.0, 96.0, 160.0),
    "mountain": (196.0, 56.0, 150.0, 100.0),
    "city": (108.0, 148.0, 112.0, 154.0),
}
_STARS = ((14, 12), (38, 34), (61, 8), (83, 26), (104, 13), (127, 37), (141, 7), (166, 22), (187, 40), (203, 11),
          (221, 30), (243, 16))  # fmt: skip
_GLASS: RGB = (0.62, 0.80, 0.92)
_WARM: RGB = (1.0, 0.86, 0.48)
_BARK: RGB = (0.42, 0.29, 0.19)
_WHITE: RGB = (0.97, 0.97, 0.95)


def sky(s: Sketch, place: str, layout: int, horizon: float) -> None:
    """Sky and clouds, in clear weather the sun, or the moon with stars."""
    x = _SUN_X[place][layout]
    top, low = s.light.sky
    s.box(128, horizon / 2 + 6, 140, horizon / 2 + 8, Paint(top), bottom=Paint(low), soft=0.5)
    if s.light.clear:
        _sun_or_moon(s, x, horizon)
    for k, y in enumerate((26, 15, 24)):
        cloud(s, (x + 30 + 88 * k) % 288 - 16, y)


def _sun_or_moon(s: Sketch, x: float, horizon: float) -> None:
    if s.light.night:
        for star_x, star_y in _STARS:
            s.ellipse(star_x, star_y, 1.1, 1.1, Paint((0.95, 0.95, 0.85)), soft=1.6)
        s.shine(x, 22, 40, (0.20, 0.24, 0.36))
        s.ellipse(x, 22, 9.5, 9.5, Paint((0.97, 0.96, 0.88)), soft=1.5)
        s.ellipse(x - 3.2, 19.5, 2.2, 2.2, Paint((0.86, 0.85, 0.80)), soft=1.5)
        s.ellipse(x + 3.0, 24.5, 2.8, 2.8, Paint((0.86, 0.85, 0.80)), soft=1.5)
    elif s.light.lamps:
        s.shine(x, horizon - 8, 90, (0.30, 0.16, 0.02))
        s.shine(x, horizon - 8, 42, (0.42, 0.26, 0.06))
        s.ellipse(x, horizon - 8, 15, 15, Paint((1.0, 0.93, 0.66)), bottom=Paint((1.0, 0.66, 0.34)), soft=1.5)
    else:
        s.shine(x, 22, 46, (0.24, 0.20, 0.08))
        s.ellipse(x, 22, 11, 11, Paint((1.0, 0.95, 0.66)), soft=1.5)


def cloud(s: Sketch, x: float, y: float) -> None:
    white = s.lit((0.99, 0.99, 1.0), haze=0.2)
    for dx, rx, ry in ((-9, 9, 7), (8, 11, 10), (0, 20, 5)):
        s.dome(x + dx, y, rx, ry, white, fade=0.93, soft=1.8)


def village(s: Sketch, layout: int) -> None:
    """Three houses of hidden colours between round trees, a path to the actor, hills behind."""
    sky(s, "village", layout, 84)
    lean = 1 if layout in (0, 2) else -1
    s.ellipse(128 - 70 * lean, 100, 130, 42, s.lit((0.46, 0.68, 0.56), snow=0.75, haze=0.35))
    s.ellipse(128 + 80 * lean, 104, 120, 36, s.lit((0.40, 0.64, 0.42), snow=0.80, haze=0.15))
    ground(s, 84, s.lit((0.47, 0.73, 0.33), snow=0.88), s.lit((0.30, 0.55, 0.24), snow=0.80))
    path = s.lit((0.86, 0.77, 0.58), snow=0.55)
    s.box(ACTOR_X["village"][layout], 107, 17, 23, path, fade=0.9, taper=0.62)
    houses = ((36, 85, 208), (48, 172, 220), (134, 181, 228), (28, 75, 122))[layout]
    trees = ((250, 168), (10, 84), (20, 48), (208, 242))[layout]
    for x in trees:
        round_tree(s, x, 87)
    for name, x, height in zip(("house_1", "house_2", "house_3"), houses, (15.0, 18.0, 15.0), strict=True):
        house(s, x, 90, 19, height, s.hidden(name))


def house(s: Sketch, x: float, foot: float, half: float, height: float, wall: Paint) -> None:
    """A house of half width `half`; `height` is half of the wall's."""
    roof = s.lit((0.50, 0.30, 0.27), snow=0.9)
    s.shadow(x, foot + 1.5, half + 5, 2.6)
    s.box(x, foot - height, half, height, wall, fade=0.84, shade=0.16)
    s.box(x + half * 0.5, foot - 2 * height - 12, 3, 6, s.lit((0.55, 0.40, 0.36)))
    s.box(x, foot - 2 * height - 7, half * 0.62, 8.5, roof, fade=0.8, taper=0.95)
    s.box(x, foot - 7.5, 4.2, 7.5, s.lit((0.40, 0.26, 0.19)), radius=0.5)
    for side in (-1, 1):
        s.box(x + side * half * 0.6, foot - height * 1.25, 4.6, 5, s.lit(_WHITE))
        s.box(x + side * half * 0.6, foot - height * 1.25, 3.4, 3.8, s.lamp(_GLASS, _WARM))
    s.lamplight(x, foot - height * 1.2, 26, (0.13, 0.09, 0.02))


def round_tree(s: Sketch, x: float, foot: float) -> None:
    leaf = s.lit((0.30, 0.62, 0.28), snow=0.7)
    s.shadow(x, foot + 1, 12, 2.4)
    s.box(x, foot - 8, 2.2, 9, s.lit(_BARK))
    s.ellipse(x, foot - 25, 13, 14, leaf.scaled(0.92), fade=0.72, shade=0.2)
    s.ellipse(x - 2.5, foot - 28, 8.5, 8.5, leaf.scaled(1.12), soft=5.0)


def beach(s: Sketch, layout: int) -> None:
    """A striped lighthouse, a sail and a parasol of hidden colours by the sea."""
    sky(s, "beach", layout, 68)
    s.box(128, 82, 140, 14, s.lit((0.45, 0.72, 0.86)), bottom=s.lit((0.16, 0.48, 0.74)), soft=1.0)
    if s.light.clear:
        shine: RGB = (0.20, 0.22, 0.26) if s.light.night else (0.42, 0.32, 0.16)
        for k in range(4):
            y = 71.5 + 5.5 * k
            s.box(_SUN_X["beach"][layout], y, 9 + 3.5 * k, 0.4, Paint(shine), radius=0.7, mode=1.0, alpha=0.8)
    sand = s.lit((0.97, 0.88, 0.66), snow=0.7)
    s.box(128, 114, 140, 20.2, s.lit(_WHITE), radius=1.0)
    s.box(128, 116, 140, 20, sand, fade=0.84)
    lighthouse_x, sail_x, parasol_x, palm_x = (
        (36, 96, 218, 250),
        (220, 164, 38, 8),
        (36, 214, 84, 246),
        (220, 48, 172, 12),
    )[layout]
    sail(s, sail_x, 78)
    lighthouse(s, lighthouse_x)
    palm(s, palm_x, 1 if palm_x < 128 else -1)
    parasol(s, parasol_x)


def sail(s: Sketch, x: float, y: float) -> None:
    s.triangle(x + 2, y - 29, y - 4, 13, s.hidden("sail"), fade=0.9, shade=0.1)
    s.box(x - 0.8, y - 16, 0.7, 14, s.lit((0.45, 0.32, 0.22)))
    s.box(x, y, 11, 2.6, s.lit((0.98, 0.96, 0.92)), fade=0.7, taper=-0.3, radius=0.5)


def lighthouse(s: Sketch, x: float) -> None:
    stripe = s.hidden("lighthouse")
    s.ellipse(x, 92, 25, 9, s.lit((0.52, 0.49, 0.47), snow=0.5), fade=0.65)
    s.box(x, 57, 9, 29, s.lit(_WHITE), fade=0.9, taper=0.28, shade=0.25)
    for y in (38.0, 57.0, 76.0):
        half = 9 * (1 + 0.28 * (y - 57) / 29)
        s.box(x, y, half, 5.2, stripe, taper=0.28 * 5.2 / 29, shade=0.25)
    s.box(x, 28, 8.5, 0.8, s.lit((0.28, 0.28, 0.33)))
    s.box(x, 23.5, 4.4, 4.2, s.lamp((0.82, 0.91, 0.96), (1.0, 0.94, 0.62)))
    s.triangle(x, 12.5, 19.5, 7, stripe.scaled(0.85))
    s.lamplight(x, 24, 42, (0.50, 0.42, 0.18))


def parasol(s: Sketch, x: float) -> None:
    cloth = s.hidden("umbrella")
    s.shadow(x, 113, 24, 3)
    s.box(x, 93, 1.0, 20, s.lit((0.93, 0.91, 0.88)))
    s.dome(x, 86, 28, 21, cloth, fade=0.72, shade=0.12)
    s.dome(x, 86, 9.5, 21, s.lit(_WHITE), fade=0.8)


def palm(s: Sketch, x: float, lean: int) -> None:
    leaf = s.lit((0.26, 0.60, 0.32), snow=0.55)
    s.shadow(x, 100, 12, 2.2)
    s.line(x, 99, x + 4 * lean, 76, 4.2, s.lit((0.58, 0.42, 0.26)))
    s.line(x + 4 * lean, 76, x + 11 * lean, 56, 3.6, s.lit((0.62, 0.46, 0.29)))
    for angle, dx, dy in ((0.5, 10, 3), (-0.25, 10, -4), (2.64, -10, 3), (3.4, -10, -4), (1.57, 0, -7)):
        tint = 1.1 if dy < 0 else 0.9
        s.ellipse(x + 11 * lean + dx, 55 + dy, 11, 3.0, leaf.scaled(tint), angle=angle)


def mountain(s: Sketch, layout: int) -> None:
    """Snowy peaks over a lake meadow, a cabin and a tent of hidden colours between pines."""
    sky(s, "mountain", layout, 84)
    for x, tip, half in (
        ((46, 30, 62), (214, 22, 74), (130, 46, 50)),
        ((206, 28, 66), (40, 20, 76), (128, 48, 52)),
        ((150, 18, 84), (232, 38, 56), (60, 44, 60)),
        ((104, 18, 84), (20, 38, 56), (196, 44, 60)),
    )[layout]:
        peak(s, x, tip, half)
    s.ellipse(60, 98, 120, 26, s.lit((0.30, 0.50, 0.40), snow=0.65, haze=0.12))
    s.ellipse(206, 99, 110, 25, s.lit((0.27, 0.47, 0.37), snow=0.65, haze=0.06))
    ground(s, 86, s.lit((0.44, 0.68, 0.36), snow=0.88), s.lit((0.27, 0.50, 0.25), snow=0.80))
    cabin_x, tent_x, pines = (
        (210, 44, (12, 84, 166, 248)),
        (46, 204, (10, 88, 170, 246)),
        (214, 156, (16, 46, 184, 246)),
        (42, 100, (10, 72, 212, 242)),
    )[layout]
    for i, x in enumerate(pines):
        pine(s, x, 89 + 2 * (i % 2))
    cabin(s, cabin_x)
    tent(s, tent_x)


def peak(s: Sketch, x: float, tip: float, half: float) -> None:
    foot = 92.0
    s.triangle(x, tip, foot, half, s.lit((0.50, 0.56, 0.72), haze=0.18), fade=0.92, shade=0.30)
    s.triangle(x, tip, tip + (foot - tip) * 0.30, half * 0.30, s.lit((0.97, 0.98, 1.0)), shade=0.22)


def pine(s: Sketch, x: float, foot: float) -> None:
    leaf = s.lit((0.16, 0.44, 0.30), snow=0.55)
    s.shadow(x, foot + 1, 11, 2.2)
    s.box(x, foot - 3, 2, 4, s.lit(_BARK))
    for k in range(3):
        low = foot - 4 - 10 * k
        s.triangle(x, low - 19 + 2 * k, low, 13 - 2.6 * k, leaf.scaled(1.2), fade=0.62 + 0.08 * k)


def cabin(s: Sketch, x: float) -> None:
    wall = s.hidden("cabin")
    s.shadow(x, 93, 27, 2.8)
    s.box(x, 79, 22, 13, wall, fade=0.8, shade=0.18)
    s.box(x + 12, 54, 3, 7, s.lit((0.50, 0.47, 0.47)))
    s.box(x, 60, 14, 9.5, s.lit((0.42, 0.29, 0.22), snow=0.92), fade=0.8, taper=0.95)
    s.box(x - 9, 79, 5.4, 5.4, s.lit(_WHITE))
    s.box(x - 9, 79, 4.2, 4.2, s.lamp(_GLASS, _WARM))
    s.box(x + 9, 83, 4.4, 9, s.lit((0.36, 0.24, 0.17)), radius=0.5)
    s.lamplight(x - 9, 79, 26, (0.22, 0.15, 0.04))


def tent(s: Sketch, x: float) -> None:
    s.shadow(x, 96.5, 22, 2.6)
    s.triangle(x, 70, 96, 21, s.hidden("tent"), fade=0.82, shade=0.25)
    s.triangle(x, 77, 96, 7.5, s.lamp((0.24, 0.20, 0.20), (1.0, 0.80, 0.42)))
    s.lamplight(x, 90, 22, (0.26, 0.17, 0.04))


def city(s: Sketch, layout: int) -> None:
    """Four towers of hidden colours, a street lamp and a road; a pale skyline behind."""
    sky(s, "city", layout, 84)
    for x, tip, half in (
        (20, 50, 16),
        (64, 36, 13),
        (108, 52, 18),
        (150, 44, 13),
        (190, 34, 15),
        (236, 50, 18),
    ):
        s.box(x, (tip + 92) / 2, half, (92 - tip) / 2, s.lit((0.60, 0.66, 0.76), haze=0.5))
    towers = (
        ((24, 30), (70, 22), (194, 26), (238, 32)),
        ((20, 22), (64, 32), (110, 24), (236, 30)),
        ((24, 30), (148, 24), (192, 32), (238, 22)),
        ((20, 34), (64, 26), (190, 34), (234, 26)),
    )[layout]
    for i, (x, half_height) in enumerate(towers):
        tower(s, x, half_height, s.hidden(f"building_{i + 1}"), i + layout)
    ground(s, 86, s.lit((0.76, 0.76, 0.78), snow=0.85), s.lit((0.70, 0.70, 0.72), snow=0.85))
    s.box(128, 102, 140, 0.8, s.lit((0.55, 0.56, 0.60), snow=0.4))
    s.box(128, 117, 140, 14.5, s.lit((0.44, 0.46, 0.52), snow=0.35), fade=0.85, soft=0.8)
    for x in (16, 72, 128, 184, 240):
        s.box(x, 123.5, 12, 1.2, s.lit((0.95, 0.94, 0.88)), radius=0.4)
    street_lamp(s, (162, 204, 58, 98)[layout])


def tower(s: Sketch, x: float, half_height: float, wall: Paint, kind: int) -> None:
    s.box(x, 88 - half_height, 20, half_height, wall, fade=0.82, shade=0.18)
    s.box(x, 88 - 2 * half_height - 1, 21.5, 1.6, wall.scaled(0.7))
    rows = 2 if half_height < 26 else 3
    for row in range(rows):
        for column in (-1, 1):
            lit = (row + (column + 1) // 2 + kind) % 3 != 0
            glass = s.lamp(_GLASS, _WARM) if lit else s.lit((0.50, 0.64, 0.78))
            s.box(x + 9 * column, 88 - 2 * half_height + 10 + 15 * row, 5, 4.6, glass)


def street_lamp(s: Sketch, x: float) -> None:
    s.box(x, 76, 1.1, 24, s.lit((0.26, 0.28, 0.33)))
    s.ellipse(x, 50, 4.4, 4.4, s.lamp((0.95, 0.95, 0.90), (1.0, 0.95, 0.74)))
    s.lamplight(x, 50, 36, (0.46, 0.37, 0.16))
    if s.light.lamps:
        s.box(x, 102, 26, 5, Paint((0.16, 0.13, 0.06)), kind=1.0, soft=8.0, mode=1.0)


def ground(s: Sketch, horizon: float, near_horizon: Paint, near_camera: Paint) -> None:
    half = (134 - horizon) / 2
    s.box(128, horizon + half, 140, half, near_horizon, bottom=near_camera, soft=1.2)


PLACE_SKETCHES = {"village": village, "beach": beach, "mountain": mountain, "city": city}
