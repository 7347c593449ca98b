"""How much of an MP4 file plays while it is still being written, in fragments of one frame (ISO/IEC 14496-12)."""

from __future__ import annotations

import os
from pathlib import Path

_HEAD_BYTES = 8


class Fragments:
    """Counts the fragments that are whole: what a kill at this moment would leave."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._at = 0  # of the first box that was not whole yet
        self._frames = 0

    def count(self) -> int:
        """Frames that play. Raises OSError."""
        descriptor = self._file.fileno()
        size = os.fstat(descriptor).st_size
        while self._at + _HEAD_BYTES <= size:
            head = os.pread(descriptor, _HEAD_BYTES, self._at)
            length = int.from_bytes(head[:4], "big")
            if length < _HEAD_BYTES or self._at + length > size:
                break
            self._frames += head[4:] == b"mdat"
            self._at += length
        return self._frames

    def close(self) -> None:
        """Frees the file."""
        self._file.close()
