"""Memory that does not suffice: tried with less, then with a smaller window, then told (CASES 5 and 6)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TypeVar

import torch

from worldattention.core.errors import tells_no_memory

Result = TypeVar("Result")

log = logging.getLogger(__name__)

NO_ROOM = (
    "There is not enough memory for another branch beside this one: close other programs, or delete branches, then "
    "try again."
)

_ASKED = re.compile(r"tried to allocate ([\d.]+) ?(bytes|[KMGT]?i?B)\b", re.IGNORECASE)
_POWERS = {"bytes": 0, "b": 0, "kib": 1, "mib": 2, "gib": 3, "tib": 4}


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocator, of whichever device, had no more."""
    return isinstance(error, torch.OutOfMemoryError) or tells_no_memory(error)


def bytes_asked(text: str) -> int | None:
    """How much was asked for, in the allocator's own figures; None where it does not say."""
    match = _ASKED.search(text)
    if match is None:
        return None
    return round(float(match[1]) * 1024 ** _POWERS.get(match[2].lower(), 0))


def with_less(work: Callable[[], Result], *remedies: Callable[[], None]) -> Result:
    """What `work` returns; where memory does not suffice, once more after each remedy. `work` must be atomic."""
    for remedy in remedies:
        try:
            return work()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            log.warning("once more with less memory: %s", error)
        remedy()  # the exception is gone, and with it what it held
    return work()
