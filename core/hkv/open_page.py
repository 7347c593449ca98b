"""What the bank is writing: the page that is being filled, and the chunk that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from worldattention.core.heap import lasting_copy
from worldattention.core.hkv.index import RunningMean


@dataclass(slots=True)
class Chunk:
    """The prompt segment that is being written; with its first frame it becomes a row of the index.

    Marks are kept for ever, so the vector is the row's alone then: small tensors would break up the heap.
    """

    vector: Tensor | None
    text: str
    hash: str
    id: int | None = None
    frames: int = 0


@dataclass(slots=True, eq=False)
class OpenPage:
    """The page that is being filled: `[2, layers, page_frames * T, H, D]` on the device."""

    buffer: Tensor
    first_frame: int = 0
    frames: int = 0
    mean: RunningMean = field(default_factory=RunningMean)

    def fork(self) -> OpenPage:
        """A copy that goes on by itself."""
        return OpenPage(lasting_copy(self.buffer), self.first_frame, self.frames, self.mean.fork())
