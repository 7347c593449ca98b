"""How a page lies in memory and in files: layer by layer, its keys, then its values, each as one part of bytes.

`bf16` keeps the model's own dtype bit for bit. `fp8` (e4m3) and `int8` keep one byte a number and one scale
for every token and head, so that one loud token costs the others nothing (DESIGN 4).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import torch
from torch import Tensor

from worldattention.core.config import CodecName
from worldattention.core.heap import lasting_memory
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.kernels import ops
from worldattention.kernels.reference.codec import DTYPES, Encoded, decode

_SCALE = torch.float32
_ALIGNMENT = 8


class Codec(Protocol):
    """Turns half a page (keys or values) into parts of bytes, one a layer, and back."""

    @property
    def name(self) -> CodecName:
        """As a person chooses it."""

    @property
    def number(self) -> int:
        """As a page file says it."""

    def part_bytes(self, shape: KVShape, frames: int) -> int:
        """Bytes of one layer's keys (or values)."""

    def encode(self, half: Tensor, parts: Tensor) -> None:
        """`half [layers, frames * T, H, D]` -> `parts [layers, part_bytes]` uint8, on either device."""

    def decode(self, parts: Tensor, shape: KVShape, frames: int) -> Tensor:
        """`parts [layers, part_bytes]` -> `[layers, frames * T, H, D]` in the shape's dtype."""


class RawCodec:
    """The model's own numbers; decoding is a view."""

    name: CodecName = "bf16"
    number = 0

    def part_bytes(self, shape: KVShape, frames: int) -> int:
        """Bytes of one layer's keys (or values)."""
        return frames * shape.frame_tokens * shape.heads * shape.head_dim * shape.dtype.itemsize

    def encode(self, half: Tensor, parts: Tensor) -> None:
        """A copy, without waiting where a GPU takes part."""
        parts.view(half.dtype).view(half.shape).copy_(half, non_blocking=True)

    def decode(self, parts: Tensor, shape: KVShape, frames: int) -> Tensor:
        """A view of the bytes."""
        return parts.view(shape.dtype).view(shape.tensor(frames))


@dataclass(frozen=True, slots=True)
class ScaledCodec:
    """One byte a number, as `kernels.reference.codec` defines it.

    A part is `[frames * T, H]` fp32 scales, then `[frames * T, H, D]` codes, padded to a multiple of 8 bytes.
    """

    name: Literal["fp8", "int8"]
    number: int

    def part_bytes(self, shape: KVShape, frames: int) -> int:
        """Bytes of one layer's keys (or values)."""
        rows = frames * shape.frame_tokens * shape.heads
        return -(-rows * (shape.head_dim + _SCALE.itemsize) // _ALIGNMENT) * _ALIGNMENT

    def encode(self, half: Tensor, parts: Tensor) -> None:
        """Layer by layer, since the reference computes in fp32."""
        for layer, part in zip(half, parts, strict=True):
            target, coded = self._split(part, layer.shape), ops.encode_page(layer[None], self.name)
            assert coded.scale is not None
            assert target.scale is not None
            target.scale.copy_(coded.scale[0], non_blocking=True)
            target.data.copy_(coded.data[0], non_blocking=True)

    def decode(self, parts: Tensor, shape: KVShape, frames: int) -> Tensor:
        """Layer by layer, into new memory where the parts are."""
        out = lasting_memory(shape.tensor(frames), shape.dtype, parts.device)
        for layer, part in zip(out, parts, strict=True):
            layer.copy_(decode(self._split(part, layer.shape), shape.dtype))
        return out

    def _split(self, part: Tensor, size: torch.Size) -> Encoded:
        """Views of one part."""
        cut = size[0] * size[1] * _SCALE.itemsize
        codes = part[cut : cut + size.numel()]
        return Encoded(codes.view(DTYPES[self.name]).view(size), part[:cut].view(_SCALE).view(size[:2]))


RAW = RawCodec()
CODECS: dict[CodecName, Codec] = {
    "bf16": RAW,
    "fp8": ScaledCodec("fp8", 1),
    "int8": ScaledCodec("int8", 2),
}


@dataclass(frozen=True, slots=True, eq=False)
class StoredPage:
    """A page as a tier keeps it: `parts [layers, 2, part_bytes]` uint8.

    `ready`: on a GPU, recorded behind whatever still writes or reads the parts; wait for it before the CPU or
    another stream touches them.
    """

    info: PageInfo
    shape: KVShape
    codec: Codec
    parts: Tensor
    ready: torch.cuda.Event | None = None

    def decode(self, device: torch.device | str = "cpu") -> PageData:
        """The page's numbers: views where nothing has to be computed, else tensors on `device`."""
        parts = self.parts if self.codec is RAW else self.on(device).parts
        keys, values = (self.codec.decode(parts[:, half], self.shape, self.info.frames) for half in (0, 1))
        return PageData(self.info, keys, values)

    def on(self, device: torch.device | str) -> "StoredPage":
        """The same page with its bytes there. As a whole: of halves a GPU's driver takes copies first."""
        return replace(self, parts=self.parts.to(device, non_blocking=True))

    def behind(self, gpu: torch.device | None) -> "StoredPage":
        """The same page, `ready` behind everything that this thread told the GPU so far."""
        if gpu is None:
            return self
        ready = torch.cuda.Event()
        ready.record(torch.cuda.current_stream(gpu))
        return replace(self, ready=ready)

    def copy_into(self, target: "StoredPage", rest: Callable[[], None] = lambda: None) -> None:
        """Copy into another page's parts, coded anew where the codecs differ; bit for bit where not.

        `rest` is called behind each layer that was coded.
        """
        if self.codec is target.codec:
            target.parts.copy_(self.parts, non_blocking=True)
            return
        data = self.decode(target.parts.device)
        for layer, parts in enumerate(target.parts.split(1)):
            for half, numbers in enumerate((data.keys, data.values)):
                target.codec.encode(numbers[layer : layer + 1], parts[:, half])
            rest()


def page_bytes(codec: Codec, shape: KVShape, frames: int) -> int:
    """Bytes of a page of `frames` latent frames."""
    return 2 * shape.layers * codec.part_bytes(shape, frames)


def lay_out(info: PageInfo, shape: KVShape, codec: Codec, memory: Tensor) -> StoredPage:
    """A page over the start of `memory [n]` uint8."""
    size = page_bytes(codec, shape, info.frames)
    return StoredPage(info, shape, codec, memory[:size].view(shape.layers, 2, -1))


def encode_page(data: PageData, target: StoredPage) -> None:
    """Write a page's numbers into the parts of `target`."""
    target.codec.encode(data.keys, target.parts[:, 0])
    target.codec.encode(data.values, target.parts[:, 1])


@torch.inference_mode()
def try_codec(codec: Codec, shape: KVShape, frames: int, device: torch.device) -> None:
    """Code a page there and back, so that a GPU has loaded and allocated what this takes before it is needed."""
    info = PageInfo(0, 0, frames, 0, 0)
    half = torch.zeros(shape.tensor(frames), dtype=shape.dtype, device=device)
    memory = torch.empty(page_bytes(codec, shape, frames), dtype=torch.uint8, device=device)
    page = lay_out(info, shape, codec, memory)
    encode_page(PageData(info, half, half), page)
    page.decode(device)
