"""Times as people type and read them, in every locale."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from worldattention.app.texts import translate
from worldattention.core.errors import UserError

_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:\.\d*)?)")
_SECONDS = re.compile(r"([+-]?\d*\.?\d+(?:e[+-]?\d+)?|\d+\.)\s*(?:s|sec|초)?", re.IGNORECASE)
_BLOCK = re.compile(r"(?:b|block|#|블록)\s*(\d+)", re.IGNORECASE)


def parse_time(text: str, block_seconds: Callable[[int], float] | None = None) -> float:
    """Seconds of `12.5`, `12,5 s`, `1:05.5`, `1:02:03,25`, or, with `block_seconds`, of a block: `b12`.

    Raises UserError when the text is no time.
    """
    words = text.strip().replace(",", ".")
    if match := _CLOCK.fullmatch(words):
        hours, minutes, seconds = match.groups()
        value = 3600.0 * int(hours or 0) + 60.0 * int(minutes) + float(seconds)
    elif match := _SECONDS.fullmatch(words):
        value = float(match.group(1))
    elif block_seconds is not None and (match := _BLOCK.fullmatch(words)) and len(match.group(1)) < 9:
        value = block_seconds(int(match.group(1)))
    else:
        value = math.nan
    if not math.isfinite(value):
        sentence = translate(
            "Timecode", "'{}' is no time: type seconds such as 12.5, or a clock such as 1:05.5."
        )
        raise UserError(sentence.format(text.strip()[:60]))
    return value


def timecode(seconds: float) -> str:
    """`1:05.25`; `1:02:03.00` from an hour on."""
    hundredths = round(seconds * 100)
    minutes, rest = divmod(hundredths, 6000)
    tail = f"{minutes % 60:02d}:{rest // 100:02d}.{rest % 100:02d}"
    return f"{minutes // 60}:{tail}" if minutes >= 60 else tail.removeprefix("0")
