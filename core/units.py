"""Amounts of memory as people write them."""

import math
import re

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
    """A short figure for people: `2.3 GB`, `512 MB`; `parse_bytes` reads it."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if amount >= 1000**power:
            return f"{amount / 1000**power:.3g} {unit}"
    return f"{amount} B"
