"""A tier's figures for telemetry."""

from dataclasses import dataclass

from worldattention.core.hkv.tiers import Tier
from worldattention.core.telemetry import TierUsage


@dataclass(slots=True)
class Counters:
    """What the store counts of a tier; `refused`: pages that it could not take in time."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    drops: int = 0
    thinned: int = 0
    refused: int = 0


def tier_usage(tier: Tier, pages: int, count: Counters) -> TierUsage:
    """The record of one tier."""
    traffic = tier.traffic
    return TierUsage(
        name=tier.name,
        pages=pages,
        used_bytes=tier.used_bytes,
        quota_bytes=tier.quota_bytes,
        read_bytes=traffic.read_bytes,
        written_bytes=traffic.written_bytes,
        hits=count.hits,
        misses=count.misses,
        evictions=count.evictions,
        drops=count.drops,
        active=tier.active,
        thinned=count.thinned,
        refused=count.refused,
        late=traffic.late,
        prefetched=traffic.prefetched,
        prefetch_hits=traffic.prefetch_hits,
        read_ms=traffic.read_ms.percentiles(),
        write_ms=traffic.write_ms.percentiles(),
    )
