"""What the memory tiers say to the user, once each."""

from __future__ import annotations

import errno
from pathlib import Path

from worldattention.core.files import check_makeable
from worldattention.core.hkv.quotas import format_bytes, free_bytes

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


def no_page_on_disk(root: Path, quota_bytes: int, page_bytes: int) -> tuple[str, bool]:
    """Why the disk tier cannot hold one page of full length, and whether a larger quota would help."""
    try:
        check_makeable(root)
        free = free_bytes(root)
    except OSError as error:
        return disk_off(root, error), False
    page = format_bytes(page_bytes)
    if free < page_bytes:
        text = (
            f"No whole page fits on the disk: one takes {page}, and only {format_bytes(free)} are free at {root}; "
            "free space there."
        )
        return text, False
    text = (
        f"No whole page fits on the disk: one takes {page}, and of the {format_bytes(free)} free at {root} pages may "
        f"take {format_bytes(quota_bytes)}; raise --disk-quota."
    )
    return text, True
