"""A small picture made larger by bicubic interpolation, so that a big viewport stays sharp.

The screen's own scaling is bilinear: from 256 x 128 to a window it smears edges over four pixels.
"""

from __future__ import annotations

import math

import numpy as np
from PIL import Image

from worldattention.app.segments import Frames

ENLARGED_FROM = 1.5
"""Magnification from which a picture is enlarged before the screen scales it."""
MOST = 4
"""Beyond four times the size, bilinear scaling of the rest shows no edges any more."""
MOST_PIXELS = 1_700_000
"""Enough for 832 x 480 twice as large; more would cost the window too much of a frame's time."""


def enlarge(frame: Frames, magnification: float) -> Frames:
    """[H, W, 3] uint8 -> [kH, kW, 3], k the whole number that comes nearest to `magnification` from above."""
    height, width, _ = frame.shape
    if magnification < ENLARGED_FROM:
        return frame
    factor = min(math.ceil(magnification - 0.01), MOST)
    while factor > 1 and factor * factor * height * width > MOST_PIXELS:
        factor -= 1
    if factor == 1:
        return frame
    larger = Image.fromarray(frame).resize((factor * width, factor * height), Image.Resampling.BICUBIC)
    return np.asarray(larger)
