"""The pages of one or more worlds over several tiers, each with a quota in bytes.

Contract: `put` places a page in the highest tier with room; when a tier is full its least recently used
page that nobody has pinned moves one tier down, and falls out of the last one (counted, reported once); a
full disk is thinned first. `acquire` pins a page, finds it wherever it is and lifts it to the top; its
tensors stay valid until `release_pin`. Pages never change, so that forks of a world share them by reference
count. One thread (the engine's) calls the store.

Which page lies where follows from the calls alone, never from the time a move takes, nor from what was
prefetched: so equal runs keep and drop equal pages. The exception is asked for: with a deadline, a page that
comes too late is a miss, and a page that a busy disk cannot take is dropped, rather than that the world waits.
"""

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from worldattention.core.config import CacheConfig
from worldattention.core.hkv.codec import CODECS, RAW, StoredPage, page_bytes
from worldattention.core.hkv.disk import DiskOptions, DiskTier
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.moves import Loan
from worldattention.core.hkv.notices import DROPPING, DROPPING_WITHOUT_DISK, LATE
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.session import default_folder
from worldattention.core.hkv.thinning import Thinning
from worldattention.core.hkv.tier_usage import Counters, tier_usage
from worldattention.core.hkv.tiers import PoolTier, Tier
from worldattention.core.telemetry import TierUsage

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Entry:
    info: PageInfo
    tier: int | None
    references: int = 1
    pins: int = 0
    loans: list[Loan] = field(default_factory=list)


class TieredStore:
    """Pages over several tiers, highest first. See the module's contract.

    `read_deadline_ms`, `write_through`: see `CacheConfig`. `device`: where coded pages are decoded.
    """

    def __init__(
        self,
        pools: Sequence[PoolTier],
        disk: DiskTier,
        read_deadline_ms: float | None = None,
        write_through: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        self._disk = disk
        self._tiers: list[Tier] = [*pools, disk]
        self.read_deadline_ms = read_deadline_ms
        self._write_through, self._device = write_through, device
        self._entries: dict[int, _Entry] = {}
        self._used: list[OrderedDict[int, None]] = [OrderedDict() for _ in self._tiers]
        self._counters = [Counters() for _ in self._tiers]
        self._thinning = Thinning()
        self._next_handle, self._owners = 0, 1
        self._notices: list[str] = []
        self._told: set[str] = set()
        self.changes: list[int] = []
        self._gpu = torch.device(device) if torch.device(device).type == "cuda" else None
        self._decoded: deque[tuple[StoredPage, Loan]] = deque()
        for pool in pools:
            pool.when_short = self._complete_one

    def put(self, data: PageData | PageInfo) -> int:
        """Store a copy of a page; returns its handle (even if no tier could take it, or its data is gone)."""
        self.sweep()
        handle, self._next_handle = self._next_handle, self._next_handle + 1
        self._entries[handle] = _Entry(data if isinstance(data, PageInfo) else data.info, None)
        if isinstance(data, PageInfo) or (level := self._room_from(0, data.info)) is None:
            self._drop(handle, None)
            return handle
        try:
            self._tiers[level].take(handle, data)
        except RuntimeError as error:  # no memory to code it in: lost like a page that no tier has room for
            log.warning("page %d is dropped: %s", handle, error)
            self._drop(handle, None)
            return handle
        self._arrived(handle, level)
        if self._write_through and level < len(self._tiers) - 1:
            fetched = self._tiers[level].fetch(handle, None)
            assert fetched.page is not None
            self._disk.write_spare(handle, fetched.page, fetched.loan)
        return handle

    def acquire(self, handles: Sequence[int]) -> list[PageData | None]:
        """Pin pages and return them; None (and no pin) for one whose data is gone or comes too late."""
        self.sweep()
        for handle in handles:  # first all of them, so that none has to make way for another
            self._entries[handle].pins += 1
        for level, tier in enumerate(self._tiers):
            tier.request([handle for handle in handles if self._entries[handle].tier == level])
        wait_ms = self.read_deadline_ms
        deadline_s = None if wait_ms is None else time.monotonic() + wait_ms / 1000
        found = [self._fetch(handle, deadline_s) for handle in handles]
        for handle, data in zip(handles, found, strict=True):
            self._entries[handle].pins -= data is None
        if handles:
            self._disk.end_guess()
        return found

    def prefetch(self, handles: Sequence[int]) -> None:
        """Read pages that lie on the disk ahead, most wanted first. Moves nothing and changes no order."""
        self.sweep()
        last = len(self._tiers) - 1
        self._disk.prefetch([handle for handle in handles if self._entries[handle].tier == last])

    def _fetch(self, handle: int, deadline_s: float | None) -> PageData | None:
        entry = self._entries[handle]
        level = entry.tier
        if level is None:
            self._counters[-1].misses += 1
            return None
        fetched = self._tiers[level].fetch(handle, deadline_s)
        page = fetched.page
        if page is None:
            self._counters[level].misses += 1
            if fetched.late:
                self._tell(LATE)
            else:
                self._forget(handle)
            return None
        try:
            data = page.decode(self._device)
        except RuntimeError as error:  # no memory to decode it in: it stays where it is
            log.warning("page %d is a miss: %s", handle, error)
            fetched.loan.drop()
            self._counters[level].misses += 1
            return None
        self._counters[level].hits += 1
        if level < len(self._tiers) - 1:
            self._tiers[level].traffic.read_bytes += page.parts.nbytes
        self._thinning.recalled(entry.info)
        if entry.pins > 1:  # somebody reads it where it is
            self._used[level].move_to_end(handle)
            lifted = data
        else:
            lifted = self._lift(handle, level, page, fetched.loan, data)
        if page.codec is RAW and lifted is data:  # its numbers are read where it lies
            entry.loans.append(fetched.loan)
        else:  # its place is free as soon as it is decoded
            self._decoded.append((page.behind(self._gpu), fetched.loan))
        return lifted

    def release_pin(self, handle: int) -> None:
        """Undo the pin of one acquired page; harmless after `close`."""
        entry = self._entries.get(handle)
        if entry is not None:
            entry.pins -= 1
            if entry.pins == 0:
                for loan in entry.loans:
                    loan.drop()
                entry.loans.clear()
            self._delete_unused(handle, entry)

    def retain(self, handle: int) -> None:
        """Another world refers to the page."""
        self._entries[handle].references += 1

    def release(self, handle: int) -> None:
        """A world no longer refers to the page; the last one frees it, once nobody has it pinned."""
        entry = self._entries[handle]
        entry.references -= 1
        self._delete_unused(handle, entry)

    def _delete_unused(self, handle: int, entry: _Entry) -> None:
        if entry.references == 0 and entry.pins == 0:
            if entry.tier is not None:
                self._forget(handle)
            del self._entries[handle]

    def tier_of(self, handle: int) -> str:
        """Name of the page's tier, or `dropped`."""
        level = self._entries[handle].tier
        return "dropped" if level is None else self._tiers[level].name

    def is_there(self, handle: int) -> bool:
        """Whether the page's data is still somewhere."""
        return self._entries[handle].tier is not None

    def usage(self) -> tuple[TierUsage, ...]:
        """Figures of every tier, highest first."""
        self.sweep()
        rows = zip(self._tiers, self._used, self._counters, strict=True)
        return tuple(tier_usage(tier, len(used), count) for tier, used, count in rows)

    def take_notices(self) -> tuple[str, ...]:
        """Plain sentences for the user since the last call."""
        self.sweep()
        notices, self._notices = self._notices, []
        return tuple(notices)

    def flush(self) -> None:
        """Wait until every page has arrived where it belongs."""
        for tier in self._tiers:
            tier.flush()
        self.sweep()

    def share(self) -> "TieredStore":
        """One more owner (a fork of the world)."""
        self._owners += 1
        return self

    def close(self) -> None:
        """One owner less; the last one closes the tiers."""
        self._owners -= 1
        if self._owners == 0:
            self._entries.clear()
            self._decoded.clear()
            for tier in reversed(self._tiers):
                tier.close()

    def sweep(self) -> None:
        """Take in what happened in the background: afterwards `changes` names every page whose tier changed."""
        while self._decoded and ((read := self._decoded[0][0].ready) is None or read.query()):
            self._decoded.popleft()[1].drop()
        for level, tier in enumerate(self._tiers):
            tier.collect()
            self._notices.extend(tier.take_notices())
            for handle in tier.take_lost():
                if handle in self._entries and self._entries[handle].tier == level:
                    self._drop(handle, level)

    def _complete_one(self) -> bool:
        """Wait for the end of any move, so that its loan ends; false when there is none."""
        return any(tier.complete_one() for tier in self._tiers)

    def _lift(self, handle: int, level: int, page: StoredPage, loan: Loan, data: PageData) -> PageData:
        """Move an acquired page to the highest tier that can take it; mark it as just used. Gives its numbers back."""
        entry = self._entries[handle]
        # What makes way above needs this page's own place, or one below that takes pages without a wait.
        swap = self._tiers[level].active and not self._in_a_jam()
        target = next((up for up in range(level) if self._can_take(up, entry.info, swap)), None)
        if target is None:
            self._used[level].move_to_end(handle)
            return data
        self._left(handle, level)
        self._tiers[level].leave(handle)
        entry.tier = None
        target = self._room_from(target, entry.info)
        if target is None:
            self._drop(handle, None)
        elif target == 0 and self._gpu is not None:  # over the bus once, and in one piece
            self._tiers[0].take(handle, page.on(self._device).decode() if page.codec is RAW else data)
            self._arrived(handle, 0)
            lifted = self._tiers[0].fetch(handle, None)
            assert lifted.page is not None
            entry.loans.append(lifted.loan)
            return lifted.page.decode(self._device)
        else:
            self._tiers[target].write(handle, page, loan.hold())
            self._arrived(handle, target)
        return data

    def _in_a_jam(self) -> bool:
        return self.read_deadline_ms is not None and self._disk.active and self._disk.congested()

    def _can_take(self, level: int, info: PageInfo, evict: bool) -> bool:
        tier = self._tiers[level]
        if not tier.active or not tier.could_hold(info):
            return False
        return tier.has_room(info) or (evict and self._victim(level) is not None)

    def _room_from(self, level: int, info: PageInfo) -> int | None:
        """The first tier from `level` down that has or can make room."""
        return next((lower for lower in range(level, len(self._tiers)) if self._make_room(lower, info)), None)

    def _make_room(self, level: int, info: PageInfo) -> bool:
        """Whether the page fits into the tier, after evictions where they help."""
        tier = self._tiers[level]
        if not tier.active or not tier.could_hold(info):
            return False
        if tier.congested():
            if self.read_deadline_ms is not None:
                self._counters[level].refused += 1
                return False
            tier.wait_for_room()
        while not tier.has_room(info):
            victim = self._thinned() if level == len(self._tiers) - 1 else None
            self._counters[level].thinned += victim is not None
            victim = self._victim(level) if victim is None else victim
            if victim is None:
                return False
            self._evict(victim, level)
        return True

    def _thinned(self) -> int | None:
        """The page of a full disk that is missed least."""
        return self._thinning.pick(lambda handle: self._entries[handle].pins == 0)

    def _victim(self, level: int) -> int | None:
        """The least recently used page of a tier that is not pinned."""
        return next((handle for handle in self._used[level] if self._entries[handle].pins == 0), None)

    def _evict(self, handle: int, level: int) -> None:
        """Move a page one tier down (or further), or drop it where there is none."""
        self._counters[level].evictions += 1
        lower = self._room_from(level + 1, self._entries[handle].info)
        if lower is None:
            self._drop(handle, level)
            return
        fetched = self._tiers[level].fetch(handle, None)
        if fetched.page is None:  # its copy into the tier failed
            self._drop(handle, level)
            return
        self._left(handle, level)
        self._tiers[level].free(handle)
        self._tiers[lower].write(handle, fetched.page, fetched.loan)
        self._arrived(handle, lower)

    def _arrived(self, handle: int, level: int) -> None:
        entry = self._entries[handle]
        entry.tier = level
        self._used[level][handle] = None
        if level == len(self._tiers) - 1:
            self._thinning.add(handle, entry.info)
        self.changes.append(handle)

    def _left(self, handle: int, level: int) -> None:
        del self._used[level][handle]
        if level == len(self._tiers) - 1:
            self._thinning.remove(handle, self._entries[handle].info)

    def _forget(self, handle: int) -> None:
        """The page's data goes, and its spare file with it."""
        entry = self._entries[handle]
        assert entry.tier is not None
        self._left(handle, entry.tier)
        self._tiers[entry.tier].free(handle)
        self._disk.free_spare(handle)
        entry.tier = None
        self.changes.append(handle)

    def _drop(self, handle: int, level: int | None) -> None:
        """The page's data goes; its row in the index stays."""
        self._counters[-1 if level is None else level].drops += 1
        if level is not None:
            self._forget(handle)
        else:
            self._disk.free_spare(handle)
            self.changes.append(handle)
        self._tell(DROPPING if self._disk.active else DROPPING_WITHOUT_DISK)

    def _tell(self, sentence: str) -> None:
        """A notice that is given once."""
        if sentence not in self._told:
            self._told.add(sentence)
            self._notices.append(sentence)


def open_store(
    config: CacheConfig,
    shape: KVShape,
    device: torch.device | str = "cpu",
    fingerprint: str = "",
    disk: DiskIO | None = None,
) -> TieredStore:
    """The tiers of a configuration; quotas as `quotas.fit_quotas` returned them.

    `fingerprint` names the model, so that its page files are never taken for another's. `disk`: how files
    are reached, by default as they are.
    """
    frames, codec = config.page_frames, CODECS[config.codec]
    gpu = torch.device(device) if torch.device(device).type == "cuda" else None
    one = page_bytes(codec, shape, frames)
    ahead = config.prefetch_bytes
    if ahead:  # at least what one recall brings
        ahead = max(ahead, config.recalled_pages * one)
    moving = max(config.move_bytes, 2 * one)  # a page may follow while another is being written
    options = DiskOptions(codec, frames, moving, ahead, gpu)
    return TieredStore(
        [
            PoolTier("device", shape, frames, config.device_quota_bytes, device, gpu),
            PoolTier("dram", shape, frames, config.dram_quota_bytes, "cpu", gpu, codec),
        ],
        DiskTier(
            shape, fingerprint, config.disk_quota_bytes, config.folder or default_folder(), options, disk
        ),
        config.read_deadline_ms,
        config.write_through,
        device,
    )
