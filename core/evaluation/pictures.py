"""How sharp pictures are and how much moves in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Frames = npt.NDArray[np.uint8]
Values = npt.NDArray[np.float64]


def gradient_energy(frames: Frames) -> Values:
    """Mean squared difference of neighbouring pixels (of 0..255) in each of frames [T, H, W, 3] -> [T]."""
    pictures = frames.astype(np.float32)
    parts = [np.square(np.diff(pictures, axis=axis)).mean((1, 2, 3)) for axis in (1, 2)]
    return np.asarray((parts[0] + parts[1]) / 2, np.float64)


def motion_energy(frames: Frames) -> Values:
    """Mean squared difference of each of frames [T, H, W, 3] to the one before it -> [T - 1]."""
    return np.asarray(np.square(np.diff(frames.astype(np.float32), axis=0)).mean((1, 2, 3)), np.float64)
