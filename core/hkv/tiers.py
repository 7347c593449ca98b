"""Where pages lie: pools of memory, and what every tier can do.

A tier only keeps pages under handles; `store` decides which page lies where.
"""

import logging
from typing import Protocol

import torch
from torch import Tensor

from worldattention.core.hkv.page import KVShape, PageData, PageInfo

log = logging.getLogger(__name__)

SLAB_PAGES = 8
SLAB_BYTES = 256 << 20  # page-locking takes a second for every gigabyte, so large pages come one by one


class Tier(Protocol):
    """One place for pages, addressed by handles that the store gives out."""

    name: str
    active: bool

    @property
    def used_bytes(self) -> int:
        """Bytes that its pages take."""

    @property
    def quota_bytes(self) -> int:
        """Bytes that it may take."""

    def has_room(self, info: PageInfo) -> bool:
        """Whether a page fits now, without an eviction."""

    def could_hold(self, info: PageInfo) -> bool:
        """Whether a page would fit if the tier were empty."""

    def write(self, handle: int, data: PageData) -> None:
        """Take a copy of a page; call only after `has_room`."""

    def read(self, handle: int) -> PageData | None:
        """The page, valid until it is freed; None where it is missing or damaged."""

    def free(self, handle: int) -> None:
        """Forget a page."""

    def take_lost(self) -> list[int]:
        """Handles whose pages were lost since the last call."""

    def take_notices(self) -> list[str]:
        """Plain sentences for the user since the last call."""

    def close(self) -> None:
        """Give everything back."""


class PoolTier:
    """Pages in preallocated slots of a tensor on `device`, grown slab by slab up to the quota.

    Slabs are `[pages, 2, layers, page_frames * T, H, D]`; a short page takes a whole slot. `pinned` makes
    page-locked memory, so that copies from and to a GPU can run beside its work.
    """

    def __init__(
        self,
        name: str,
        shape: KVShape,
        page_frames: int,
        quota_bytes: int,
        device: torch.device | str = "cpu",
        pinned: bool = False,
    ) -> None:
        self.name, self.active = name, True
        self._shape, self._page_frames = shape, page_frames
        self._device, self._pinned = torch.device(device), pinned
        self._slot_bytes = page_frames * shape.frame_bytes()
        self.quota_bytes = quota_bytes
        self._limit = quota_bytes // self._slot_bytes
        self._slots: list[Tensor] = []
        self._free: list[int] = []
        self._pages: dict[int, tuple[int, PageInfo]] = {}
        self._copies: dict[int, torch.cuda.Event] = {}
        self._notices: list[str] = []

    @property
    def used_bytes(self) -> int:
        """Bytes of the occupied slots."""
        return len(self._pages) * self._slot_bytes

    def could_hold(self, info: PageInfo) -> bool:
        """Whether there is a slot at all."""
        return self._limit > 0

    def has_room(self, info: PageInfo) -> bool:
        """Whether a slot is free, growing by a slab where the quota allows it."""
        return bool(self._free) or self._grow()

    def _grow(self) -> bool:
        pages = max(1, min(SLAB_PAGES, SLAB_BYTES // self._slot_bytes))
        pages = min(pages, self._limit - len(self._slots))
        if pages <= 0:
            return False
        size = (pages, 2, *self._shape.tensor(self._page_frames))
        try:
            slab = torch.empty(size, dtype=self._shape.dtype, device=self._device, pin_memory=self._pinned)
        except RuntimeError as error:  # torch's out-of-memory on every device
            log.warning("tier %s cannot grow: %s", self.name, error)
            self._limit = len(self._slots)
            self._notices.append(
                f"The {self.name} memory tier stops at {self._limit * self._slot_bytes / 1e9:.2f} GB of its "
                f"{self.quota_bytes / 1e9:.2f} GB, because the machine has no more; lower its quota."
            )
            return False
        self._free.extend(range(len(self._slots) + pages - 1, len(self._slots) - 1, -1))
        self._slots.extend(slab.unbind(0))
        return True

    def write(self, handle: int, data: PageData) -> None:
        """Copy a page into a free slot; from a GPU into pinned memory without waiting."""
        slot = self._free.pop()
        tokens = data.keys.shape[1]
        asynchronous = self._pinned and data.keys.is_cuda
        self._slots[slot][0, :, :tokens].copy_(data.keys, non_blocking=asynchronous)
        self._slots[slot][1, :, :tokens].copy_(data.values, non_blocking=asynchronous)
        if asynchronous:
            self._copies[handle] = torch.cuda.Event()
            self._copies[handle].record()
        self._pages[handle] = (slot, data.info)

    def read(self, handle: int) -> PageData | None:
        """Views of the page's slot."""
        if handle in self._copies:
            self._copies.pop(handle).synchronize()
        slot, info = self._pages[handle]
        tokens = info.frames * self._shape.frame_tokens
        return PageData(info, self._slots[slot][0, :, :tokens], self._slots[slot][1, :, :tokens])

    def free(self, handle: int) -> None:
        """Give the page's slot back."""
        if handle in self._copies:
            self._copies.pop(handle).synchronize()
        self._free.append(self._pages.pop(handle)[0])

    def take_lost(self) -> list[int]:
        """Memory loses nothing."""
        return []

    def take_notices(self) -> list[str]:
        """Plain sentences since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def close(self) -> None:
        """Let go of all slabs."""
        self._slots, self._free, self._limit = [], [], 0
        self._pages.clear()
        self._copies.clear()
