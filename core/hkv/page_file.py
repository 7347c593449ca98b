"""One page as one file, layer-major, so that the first layers are usable while later ones still load.

    header   magic, version, codec, session, page, model fingerprint, geometry, dtype,
             per layer: offset, CRC of keys, CRC of values; CRC of the header
    payload  layer 0 keys, layer 0 values, layer 1 keys, ... as the codec lays them out

It is a cache: written to a temporary name and renamed, never synced; the CRCs are the guard, and a file
that is not exactly what was asked for is refused. Never pickle. Little-endian.
"""

import errno
import struct
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from worldattention.core.hkv.codec import RAW, Codec, page_bytes
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.page import KVShape

MAGIC = b"WAPAGE\r\n"
VERSION = 2
_DTYPES = {torch.bfloat16: 1, torch.float16: 2, torch.float32: 3}
_FIXED = struct.Struct("<8s H H 16s Q 32s I I I I I I")
_LAYER = struct.Struct("<Q I I")
_CRC = struct.Struct("<I")
_LARGE_BYTES, _THREADS = 8 << 20, 8


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
    codec: Codec = RAW

    def header_bytes(self) -> int:
        """Size of the header."""
        return _FIXED.size + self.shape.layers * _LAYER.size + _CRC.size

    def part_bytes(self) -> int:
        """Size of one layer's keys (or values)."""
        return self.codec.part_bytes(self.shape, self.frames)

    def file_bytes(self) -> int:
        """Size of the whole file."""
        return self.header_bytes() + page_bytes(self.codec, self.shape, self.frames)

    def header(self, checksums: list[tuple[int, int]]) -> bytes:
        """The header with these CRCs of (keys, values), layer by layer."""
        shape = self.shape
        head = _FIXED.pack(
            MAGIC, VERSION, self.codec.number, self.session, self.page,
            sha256(self.fingerprint.encode()).digest(), shape.layers, self.frames, shape.frame_tokens,
            shape.heads, shape.head_dim, _DTYPES[shape.dtype],
        )  # fmt: skip
        for layer, (keys, values) in enumerate(checksums):
            offset = self.header_bytes() + 2 * layer * self.part_bytes()
            head += _LAYER.pack(offset, keys, values)
        return head + _CRC.pack(zlib.crc32(head))


def _as_bytes(part: Tensor) -> memoryview:
    """The memory of a contiguous CPU tensor of bytes."""
    return part.numpy().data


def _checksums_of(parts: Sequence[memoryview]) -> list[int]:
    """CRCs of parts. Those of a large model take seconds, which threads share; a small one they would cost more."""
    if parts[0].nbytes < _LARGE_BYTES:
        return [zlib.crc32(part) for part in parts]
    with ThreadPoolExecutor(_THREADS, "page-checker") as pool:
        return list(pool.map(zlib.crc32, parts))


def _halves(parts: Tensor) -> list[memoryview]:
    """`parts [layers, 2, n]` uint8, contiguous: keys and values layer by layer."""
    whole, size = _as_bytes(parts.view(-1)), parts.shape[-1]
    return [whole[start : start + size] for start in range(0, whole.nbytes, size)]


def write_page(path: Path, key: PageKey, parts: Tensor, disk: DiskIO) -> int:
    """Write `parts [layers, 2, part_bytes]`; returns the bytes written. Nothing is left on failure.

    Raises:
        OSError: the disk is full, broken, or the file is there already.
    """
    halves = _checksums_of(_halves(parts))
    sums = list(zip(halves[::2], halves[1::2], strict=True))
    temporary = path.with_suffix(".tmp")
    descriptor = disk.create(temporary)
    try:
        try:
            _write_all(disk, descriptor, memoryview(key.header(sums)))
            _write_all(disk, descriptor, _as_bytes(parts.view(-1)))
        finally:
            disk.close(descriptor)
        disk.replace(temporary, path)
    except BaseException:
        disk.unlink(temporary)
        raise
    return key.file_bytes()


def _write_all(disk: DiskIO, descriptor: int, part: memoryview) -> None:
    while part:
        count = disk.write(descriptor, part)
        if count == 0:
            raise OSError(errno.EIO, "the disk takes no more bytes")
        part = part[count:]


def read_page(path: Path, key: PageKey, parts: Tensor, disk: DiskIO) -> None:
    """Read into `parts [layers, 2, part_bytes]` in CPU memory, everything verified.

    Raises:
        PageFileError: missing, unreadable, damaged, or not the page that `key` describes.
    """
    try:
        descriptor = disk.open(path)
    except OSError as error:
        raise PageFileError(f"cannot open: {error.strerror}") from error
    try:
        _read_verified(disk, descriptor, key, parts)
    except OSError as error:
        raise PageFileError(f"cannot read: {error.strerror}") from error
    finally:
        disk.close(descriptor)


def _read_verified(disk: DiskIO, descriptor: int, key: PageKey, parts: Tensor) -> None:
    size = disk.size(descriptor)
    if size != key.file_bytes():
        raise PageFileError(f"{size} bytes instead of {key.file_bytes()}")
    header = bytearray(key.header_bytes())
    _read_all(disk, descriptor, memoryview(header))
    expected = _checksums(bytes(header), key)
    found = _read_halves(disk, descriptor, parts)
    for number, (crc, stored) in enumerate(zip(found, chain.from_iterable(expected), strict=True)):
        if crc != stored:
            raise PageFileError(f"layer {number // 2} is damaged")


def _read_halves(disk: DiskIO, descriptor: int, parts: Tensor) -> list[int]:
    """Fill `parts`; their CRCs, of a large model's while the next ones are read."""
    halves = _halves(parts)
    if halves[0].nbytes < _LARGE_BYTES:
        _read_all(disk, descriptor, _as_bytes(parts.view(-1)))
        return [zlib.crc32(half) for half in halves]
    jobs = []
    with ThreadPoolExecutor(_THREADS, "page-checker") as pool:
        for half in halves:
            _read_all(disk, descriptor, half)
            jobs.append(pool.submit(zlib.crc32, half))
    return [job.result() for job in jobs]


def _checksums(header: bytes, key: PageKey) -> list[tuple[int, int]]:
    """The CRCs that a header holds, after checking that it is exactly the header of `key` with them."""
    layers = _LAYER.iter_unpack(header[_FIXED.size : -_CRC.size])
    sums = [(keys, values) for _, keys, values in layers]
    if header != key.header(sums):
        raise PageFileError("the header is damaged or describes another page")
    return sums


def _read_all(disk: DiskIO, descriptor: int, part: memoryview) -> None:
    while part:
        count = disk.read(descriptor, part)
        if not count:
            raise PageFileError("the file ends early")
        part = part[count:]
