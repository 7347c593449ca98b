"""One page as one file, layer-major, so that the first layers are usable while later ones still load.

    header   magic, version, codec, session, page, model fingerprint, geometry, dtype,
             per layer: offset, CRC of keys, CRC of values; CRC of the header
    payload  layer 0 keys, layer 0 values, layer 1 keys, ...

It is a cache: written to a temporary name and renamed, never synced; the CRCs are the guard, and a file
that is not exactly what was asked for is refused. Never pickle. Little-endian.
"""

import errno
import os
import struct
import zlib
from dataclasses import dataclass
from hashlib import sha256
from io import FileIO
from pathlib import Path

import torch
from torch import Tensor

from worldattention.core.hkv.page import KVShape

MAGIC = b"WAPAGE\r\n"
VERSION = 1
CODEC_RAW = 0
_DTYPES = {torch.bfloat16: 1, torch.float16: 2, torch.float32: 3}
_FIXED = struct.Struct("<8s H H 16s Q 32s I I I I I I")
_LAYER = struct.Struct("<Q I I")
_CRC = struct.Struct("<I")
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class PageFileError(Exception):
    """A page file is missing, damaged or another page's."""


@dataclass(frozen=True, slots=True)
class PageKey:
    """What a page file must say of itself: `session` 16 bytes, `page` a number that is unique in it."""

    session: bytes
    page: int
    fingerprint: str
    shape: KVShape
    frames: int

    def header_bytes(self) -> int:
        """Size of the header."""
        return _FIXED.size + self.shape.layers * _LAYER.size + _CRC.size

    def tensor_bytes(self) -> int:
        """Size of one layer's keys (or values)."""
        shape = self.shape
        return self.frames * shape.frame_tokens * shape.heads * shape.head_dim * shape.dtype.itemsize

    def file_bytes(self) -> int:
        """Size of the whole file."""
        return self.header_bytes() + 2 * self.shape.layers * self.tensor_bytes()

    def header(self, checksums: list[tuple[int, int]]) -> bytes:
        """The header with these CRCs of (keys, values), layer by layer."""
        shape = self.shape
        head = _FIXED.pack(
            MAGIC, VERSION, CODEC_RAW, self.session, self.page, sha256(self.fingerprint.encode()).digest(),
            shape.layers, self.frames, shape.frame_tokens, shape.heads, shape.head_dim, _DTYPES[shape.dtype],
        )  # fmt: skip
        for layer, (keys, values) in enumerate(checksums):
            offset = self.header_bytes() + 2 * layer * self.tensor_bytes()
            head += _LAYER.pack(offset, keys, values)
        return head + _CRC.pack(zlib.crc32(head))


def _as_bytes(tensor: Tensor) -> memoryview:
    """The memory of a contiguous CPU tensor."""
    return tensor.view(torch.uint8).reshape(-1).numpy().data


def write_page(path: Path, key: PageKey, keys: Tensor, values: Tensor) -> int:
    """Write CPU tensors `[layers, frames * T, H, D]`; returns the bytes written. Nothing is left on failure.

    Raises:
        OSError: the disk is full, broken, or the file is there already.
    """
    parts = [
        _as_bytes(part[layer].contiguous()) for layer in range(key.shape.layers) for part in (keys, values)
    ]
    sums = [zlib.crc32(part) for part in parts]
    header = key.header(list(zip(sums[::2], sums[1::2], strict=True)))
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    try:
        try:
            for part in (memoryview(header), *parts):
                _write_all(descriptor, part)
        finally:
            os.close(descriptor)
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "a page file is there already", str(path))
        os.rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return key.file_bytes()


def _write_all(descriptor: int, part: memoryview) -> None:
    while part:
        count = os.write(descriptor, part)
        if count == 0:
            raise OSError(errno.EIO, "the disk takes no more bytes")
        part = part[count:]


def read_page(path: Path, key: PageKey) -> tuple[Tensor, Tensor]:
    """Read keys and values `[layers, frames * T, H, D]` into CPU memory, everything verified.

    Raises:
        PageFileError: missing, unreadable, damaged, or not the page that `key` describes.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError as error:
        raise PageFileError(f"cannot open: {error.strerror}") from error
    try:
        with FileIO(descriptor, "rb", closefd=False) as file:
            return _read_verified(file, os.fstat(descriptor).st_size, key)
    except OSError as error:
        raise PageFileError(f"cannot read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _read_verified(file: FileIO, size: int, key: PageKey) -> tuple[Tensor, Tensor]:
    if size != key.file_bytes():
        raise PageFileError(f"{size} bytes instead of {key.file_bytes()}")
    header = bytearray(key.header_bytes())
    _read_all(file, memoryview(header))
    out = torch.empty((2, *key.shape.tensor(key.frames)), dtype=key.shape.dtype)
    for layer, pair in enumerate(_checksums(bytes(header), key)):
        for half, expected in enumerate(pair):
            part = _as_bytes(out[half, layer])
            _read_all(file, part)
            if zlib.crc32(part) != expected:
                raise PageFileError(f"layer {layer} is damaged")
    return out[0], out[1]


def _checksums(header: bytes, key: PageKey) -> list[tuple[int, int]]:
    """The CRCs that a header holds, after checking that it is exactly the header of `key` with them."""
    layers = _LAYER.iter_unpack(header[_FIXED.size : -_CRC.size])
    sums = [(keys, values) for _, keys, values in layers]
    if header != key.header(sums):
        raise PageFileError("the header is damaged or describes another page")
    return sums


def _read_all(file: FileIO, part: memoryview) -> None:
    while part:
        count = file.readinto(part)
        if not count:
            raise PageFileError("the file ends early")
        part = part[count:]
