"""The one exception that people see."""


class UserError(Exception):
    """A failure told to the user: one plain sentence that says what to do.

    The command line prints it and exits with 1; the window shows it as a notification.
    """


class Cancelled(Exception):
    """Work was cancelled by the user between two steps; nothing was lost."""
