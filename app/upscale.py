"""A small picture made twice as large by Catmull-Rom, so that a big viewport stays sharp.

The screen's own scaling is bilinear: from 256 x 128 to a window it smears edges over four pixels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from worldattention.app.reel import Frames

Samples = npt.NDArray[np.int16]

# Catmull-Rom at a quarter of a pixel, in 32nds: the samples before, at, after and two after. 16-bit integers
# hold every sum (255 x 35 < 2^15), and four times as many of them fit into a vector register as floats.
_BEFORE, _HERE, _AFTER = -2, 28, 7  # and -1


def double(frame: Frames) -> Frames:
    """[H, W, 3] uint8 -> [2H, 2W, 3] uint8."""
    height, width, channels = frame.shape
    tall = _along_first(frame.reshape(height, width * channels).astype(np.int16))
    turned = np.ascontiguousarray(tall.reshape(2 * height, width, channels).transpose(1, 0, 2))
    both = _along_first(turned.reshape(width, 2 * height * channels))
    clipped = np.clip(both, 0, 255).astype(np.uint8).reshape(2 * width, 2 * height, channels)
    return np.ascontiguousarray(clipped.transpose(1, 0, 2))


def _along_first(samples: Samples) -> Samples:
    """[N, M] -> [2N, M]; edges are repeated."""
    padded = np.concatenate((samples[:1], samples[:1], samples, samples[-1:], samples[-1:]))
    before, here, after = padded[1:-3], padded[2:-2] * np.int16(_HERE) + np.int16(16), padded[3:-1]
    result = np.empty((2 * len(samples), samples.shape[1]), np.int16)
    result[0::2] = here + before * np.int16(_AFTER) + after * np.int16(_BEFORE) - padded[:-4]
    result[1::2] = here + after * np.int16(_AFTER) + before * np.int16(_BEFORE) - padded[4:]
    return result >> 5
