"""Pages: eight consecutive latent frames of clean, un-rotated keys and values.

A *chunk* is a prompt segment of at most 40 latent frames; a *page* is at most 8 consecutive latent
frames of one chunk (fewer when a prompt change closed it), counted at its real tokens.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class KVShape:
    """One latent frame's keys (or values) in every layer: `[layers, frame_tokens, heads, head_dim]`."""

    layers: int
    frame_tokens: int
    heads: int
    head_dim: int
    dtype: torch.dtype

    def tensor(self, frames: int) -> tuple[int, int, int, int]:
        """Shape of the keys of `frames` latent frames: `[layers, frames * frame_tokens, heads, head_dim]`."""
        return (self.layers, frames * self.frame_tokens, self.heads, self.head_dim)

    def frame_bytes(self) -> int:
        """Bytes of one latent frame, keys and values together."""
        return 2 * math.prod(self.tensor(1)) * self.dtype.itemsize

    def frames_of(self, keys: Tensor, values: Tensor) -> int:
        """Number of latent frames in `[layers, frames * T, H, D]` tensors.

        Raises:
            ValueError: the tensors are not whole frames of this shape.
        """
        frames, rest = divmod(keys.shape[1] if keys.dim() == 4 else 0, self.frame_tokens)
        if rest or frames < 1 or tuple(keys.shape) != self.tensor(frames) or keys.shape != values.shape:
            raise ValueError(f"expected keys and values {self.tensor(1)} x frames, got {tuple(keys.shape)}")
        return frames


@dataclass(frozen=True, slots=True)
class PageInfo:
    """What is known of a page without its data. `first_frame` counts latent frames of the world.

    `snapshot`: a part of a window that the authors' preset banked at a switch. Its frames lie in other pages too.
    """

    id: int
    first_frame: int
    frames: int
    chunk_id: int
    block: int
    snapshot: bool = False

    @property
    def end_frame(self) -> int:
        """The frame after the last one."""
        return self.first_frame + self.frames


@dataclass(frozen=True, slots=True, eq=False)
class PageData:
    """A page with its data: un-rotated keys and values `[layers, frames * T, H, D]` in the model's dtype."""

    info: PageInfo
    keys: Tensor
    values: Tensor

    def pieces(self, first_frame: int, frames: int) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield `(first_frame, keys, values)`: one view of a part of the page, in world frames."""
        tokens = self.keys.shape[1] // self.info.frames
        start = first_frame - self.info.first_frame
        if start < 0 or frames < 1 or start + frames > self.info.frames:
            raise ValueError(f"page {self.info.id} does not hold frames {first_frame}+{frames}")
        part = slice(start * tokens, (start + frames) * tokens)
        yield first_frame, self.keys[:, part], self.values[:, part]
