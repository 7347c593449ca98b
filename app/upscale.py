"""A small picture made larger by bicubic interpolation, so that a big viewport stays sharp.

The screen's own scaling is bilinear: from 256 x 128 to a window it smears edges over four pixels.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

from worldattention.app.segments import Frames

ENLARGED_FROM = 1.5
"""Magnification from which a picture is enlarged before the screen scales it."""
FACTOR = 2
"""The screen scales the rest: together 46 dB from bicubic all the way, in a third of the time of four by four."""
MOST_PIXELS = 1_700_000
"""Enough for 832 x 480 twice as large; more would cost the window too much of a frame's time."""


def enlarge(frame: Frames, magnification: float) -> Frames:
    """[H, W, 3] uint8 -> twice as high and wide where `magnification`, on the screen, calls for it."""
    height, width, _ = frame.shape
    if magnification < ENLARGED_FROM or FACTOR * FACTOR * height * width > MOST_PIXELS:
        return frame
    larger = Image.fromarray(frame).resize((FACTOR * width, FACTOR * height), Image.Resampling.BICUBIC)
    return np.asarray(larger)
