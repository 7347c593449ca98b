"""The one exception that people see, and the one that obeys them."""

from collections.abc import Callable


class UserError(Exception):
    """A failure told to the user: one plain sentence that says what to do.

    The command line prints it and exits with 1; the window shows it as a notification.
    """


class Cancelled(Exception):
    """Work was cancelled by the user between two steps; nothing was lost."""


def go_on(cancelled: Callable[[], bool] | None) -> None:
    """Asks between two steps. Raises Cancelled when the work shall stop."""
    if cancelled is not None and cancelled():
        raise Cancelled
