"""Quotas in bytes: what a person types, and whether the machine has it."""

import math
import re
import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import psutil
import torch

from worldattention.core.config import CacheConfig
from worldattention.core.errors import UserError

_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGTP", start=1)}
_UNITS |= {f"{letter}IB": 1024**power for power, letter in enumerate("KMGTP", start=1)}
_UNITS |= {letter: 1000**power for power, letter in enumerate("KMGTP", start=1)}


def parse_bytes(text: str) -> int:
    """Bytes of `4GB` (powers of 1000), `512 MiB` (powers of 1024), `1.5g` or a plain number.

    Raises:
        UserError: none of these, negative, or beyond a pebibyte-scale machine (2^60).
    """
    match = re.fullmatch(r"\s*(\d+(?:[.,]\d+)?)\s*([A-Za-z]*)\s*", text, re.ASCII)
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise UserError(f"'{text[:40]}' is no amount of memory: write it like 4GB, 512MiB or 0.")
    amount = float(match[1].replace(",", ".")) * unit
    if not math.isfinite(amount) or amount > 2**60:
        raise UserError(f"'{text[:40]}' is more memory than any machine has: write it like 4GB.")
    return int(amount)


def format_bytes(amount: int) -> str:
    """A short figure for people: `2.30 GB`, `512 MB`."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if amount >= 1000**power:
            return f"{amount / 1000**power:.3g} {unit}"
    return f"{amount} bytes"


def fit_quotas(
    config: CacheConfig,
    device: torch.device | str,
    folder: Path,
    asked: Collection[str] = (),
) -> tuple[CacheConfig, tuple[str, ...]]:
    """Compare the quotas with the machine: `config` as it can run, and warnings in plain words.

    `folder`: the cache folder (or where it will be made). `asked`: the tiers (`device`, `dram`, `disk`)
    whose quota a person gave. Defaults shrink to half of what is there; of what was asked for, only the
    DRAM quota may pass the machine's figure, with a warning (some virtual machines report too little
    memory at start).

    Raises:
        UserError: a quota is negative, or a person asked for more than the machine has.
    """
    warnings: list[str] = []
    memory = psutil.virtual_memory().total
    on_gpu = torch.device(device).type == "cuda"
    there = {
        "device": torch.cuda.mem_get_info(device)[1] if on_gpu else memory,
        "dram": memory,
        "disk": _free_bytes(folder),
    }
    for name, available in there.items():
        quota = getattr(config, f"{name}_quota_bytes")
        if quota < 0:
            raise UserError(f"The {name} quota must not be negative: give an amount like 4GB, or 0.")
        if quota <= available:
            continue
        if name not in asked:
            config = replace(config, **{f"{name}_quota_bytes": available // 2})
            continue
        sentence = (
            f"The {name} quota asks for {format_bytes(quota)}, but this machine has "
            f"{format_bytes(available)}: lower --{name}-quota."
        )
        if name != "dram":
            raise UserError(sentence)
        warnings.append(sentence)
    return config, tuple(warnings)


def _free_bytes(folder: Path) -> int:
    """Bytes free where `folder` is or will be."""
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(place).free
