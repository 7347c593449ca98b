"""What a failure means for people: what happened, and what to do. No Qt in here."""

from __future__ import annotations

from worldattention.core.errors import UserError


def explain(error: Exception) -> str:
    """One sentence for a failure of any kind."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return (
            "The machine's memory ran out: close other programs or choose sparser attention, "
            "then restart the world."
        )
    cause = f"{type(error).__name__}: {error}".splitlines()[0][:160]
    return f"The world was stopped by a fault of the program ({cause}): restart it to go on."
