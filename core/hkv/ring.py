"""The clean, un-rotated keys and values of the last latent frames, and of the world's first ones."""

from collections.abc import Iterator

import torch
from torch import Tensor

from worldattention.core.heap import lasting_copy, lasting_memory
from worldattention.core.hkv.page import KVShape


class FrameRing:
    """Preallocated store of the newest `capacity_frames` latent frames plus the first `sink_frames`.

    Nothing is moved: frame f lies at f modulo the capacity, so a stretch of frames is one or two views.
    """

    def __init__(
        self, shape: KVShape, capacity_frames: int, sink_frames: int, device: torch.device | str = "cpu"
    ) -> None:
        if capacity_frames < 1 or sink_frames < 0:
            raise ValueError("a ring needs room for a frame")
        self.shape = shape
        self._capacity, self._sink = capacity_frames, sink_frames
        self._ring = lasting_memory((2, *shape.tensor(capacity_frames)), shape.dtype, device)
        self._first = lasting_memory((2, *shape.tensor(sink_frames)), shape.dtype, device)
        self.frames_done = 0

    @property
    def nbytes(self) -> int:
        """Bytes of both stores."""
        return self._ring.nbytes + self._first.nbytes

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Add the next frames, `[layers, frames * T, H, D]`."""
        start, size = self.frames_done, self.shape.frame_tokens
        end = start + self.shape.frames_of(keys, values)
        for frame in range(start, end):
            source = slice((frame - start) * size, (frame - start + 1) * size)
            if frame >= end - self._capacity:
                self._write(self._ring, frame % self._capacity, keys[:, source], values[:, source])
            if frame < self._sink:
                self._write(self._first, frame, keys[:, source], values[:, source])
        self.frames_done = end

    def restore(self, first_frame: int, keys: Tensor, values: Tensor) -> None:
        """Put frames of the past back, `[layers, frames * T, H, D]`; `frames_done` is set by the caller."""
        size, oldest = self.shape.frame_tokens, self.frames_done - self._capacity
        for offset in range(self.shape.frames_of(keys, values)):
            frame, source = first_frame + offset, slice(offset * size, (offset + 1) * size)
            if oldest <= frame < self.frames_done:
                self._write(self._ring, frame % self._capacity, keys[:, source], values[:, source])
            if frame < self._sink:
                self._write(self._first, frame, keys[:, source], values[:, source])

    def _write(self, store: Tensor, place: int, keys: Tensor, values: Tensor) -> None:
        part = slice(place * self.shape.frame_tokens, (place + 1) * self.shape.frame_tokens)
        store[0][:, part].copy_(keys)
        store[1][:, part].copy_(values)

    def free(self) -> None:
        """Gives the memory back: only `empty` may be called then."""
        self._ring = self._first = torch.empty(0, device=self._ring.device)

    def clear(self) -> None:
        """Back to a world without frames."""
        self.frames_done = 0

    def empty(self) -> "FrameRing":
        """Another ring of the same sizes, without frames."""
        return FrameRing(self.shape, self._capacity, self._sink, self._ring.device)

    def resized(self, capacity_frames: int) -> "FrameRing":
        """A smaller ring with the same frames, as many as it holds."""
        other = FrameRing(self.shape, capacity_frames, self._sink, self._ring.device)
        other.frames_done = self.frames_done
        for stretch in ((0, self._sink), (self.frames_done - capacity_frames, self.frames_done)):
            first, end = max(0, stretch[0]), min(stretch[1], self.frames_done)
            for frame, keys, values in self.pieces(first, end - first) if end > first else ():
                other.restore(frame, keys, values)
        return other

    def fork(self) -> "FrameRing":
        """A copy that goes on by itself."""
        other = object.__new__(FrameRing)
        other.shape, other._capacity, other._sink = self.shape, self._capacity, self._sink
        other._ring, other._first = lasting_copy(self._ring), lasting_copy(self._first)
        other.frames_done = self.frames_done
        return other

    def pieces(self, first_frame: int, frames: int) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield `(first_frame, keys, values)` views that together are the frames asked for, in order.

        Raises:
            KeyError: a frame is in neither store.
        """
        frame, end = first_frame, first_frame + frames
        oldest = max(0, self.frames_done - self._capacity)
        if frames < 1 or frame < 0 or end > self.frames_done:
            raise KeyError(f"frames {first_frame}+{frames} are not there ({self.frames_done} done)")
        while frame < end:
            if frame >= oldest:
                place, limit, store = frame % self._capacity, self._capacity, self._ring
            elif frame < self._sink:
                place, limit, store = frame, self._sink, self._first
            else:
                raise KeyError(f"frame {frame} has left the ring")
            count = min(end - frame, limit - place)
            part = slice(place * self.shape.frame_tokens, (place + count) * self.shape.frame_tokens)
            yield frame, store[0][:, part], store[1][:, part]
            frame += count
