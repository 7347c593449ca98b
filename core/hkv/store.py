"""The pages of one or more worlds over several tiers, each with a quota in bytes.

Contract: `put` places a page in the highest tier with room; when a tier is full its least recently used
page that nobody has pinned moves one tier down, and falls out of the last one (counted, reported once).
`acquire` pins a page, finds it wherever it is and lifts it to the top; its tensors stay valid until
`release_pin`. Pages never change, so that forks of a world share them by reference count. One thread
(the engine's) calls the store.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from worldattention.core.config import CacheConfig
from worldattention.core.hkv.disk import DiskTier
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.session import default_folder
from worldattention.core.hkv.tiers import PoolTier, Tier
from worldattention.core.telemetry import TierUsage


@dataclass(slots=True)
class _Entry:
    info: PageInfo
    tier: int | None
    references: int = 1
    pins: int = 0


@dataclass(slots=True)
class _Counters:
    hits: int = 0
    misses: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    evictions: int = 0
    drops: int = 0


class TieredStore:
    """Pages over several tiers, highest first. See the module's contract."""

    def __init__(self, tiers: Sequence[Tier]) -> None:
        self._tiers = list(tiers)
        self._entries: dict[int, _Entry] = {}
        self._used: list[OrderedDict[int, None]] = [OrderedDict() for _ in tiers]
        self._counters = [_Counters() for _ in tiers]
        self._next_handle = 0
        self._owners = 1
        self._notices: list[str] = []
        self._told_of_drops = False

    def put(self, data: PageData) -> int:
        """Store a copy of a page; returns its handle (even if no tier could take it)."""
        self._sweep()
        handle = self._next_handle
        self._next_handle += 1
        self._entries[handle] = _Entry(data.info, None)
        self._place(handle, data, 0)
        return handle

    def acquire(self, handles: Sequence[int]) -> list[PageData | None]:
        """Pin pages and return them; None (and no pin) for one whose data is gone."""
        self._sweep()
        for handle in handles:  # first all of them, so that none has to make way for another
            self._entries[handle].pins += 1
        found = [self._fetch(handle) for handle in handles]
        for handle, data in zip(handles, found, strict=True):
            self._entries[handle].pins -= data is None
        return found

    def _fetch(self, handle: int) -> PageData | None:
        level = self._entries[handle].tier
        if level is None:
            self._counters[-1].misses += 1
            return None
        data = self._tiers[level].read(handle)
        if data is None:
            self._counters[level].misses += 1
            self._forget(handle)
            return None
        self._counters[level].hits += 1
        self._counters[level].read_bytes += _bytes(data)
        if self._entries[handle].pins > 1:  # somebody reads it where it is
            self._used[level].move_to_end(handle)
            return data
        return self._lift(handle, data)

    def release_pin(self, handle: int) -> None:
        """Undo the pin of one acquired page; harmless after `close`."""
        entry = self._entries.get(handle)
        if entry is not None:
            entry.pins -= 1
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
        self._sweep()
        return tuple(
            TierUsage(
                name=tier.name,
                pages=len(used),
                used_bytes=tier.used_bytes,
                quota_bytes=tier.quota_bytes,
                read_bytes=count.read_bytes,
                written_bytes=count.written_bytes,
                hits=count.hits,
                misses=count.misses,
                evictions=count.evictions,
                drops=count.drops,
                active=tier.active,
            )
            for tier, used, count in zip(self._tiers, self._used, self._counters, strict=True)
        )

    def take_notices(self) -> tuple[str, ...]:
        """Plain sentences for the user since the last call."""
        self._sweep()
        notices, self._notices = self._notices, []
        return tuple(notices)

    def share(self) -> "TieredStore":
        """One more owner (a fork of the world)."""
        self._owners += 1
        return self

    def close(self) -> None:
        """One owner less; the last one closes the tiers."""
        self._owners -= 1
        if self._owners == 0:
            self._entries.clear()
            for tier in self._tiers:
                tier.close()

    def _sweep(self) -> None:
        """Take in what the tiers have to report."""
        for level, tier in enumerate(self._tiers):
            for handle in tier.take_lost():
                if handle in self._entries and self._entries[handle].tier == level:
                    self._drop(handle, level)
            self._notices.extend(tier.take_notices())

    def _lift(self, handle: int, data: PageData) -> PageData:
        """Move an acquired page to the highest tier that can take it; mark it as just used."""
        entry = self._entries[handle]
        level = entry.tier
        assert level is not None
        swap = self._tiers[level].active  # else what makes way above would have nowhere to go
        target = next((up for up in range(level) if self._can_take(up, entry.info, swap)), None)
        if target is None:
            self._used[level].move_to_end(handle)
            return data
        if self._tiers[target].has_room(entry.info):
            self._move(handle, data, level, target)
        else:  # what must leave the upper tier may need this page's own place
            data = PageData(data.info, data.keys.clone(), data.values.clone())
            self._forget(handle)
            self._place(handle, data, target)
        lifted = None if entry.tier is None else self._tiers[entry.tier].read(handle)
        return data if lifted is None else lifted

    def _move(self, handle: int, data: PageData, level: int, target: int) -> None:
        self._write(handle, data, target)
        self._tiers[level].free(handle)
        del self._used[level][handle]

    def _can_take(self, level: int, info: PageInfo, evict: bool) -> bool:
        tier = self._tiers[level]
        if not tier.active or not tier.could_hold(info):
            return False
        return tier.has_room(info) or (evict and self._victim(level) is not None)

    def _place(self, handle: int, data: PageData, level: int) -> None:
        """Write a page to the first tier from `level` down that has or can make room; else drop it."""
        info = self._entries[handle].info
        for lower in range(level, len(self._tiers)):
            if self._make_room(lower, info):
                self._write(handle, data, lower)
                return
        self._drop(handle, None)

    def _write(self, handle: int, data: PageData, level: int) -> None:
        self._tiers[level].write(handle, data)
        self._entries[handle].tier = level
        self._used[level][handle] = None
        self._counters[level].written_bytes += _bytes(data)

    def _make_room(self, level: int, info: PageInfo) -> bool:
        """Whether the page fits into the tier, after evictions where they help."""
        tier = self._tiers[level]
        if not tier.active or not tier.could_hold(info):
            return False
        while not tier.has_room(info):
            victim = self._victim(level)
            if victim is None:
                return False
            self._evict(victim, level)
        return True

    def _victim(self, level: int) -> int | None:
        """The least recently used page of a tier that is not pinned."""
        return next((handle for handle in self._used[level] if self._entries[handle].pins == 0), None)

    def _evict(self, handle: int, level: int) -> None:
        """Move a page one tier down (or further), or drop it where there is none."""
        info = self._entries[handle].info
        self._counters[level].evictions += 1
        for lower in range(level + 1, len(self._tiers)):
            if self._make_room(lower, info):
                data = self._tiers[level].read(handle)
                if data is not None:
                    self._move(handle, data, level, lower)
                    return
                break
        self._drop(handle, level)

    def _forget(self, handle: int) -> None:
        entry = self._entries[handle]
        assert entry.tier is not None
        self._tiers[entry.tier].free(handle)
        del self._used[entry.tier][handle]
        entry.tier = None

    def _drop(self, handle: int, level: int | None) -> None:
        """The page's data goes; its row in the index stays."""
        self._counters[-1 if level is None else level].drops += 1
        if level is not None:
            self._forget(handle)
        if not self._told_of_drops:
            self._told_of_drops = True
            self._notices.append(
                "The memory is full, so the pages used longest ago are being dropped; "
                "raise --dram-quota or --disk-quota to keep all of them."
            )


def _bytes(data: PageData) -> int:
    return data.keys.nbytes + data.values.nbytes


def open_store(
    config: CacheConfig, shape: KVShape, device: torch.device | str = "cpu", fingerprint: str = ""
) -> TieredStore:
    """The tiers of a configuration; quotas as `quotas.fit_quotas` returned them.

    `fingerprint` names the model, so that its page files are never taken for another's.
    """
    frames = config.page_frames
    on_gpu = torch.device(device).type == "cuda"
    return TieredStore(
        [
            PoolTier("device", shape, frames, config.device_quota_bytes, device),
            PoolTier("dram", shape, frames, config.dram_quota_bytes, "cpu", pinned=on_gpu),
            DiskTier(shape, fingerprint, config.disk_quota_bytes, config.folder or default_folder()),
        ]
    )
