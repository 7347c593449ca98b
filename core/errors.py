"""The one exception that people see, and the one that obeys them."""

from collections.abc import Callable


class UserError(Exception):
    """A failure told to the user: one plain sentence that says what to do.

    The command line prints it and exits with 1; the window shows it as a notification.
    """


class Cancelled(Exception):
    """Work was cancelled by the user between two steps; nothing was lost."""


def tells_no_memory(error: BaseException) -> bool:
    """Whether an allocation failed that is the machine's, in the words of whoever made it."""
    told = str(error).lower()
    no_memory = (
        "can't allocate memory",
        "cannot allocate memory",
    )  # torch's allocator, and the system's own words
    return isinstance(error, MemoryError) or any(words in told for words in no_memory)


def go_on(cancelled: Callable[[], bool] | None) -> None:
    """Asks between two steps. Raises Cancelled when the work shall stop."""
    if cancelled is not None and cancelled():
        raise Cancelled
