"""The two indexes of the bank: chunk -> prompt vector, page -> mean un-rotated keys.

Rows live in one growable tensor each, so that ten thousand pages are scored by one product.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from worldattention.core.heap import lasting_memory
from worldattention.core.hkv.page import PageInfo

FIRST_CAPACITY = 64


class Rows:
    """Append-only rows `[n, *row_shape]` in a buffer that doubles; forks share it until one appends."""

    def __init__(self, row_shape: Sequence[int], dtype: torch.dtype, device: torch.device | str) -> None:
        self._buffer = lasting_memory((FIRST_CAPACITY, *row_shape), dtype, device)
        self._count = 0
        self._shared = False

    def __len__(self) -> int:
        return self._count

    @property
    def view(self) -> Tensor:
        """All rows, `[n, *row_shape]`, without a copy."""
        return self._buffer[: self._count]

    def append(self, row: Tensor) -> None:
        """Add one row `[*row_shape]`."""
        capacity = self._buffer.shape[0]
        if self._shared or self._count == capacity:
            if self._count == capacity:
                capacity *= 2
            size = (capacity, *self._buffer.shape[1:])
            grown = lasting_memory(size, self._buffer.dtype, self._buffer.device)
            grown[: self._count].copy_(self.view)
            self._buffer, self._shared = grown, False
        self._buffer[self._count].copy_(row)
        self._count += 1

    def fork(self, count: int | None = None) -> "Rows":
        """An independent continuation (of the first `count` rows); who appends first copies the buffer."""
        other = object.__new__(Rows)
        other._buffer, other._shared = self._buffer, True
        other._count = self._count if count is None else count
        self._shared = True
        return other


def unit_vector(vector: Tensor) -> Tensor:
    """`[E]` -> the same direction with length 1, in fp32 on the CPU; a zero vector stays zero.

    Raises:
        ValueError: not a vector, or not finite.
    """
    vector = vector.detach().to("cpu", torch.float32)
    if vector.dim() != 1 or not bool(torch.isfinite(vector).all()):
        raise ValueError("a prompt vector must be one-dimensional and finite")
    return torch.nn.functional.normalize(vector, dim=0)


class PromptIndex:
    """Chunk id -> unit prompt vector `[E]`, the prompt's text and its hash."""

    def __init__(self) -> None:
        self._vectors: Rows | None = None
        self.hashes: list[str] = []
        self.texts: list[str] = []

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def vectors(self) -> Tensor:
        """`[C, E]` fp32 on the CPU; `[0, 0]` while empty."""
        return torch.empty(0, 0) if self._vectors is None else self._vectors.view

    def add(self, vector: Tensor, text: str, prompt_hash: str) -> int:
        """Add a chunk's unit vector `[E]`; returns the chunk's id."""
        if self._vectors is None:
            self._vectors = Rows(vector.shape, torch.float32, "cpu")
        self._vectors.append(vector)
        self.hashes.append(prompt_hash)
        self.texts.append(text)
        return len(self.hashes) - 1

    def fork(self, count: int | None = None) -> "PromptIndex":
        """An independent continuation (of the first `count` chunks)."""
        other = PromptIndex()
        other._vectors = None if self._vectors is None else self._vectors.fork(count)
        other.hashes, other.texts = self.hashes[:count], self.texts[:count]
        return other


class PageIndex:
    """Page id -> mean un-rotated keys `[S, H, D]` (fp32, on the device) and the page's span (on the CPU)."""

    def __init__(self, scoring_layers: int, heads: int, head_dim: int, device: torch.device | str) -> None:
        self._means = Rows((scoring_layers, heads, head_dim), torch.float32, device)
        self._spans = Rows((3,), torch.int64, "cpu")
        self._snapshots = Rows((), torch.bool, "cpu")
        self.pages: list[PageInfo] = []

    @property
    def means(self) -> Tensor:
        """`[P, S, H, D]` fp32."""
        return self._means.view

    @property
    def spans(self) -> Tensor:
        """`[P, 3]` int64: first frame, frames, chunk id."""
        return self._spans.view

    @property
    def snapshots(self) -> Tensor:
        """`[P]` bool: `PageInfo.snapshot`."""
        return self._snapshots.view

    def add(self, info: PageInfo, mean: Tensor) -> None:
        """Add the next page; its id must be the number of pages so far."""
        if info.id != len(self.pages):
            raise ValueError(f"page {info.id} is not the next one ({len(self.pages)})")
        self._means.append(mean)
        self._spans.append(torch.tensor([info.first_frame, info.frames, info.chunk_id]))
        self._snapshots.append(torch.tensor(info.snapshot))
        self.pages.append(info)

    def fork(self, count: int | None = None) -> "PageIndex":
        """An independent continuation (of the first `count` pages)."""
        other = object.__new__(PageIndex)
        other._means, other._spans = self._means.fork(count), self._spans.fork(count)
        other._snapshots = self._snapshots.fork(count)
        other.pages = self.pages[:count]
        return other


class RunningMean:
    """Mean key over the real tokens of the page that is being filled, `[S, H, D]` in fp32."""

    def __init__(self) -> None:
        self._sum: Tensor | None = None
        self._tokens = 0

    def add(self, keys: Tensor) -> None:
        """Take in the scoring layers' un-rotated keys `[S, tokens, H, D]`."""
        part = keys.detach().float().sum(dim=1)
        self._sum = part if self._sum is None else self._sum + part
        self._tokens += keys.shape[1]

    def take(self) -> Tensor:
        """The mean so far; starts again from nothing.

        Raises:
            ValueError: nothing was added.
        """
        if self._sum is None:
            raise ValueError("a page without tokens has no mean key")
        mean = self._sum / self._tokens
        self._sum, self._tokens = None, 0
        return mean

    def fork(self) -> "RunningMean":
        """An independent continuation (sums are never changed in place)."""
        other = RunningMean()
        other._sum, other._tokens = self._sum, self._tokens
        return other
