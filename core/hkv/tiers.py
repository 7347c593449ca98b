"""Where pages lie: pools of memory, and what every tier can do.

A tier only keeps pages under handles; `store` decides which page lies where. Its books change at once, the
bytes follow in the background: until then a page is read where it came from.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from worldattention.core.heap import lasting_memory
from worldattention.core.hkv.codec import RAW, Codec, StoredPage, encode_page, lay_out, page_bytes
from worldattention.core.hkv.moves import Job, Lane, Loan, SideStream
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.page_lock import PageLock
from worldattention.core.hkv.times import Times

log = logging.getLogger(__name__)

SLAB_PAGES = 8
SLAB_BYTES = 256 << 20  # page-locking takes a second for every gigabyte, so large pages come one by one
_KEPT_BESIDE = 1  # pages come one by one, and each finds the slot of the one before it still being read
_READY_SLOTS = (
    4  # a recall of three pages sends three down, while their own slots are still read; and a new page
)


@dataclass(slots=True)
class Traffic:
    """What went in and out of a tier since the world began; times of the latest moves in milliseconds."""

    read_bytes: int = 0
    written_bytes: int = 0
    read_ms: Times = field(default_factory=Times)
    write_ms: Times = field(default_factory=Times)
    late: int = 0
    prefetched: int = 0
    prefetch_hits: int = 0


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page that was asked for, readable until its loan is dropped; `late`: it may still come."""

    page: StoredPage | None
    loan: Loan
    late: bool = False


class Tier(Protocol):
    """One place for pages, addressed by handles that the store gives out. For one thread."""

    name: str
    active: bool
    traffic: Traffic

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

    def congested(self) -> bool:
        """Whether a write would have to wait for earlier ones."""

    def wait_for_room(self) -> None:
        """Wait until it is not congested."""

    def take(self, handle: int, data: PageData) -> None:
        """Copy a new page before the return; call only after `has_room`. On a RuntimeError it is not there."""

    def write(self, handle: int, page: StoredPage, loan: Loan) -> None:
        """Copy a page in the background, then drop its loan; call only after `has_room`."""

    def request(self, handles: Sequence[int]) -> None:
        """Start to read these pages, in this order."""

    def fetch(self, handle: int, deadline_s: float | None) -> Fetched:
        """The page, waited for until `deadline_s` (of `time.monotonic`); none where it is damaged or late."""

    def leave(self, handle: int) -> None:
        """The page goes up: it is no longer this tier's."""

    def free(self, handle: int) -> None:
        """Forget a page."""

    def complete_one(self) -> bool:
        """Wait for one move and complete it; false when there is none."""

    def collect(self) -> None:
        """Complete the moves that are done."""

    def take_lost(self) -> list[int]:
        """Handles whose pages were lost since the last call."""

    def take_notices(self) -> list[str]:
        """Plain sentences for the user since the last call."""

    def flush(self) -> None:
        """Wait until every move is done, and complete it."""

    def close(self) -> None:
        """Give everything back."""


@dataclass(slots=True, eq=False)
class _Resident:
    """A page in a slot; the tier is one holder of `loan`, readers and moves are others."""

    page: StoredPage
    loan: Loan


@dataclass(slots=True, eq=False)
class _Arrival:
    """A page on its way into a slot, which it holds by `slot`."""

    source: StoredPage
    loan: Loan
    slot: Loan
    job: Job


class PoolTier:
    """Pages in preallocated slots of a tensor on `device`, grown slab by slab up to the quota.

    A slot has room for a whole page; a short one takes a whole slot. `gpu`: the one that pages come from and go
    to; CPU memory is then page-locked, so that copies can run beside the GPU's work. A slot that is free but
    still being read is replaced by another one, so that nothing waits: those are beside the quota, and with a GPU
    up to three are made ready ahead. Without one slots are no slabs, and what is beside the quota goes back to the
    system; with one they are used again, since making them takes long.
    """

    def __init__(
        self,
        name: str,
        shape: KVShape,
        page_frames: int,
        quota_bytes: int,
        device: torch.device | str = "cpu",
        gpu: torch.device | None = None,
        codec: Codec = RAW,
    ) -> None:
        self.name, self.active = name, True
        self.traffic = Traffic()
        self.when_short: Callable[[], bool] = self.complete_one
        self._shape, self._codec = shape, codec
        self._device, self._gpu = torch.device(device), gpu
        self._slot_bytes = page_bytes(codec, shape, page_frames)
        self.quota_bytes = quota_bytes
        self._limit = quota_bytes // self._slot_bytes
        self._slots = 0
        self._free: list[Tensor] = []
        self._on_loan = 0
        self._pages: dict[int, _Resident] = {}
        self._arrivals: dict[int, _Arrival] = {}
        self._jobs: dict[int, _Arrival] = {}
        self._pins = gpu is not None and self._device.type == "cpu"
        self._locks: list[PageLock] = []
        self._growth: Job | None = None
        self._ready = _READY_SLOTS
        self._lane, self._pinner = Lane(f"page-mover-{name}"), Lane(f"page-pinner-{name}")
        self._side = SideStream()
        self._notices: list[str] = []
        self._lost: list[int] = []
        self._grow_ahead()

    @property
    def used_bytes(self) -> int:
        """Bytes of the occupied slots."""
        return len(self._pages) * self._slot_bytes

    def could_hold(self, info: PageInfo) -> bool:
        """Whether there is a slot at all."""
        return self._limit > 0

    def has_room(self, info: PageInfo) -> bool:
        """Whether a slot is free, growing by a slab where the quota allows it."""
        if self._slots - len(self._free) - self._on_loan >= self._limit:
            return False
        if not self._free:
            self._grow()
        while not self._free and self._on_loan and self.when_short():
            pass  # no memory for a replacement: a move has to end first
        return bool(self._free)

    def congested(self) -> bool:
        """Memory is quick enough."""
        return False

    def wait_for_room(self) -> None:
        """Memory is quick enough."""

    def _grow(self) -> None:
        """One slab more: the one that is being made, else a new one; without memory the tier stays as it is."""
        if self._growth is not None:
            self._end_growth()
        if not self._free:
            self._growth = Job(-1, self._new_slab)
            self._growth.finish()
            self._end_growth()
        if not self._free and self._slots < self._limit:
            self._limit = self._slots
            self._notices.append(
                f"The {self.name} memory tier stops at {self._limit * self._slot_bytes / 1e9:.2f} GB of "
                f"its {self.quota_bytes / 1e9:.2f} GB, because the machine has no more; lower its quota."
            )

    def _grow_ahead(self) -> None:
        """Page-locking takes a second for two gigabytes, and a GPU's memory its time: begun before it is needed."""
        short = len(self._free) < self._ready and self._slots < self._limit + self._ready - 1
        if self._gpu is not None and self._growth is None and short and self._limit:
            self._growth = self._pinner.submit(Job(-1, self._new_slab))

    def _new_slab(self) -> Tensor:
        room = self._limit - self._slots
        at_once = 1 if self._gpu is None else min(SLAB_PAGES, SLAB_BYTES // self._slot_bytes)
        pages = max(1, min(at_once, room))
        size = (pages, self._slot_bytes)
        if self._pins:
            self._locks.append(PageLock(pages * self._slot_bytes))
            return self._locks[-1].memory.view(size)
        return lasting_memory(size, torch.uint8, self._device)

    def _end_growth(self) -> None:
        """Waits for the slab and takes it; without memory nothing is made ahead any more."""
        assert self._growth is not None
        growth, self._growth = self._growth, None
        growth.done.wait()
        self._pinner.take_finished()
        slab = growth.result
        if slab is not None:
            self._free.extend(slab.unbind(0))
            self._slots += len(slab)
        else:
            log.warning("tier %s cannot grow: %s", self.name, growth.error)
            self._ready = 0

    def take(self, handle: int, data: PageData) -> None:
        """Into a free slot, on a GPU without waiting."""
        page = self._settle(handle, data.info).page
        try:
            encode_page(data, page)
        except RuntimeError:
            self.free(handle)
            raise

    def write(self, handle: int, page: StoredPage, loan: Loan) -> None:
        """Into a free slot, in the background."""
        resident = self._settle(handle, page.info)
        target = resident.page
        gpu = target.parts.device if target.parts.is_cuda else page.parts.device
        job = Job(
            handle, lambda: self._side.run(lambda: page.copy_into(target, self._side.rest), page.ready, gpu)
        )
        arrival = _Arrival(page, loan, resident.loan.hold(), job)
        self._arrivals[handle] = self._jobs[job.id] = arrival
        self._lane.submit(job)

    def _settle(self, handle: int, info: PageInfo) -> _Resident:
        slot = self._free.pop()

        def give_back() -> None:
            self._on_loan -= 1
            if self._gpu is None and self._slots > self._limit + _KEPT_BESIDE:
                self._slots -= 1
            else:
                self._free.append(slot)

        page = lay_out(info, self._shape, self._codec, slot)
        self._pages[handle] = resident = _Resident(page, Loan(give_back))
        self.traffic.written_bytes += page.parts.nbytes
        self._grow_ahead()
        return resident

    def request(self, handles: Sequence[int]) -> None:
        """Memory needs no start."""

    def fetch(self, handle: int, deadline_s: float | None) -> Fetched:
        """Views of the page's slot, or of where it comes from."""
        if handle in self._lost:
            return Fetched(None, Loan())
        arrival = self._arrivals.get(handle)
        if arrival is not None:
            return Fetched(arrival.source, arrival.loan.hold())
        resident = self._pages[handle]
        return Fetched(resident.page.behind(self._gpu), resident.loan.hold())

    def leave(self, handle: int) -> None:
        """Nothing stays behind."""
        self.free(handle)

    def free(self, handle: int) -> None:
        """The slot is free once nobody reads or writes it any more."""
        arrival = self._arrivals.pop(handle, None)
        self._on_loan += 1
        self._pages.pop(handle).loan.drop()
        if handle in self._lost:
            self._lost.remove(handle)
        if arrival is not None and self._lane.cancel(arrival.job):
            self._end(arrival)

    def complete_one(self) -> bool:
        """Wait for one copy and complete it."""
        if not self._jobs:
            return False
        self._lane.wait_for_one()
        self.collect()
        return True

    def collect(self) -> None:
        """Complete the copies that are done, and take a slab that is ready."""
        if self._growth is not None and self._growth.done.is_set():
            self._end_growth()
            self._grow_ahead()
        for job in self._lane.take_finished():
            arrival = self._jobs[job.id]
            current = self._arrivals.get(job.handle) is arrival
            if current:
                del self._arrivals[job.handle]
            self._end(arrival)
            if job.error is not None:
                log.warning("page %d did not arrive in tier %s: %s", job.handle, self.name, job.error)
                self._lost += [job.handle] if current else []
                continue
            self.traffic.write_ms.append(job.milliseconds)

    def _end(self, arrival: _Arrival) -> None:
        del self._jobs[arrival.job.id]
        arrival.loan.drop()
        arrival.slot.drop()

    def take_lost(self) -> list[int]:
        """Handles of pages that could not be copied."""
        return list(self._lost)

    def take_notices(self) -> list[str]:
        """Plain sentences since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def flush(self) -> None:
        """Wait for the copies."""
        self._lane.flush()
        self.collect()

    def close(self) -> None:
        """Let go of all slabs."""
        self._lane.close()
        self._pinner.close()
        self._pinner.take_finished()  # a slab that nobody took
        self._growth = None
        for lock in self._locks:
            lock.free()
        self._slots, self._free, self._limit, self._locks = 0, [], 0, []
        self._pages.clear()
        self._arrivals.clear()
        self._jobs.clear()
