"""Small pictures of the past: one a block, kept for the whole world, also where its pages were dropped."""

from __future__ import annotations

from bisect import bisect_right

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from worldattention.app.segments import Frames
from worldattention.app.viewport import to_image

HEIGHT = 68
"""Twice the film's height, sharp on dense screens."""
MOST = 2000
"""Pictures that are kept (28 kB each at 2:1); of a longer past the older half is thinned."""


def small_picture(frame: Frames) -> QImage:
    """A thumbnail of a frame [H, W, 3]."""
    return to_image(frame).scaledToHeight(HEIGHT, Qt.TransformationMode.SmoothTransformation)


class Thumbnails:
    """Pictures by the first frame of what they show."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._frames: list[int] = []
        self._pictures: list[QImage] = []

    def __len__(self) -> int:
        return len(self._frames)

    def clear(self) -> None:
        """A new world: no past."""
        self._frames.clear()
        self._pictures.clear()

    def before(self, frame: int) -> Thumbnails:
        """Those of what begins before `frame`, for a branch that leaves there."""
        other, cut = Thumbnails(self._most), bisect_right(self._frames, frame - 1)
        other._frames, other._pictures = self._frames[:cut], self._pictures[:cut]
        return other

    def add(self, first_frame: int, frame: Frames) -> None:
        """A picture of what begins at `first_frame`; what was known from there on (another future) goes."""
        cut = bisect_right(self._frames, first_frame - 1)
        self._frames[cut:] = [first_frame]
        self._pictures[cut:] = [small_picture(frame)]
        if len(self._frames) > self._most:
            old = slice(1, self._most // 2, 2)
            del self._frames[old], self._pictures[old]

    def at(self, frame: int) -> QImage | None:
        """The picture of the moment that holds `frame`, or the nearest one before it."""
        index = bisect_right(self._frames, frame) - 1
        return self._pictures[index] if index >= 0 else None
