"""What a failure means for people: what happened, and what to do. No widgets in here."""

from __future__ import annotations

import errno

from worldattention.app.texts import QT_TRANSLATE_NOOP, translate
from worldattention.core.errors import UserError, tells_no_memory
from worldattention.core.out_of_memory import bytes_asked
from worldattention.core.units import format_bytes

_LOST = ("cuda error", "device lost", "no longer available", "has fallen off the bus", "launch failure")

DEVICE_FULL = QT_TRANSLATE_NOOP(
    "Faults",
    "The device's memory (L1) ran out{}: lower its quota in the settings or choose sparser attention, then "
    "restart the world.",
)
MEMORY_FULL = QT_TRANSLATE_NOOP(
    "Faults",
    "The machine's memory ran out{}: close other programs, lower the main memory's quota (L2) in the settings, "
    "or choose sparser attention, then restart the world.",
)
WANTED = QT_TRANSLATE_NOOP("Faults", " when {} more were needed")
DISK_FULL = QT_TRANSLATE_NOOP(
    "Faults",
    "The disk is full: free some space, or choose another cache folder in the settings, then restart the world.",
)
LOST = QT_TRANSLATE_NOOP(
    "Faults",
    "The device stopped answering ({}): restart the world; if that fails, restart the program, or choose cpu as "
    "the device in the settings.",
)
FAULT = QT_TRANSLATE_NOOP(
    "Faults", "The world was stopped by a fault of the program ({}): restart it to go on."
)


def explain(error: Exception) -> str:
    """One sentence for a failure of any kind."""
    if isinstance(error, UserError):
        return str(error)
    text = str(error)
    kind = type(error).__name__
    cause = f"{kind}: {text}".splitlines()[0][:160]
    if kind == "OutOfMemoryError":
        return _words(DEVICE_FULL).format(_wanted(text))
    if tells_no_memory(error):
        return _words(MEMORY_FULL).format(_wanted(text))
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return _words(DISK_FULL)
    if kind == "AcceleratorError" or (isinstance(error, RuntimeError) and _names_lost_device(text)):
        return _words(LOST).format(cause)
    return _words(FAULT).format(cause)


def _wanted(text: str) -> str:
    """How much was asked for, in the allocator's own figures."""
    asked = bytes_asked(text)
    return "" if asked is None else _words(WANTED).format(format_bytes(asked))


def _names_lost_device(text: str) -> bool:
    return any(sign in text.lower() for sign in _LOST)


def _words(text: str) -> str:
    return translate("Faults", text)
