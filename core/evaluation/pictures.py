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


class Energies:
    """Both energies of a video that comes in parts, of which only the last frame is kept."""

    def __init__(self) -> None:
        self._gradient: list[Values] = []
        self._motion: list[Values] = []
        self._last: Frames | None = None

    def add(self, frames: Frames) -> None:
        """The next part, [T, H, W, 3]."""
        self._gradient.append(gradient_energy(frames))
        joined = frames if self._last is None else np.concatenate([self._last, frames])
        self._motion.append(motion_energy(joined))
        self._last = frames[-1:].copy()

    def values(self) -> tuple[Values, Values]:
        """Gradient energy [T] and motion energy [T - 1] of all frames so far."""
        return np.concatenate(self._gradient), np.concatenate(self._motion)
