"""What the memory tiers say to the user, once each."""

from __future__ import annotations

import errno
from pathlib import Path

from worldattention.core.units import format_bytes

DROPPING = (
    "The memory is full, so the pages used longest ago are being dropped, on the disk every second page of "
    "a scene first; raise --dram-quota or --disk-quota to keep all of them."
)
DROPPING_WITHOUT_DISK = (
    "The memory is full and the disk takes no more, so the pages used longest ago are being dropped; raise "
    "--dram-quota to keep more of them."
)
LATE = "A remembered page came too late from the disk; the picture went on without it."


def disk_off(root: Path, error: Exception) -> str:
    """Why the disk tier takes no more pages, and what to do where that is known."""
    reason = getattr(error, "strerror", None) or error
    if getattr(error, "errno", None) in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return (
            f"The disk tier is off, because {root} cannot be written ({reason}); the world goes on without it. "
            "Free space there before the next start."
        )
    return f"The disk tier is off, because {root} cannot be written ({reason}); the world goes on without it."


def no_page_on_disk(root: Path, quota_bytes: int, page_bytes: int) -> str:
    """The disk tier cannot hold one page of full length."""
    return (
        f"No whole page fits on the disk: one takes {format_bytes(page_bytes)}, and the disk quota for {root} is "
        f"{format_bytes(quota_bytes)}; free space there or raise --disk-quota."
    )
