"""Every latent of a world, kept for rewinding and saving: in a nameless file, so that memory stays flat."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import torch
from torch import Tensor

from worldattention.core.heap import lasting_copy
from worldattention.core.write_behind import WriteBehind

log = logging.getLogger(__name__)

IN_MEMORY = (
    "The world's latents can no longer be written to {} ({}), so they stay in memory: the world goes on, and "
    "takes a little more memory with every block."
)


class LatentStore:
    """Append-only fp32 tensors of one shape, found again by number; branches of a world share it.

    When the file cannot be written, what comes after stays in memory: latents are small.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = WriteBehind(folder, "latents-writer")
        self._shape: tuple[int, ...] = ()
        self._count = 0
        self._told = False

    def append(self, latents: Tensor) -> int:
        """Keeps a copy of `latents` (always of the same shape); returns its number. Never waits for the disk."""
        latents = latents.detach().to("cpu", torch.float32).contiguous()
        if not self._shape:
            self._shape = tuple(latents.shape)
        number, self._count = self._count, self._count + 1
        data = lasting_copy(latents).view(-1).view(torch.uint8).numpy().data  # it may wait through a block
        self._file.write(number * len(data), data)
        return number

    def read(self, number: int) -> Tensor:
        """Latents fp32 on the CPU, as they were appended. Raises OSError when the disk does not give them back."""
        size = math.prod(self._shape) * torch.float32.itemsize
        data = bytearray(self._file.read(number * size, size))
        return torch.frombuffer(data, dtype=torch.float32).view(self._shape)

    def take_notice(self) -> str:
        """What is to be said, once; else empty."""
        error = self._file.failure
        if error is None or self._told:
            return ""
        self._told = True
        log.warning("latents stay in memory from now on: %s", error)
        return IN_MEMORY.format(self.folder, error.strerror or error)

    def flush(self) -> None:
        """Waits until everything is written, or stays in memory for good."""
        self._file.flush()
