"""Quotas in bytes, and whether the machine has them."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from worldattention.core.config import CacheConfig
from worldattention.core.errors import UserError
from worldattention.core.files import standing_place
from worldattention.core.units import format_bytes, parse_bytes

if TYPE_CHECKING:
    import torch

_GENEROUS = {"device": (4, 8), "dram": (30, 2), "disk": (60, 2)}
"""Pages that a tier holds by default, a minute's in DRAM, and the part of the machine's bytes that this may take."""

__all__ = ["fit_quotas", "format_bytes", "free_bytes", "parse_bytes"]


def fit_quotas(
    config: CacheConfig,
    device: torch.device | str,
    folder: Path,
    asked: Collection[str] = (),
    page_bytes: int = 0,
) -> tuple[CacheConfig, tuple[str, ...]]:
    """Compare the quotas with the machine: `config` as it can run, and warnings in plain words.

    `folder`: the cache folder (or where it will be made). `asked`: the tiers (`device`, `dram`, `disk`)
    whose quota a person gave. `page_bytes`: of the model's pages; defaults grow with them, as far as the machine
    allows, since a tier that holds no page remembers nothing. Defaults shrink to half of what is there; of what
    was asked for, only the DRAM quota may pass the machine's figure, with a warning (some virtual machines
    report too little memory at start). The disk's free bytes are no guess: passing them is refused.

    Raises:
        UserError: a quota is negative, or a person asked for more than the machine has.
    """
    warnings: list[str] = []
    memory = psutil.virtual_memory().total
    there = {
        "device": _device_bytes(device) if str(device).startswith("cuda") else memory,
        "dram": memory,
        "disk": free_bytes(folder),
    }
    for name, available in there.items():
        quota = getattr(config, f"{name}_quota_bytes")
        if quota < 0:
            raise UserError(f"The {name} quota must not be negative: give an amount like 4GB, or 0.")
        if name not in asked:
            pages, share = _GENEROUS[name]
            quota = max(quota, min(pages * page_bytes, available // share))
            config = replace(config, **{f"{name}_quota_bytes": quota})
        if quota <= available:
            continue
        if name not in asked:
            config = replace(config, **{f"{name}_quota_bytes": available // 2})
            continue
        asks = (
            f"The {name} quota asks for {format_bytes(quota)}, but this machine has {format_bytes(available)}"
        )
        if name != "dram":
            raise UserError(
                f"{asks}: lower --{name}-quota, or the world would lose its pages when that is used up."
            )
        warnings.append(
            f"{asks}: it is kept, since some machines report too little; lower --{name}-quota if this one swaps."
        )
    return config, tuple(warnings)


def _device_bytes(device: torch.device | str) -> int:
    import torch  # only where there is a device to ask: quotas on the CPU are checked without it

    return torch.cuda.mem_get_info(device)[1]


def free_bytes(folder: Path) -> int:
    """Bytes free where `folder` is or will be."""
    return shutil.disk_usage(standing_place(folder)).free
