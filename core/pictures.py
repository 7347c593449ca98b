"""Frames as pictures: a sequence of PNG files or an animated GIF. Neither needs ffmpeg."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from worldattention.core.errors import UserError
from worldattention.core.files import failures_told, replacing
from worldattention.core.geometry import FPS
from worldattention.core.parts import new_folder_part, remove_dead_parts

GIF_STEP = 2
"""Every second frame goes into a GIF: browsers play 8 frames a second evenly, 16 they do not."""
GIF_WIDTH = 480
_COLOURS = 192
_PICTURES = "the pictures"

Frame = npt.NDArray[np.uint8]


def enlarge(frame: Frame, scale: int) -> Frame:
    """A frame [H, W, 3] as [scale x H, scale x W, 3]."""
    if scale == 1:
        return frame
    height, width, _ = frame.shape
    picture = Image.fromarray(frame).resize((scale * width, scale * height), Image.Resampling.BICUBIC)
    return np.asarray(picture)


def write_pictures(folder: Path, frames: Iterable[Frame]) -> None:
    """Writes frames [H, W, 3] as 000000.png, 000001.png ... into a new folder, which appears when all are there.

    Raises UserError when the folder exists with something in it, or cannot be written.
    """
    if os.path.exists(folder) and (not os.path.isdir(folder) or any(folder.iterdir())):
        raise UserError(f"There is something at '{folder}' already: name a new folder for the pictures.")
    if not os.path.isdir(folder.parent):
        raise UserError(
            f"There is no folder '{folder.parent}' for the pictures: make it first, or name another."
        )
    remove_dead_parts(folder.parent)
    with ExitStack() as stack:
        with failures_told(folder, _PICTURES):
            part = stack.enter_context(new_folder_part(folder))
        for number, frame in enumerate(frames):
            with failures_told(folder, _PICTURES):
                Image.fromarray(frame).save(part / f"{number:06d}.png", compress_level=4)
        with failures_told(folder, _PICTURES):
            os.rename(part, folder)


def write_gif(path: Path, frames: Iterable[Frame], count: int, max_width: int = GIF_WIDTH) -> None:
    """Writes every second of `count` frames [H, W, 3] as an endless GIF of the same length in seconds.

    Each picture has colours of its own; those wider than `max_width` pixels are made smaller. Raises UserError.
    """
    shown = _for_gif(frames, max_width)
    first = next(shown)
    starts = [round(100 * number / FPS) for number in range(0, count, GIF_STEP)]
    ends = [*starts[1:], round(100 * count / FPS)]
    lengths_ms = [10 * (end - start) for start, end in zip(starts, ends, strict=True)]
    with replacing(path, "the animation") as temporary, failures_told(path, "the animation"):
        first.save(
            temporary,
            format="GIF",
            save_all=True,
            append_images=shown,
            duration=lengths_ms,
            loop=0,
        )


def _for_gif(frames: Iterable[Frame], max_width: int) -> Iterator[Image.Image]:
    for number, frame in enumerate(frames):
        if number % GIF_STEP:
            continue
        picture = Image.fromarray(frame)
        if picture.width > max_width:
            height = max(1, round(picture.height * max_width / picture.width))
            picture = picture.resize((max_width, height), Image.Resampling.LANCZOS)
        yield picture.quantize(_COLOURS)
