"""Every latent of a world, kept for rewinding and saving: in a nameless file, so that memory stays flat."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import weakref
from pathlib import Path

import torch
from torch import Tensor

from worldattention.core.files import private_folder

log = logging.getLogger(__name__)

IN_MEMORY = (
    "The world's latents can no longer be written to {} ({}), so they stay in memory: the world goes on, and "
    "takes a little more memory with every block."
)


class LatentStore:
    """Append-only fp32 tensors of one shape, found again by number; branches of a world share it.

    The file has no name, so nothing is left behind however the program ends. When it cannot be written, what
    comes after stays in memory: latents are small.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shape: tuple[int, ...] = ()
        self._count = 0
        self._in_memory: dict[int, Tensor] = {}
        self._descriptor: int | None = None
        self._failed = False
        self._notice = ""

    def append(self, latents: Tensor) -> int:
        """Keeps a copy of `latents` (always of the same shape); returns its number."""
        latents = latents.detach().to("cpu", torch.float32).contiguous()
        if not self._shape:
            self._shape = tuple(latents.shape)
        number, self._count = self._count, self._count + 1
        try:
            if self._failed:
                raise OSError("given up earlier")
            data = latents.reshape(-1).view(torch.uint8).numpy().data
            if os.pwrite(self._open(), data, number * len(data)) != len(data):
                raise OSError(errno.ENOSPC, "the disk is full")
        except OSError as error:
            if not self._failed:
                log.warning("latents stay in memory from now on: %s", error)
                self._notice = IN_MEMORY.format(self._folder, error.strerror or error)
            self._failed = True
            self._in_memory[number] = latents.clone()
        return number

    def read(self, number: int) -> Tensor:
        """Latents fp32 on the CPU, as they were appended. Raises OSError when the disk does not give them back."""
        if number in self._in_memory:
            return self._in_memory[number]
        latents = torch.empty(self._shape)
        data = latents.view(-1).view(torch.uint8).numpy().data
        if os.preadv(self._open(), [data], number * len(data)) != len(data):
            raise OSError("the latents' file has become shorter")
        return latents

    def take_notice(self) -> str:
        """What is to be said, once; else empty."""
        notice, self._notice = self._notice, ""
        return notice

    def _open(self) -> int:
        if self._descriptor is None:
            private_folder(self._folder)
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as file:
                self._descriptor = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._descriptor)
        return self._descriptor
