"""What the tests of the whole window ask it."""


def blocks(qtbot, window, count, timeout=60000):
    """Waits until the world has this many blocks."""
    qtbot.waitUntil(lambda: window.world.blocks >= count, timeout=timeout)


def read(qtbot, window):
    """Waits until the file that was chosen is open, or refused."""
    qtbot.waitUntil(lambda: not window.opening.busy, timeout=20000)


def texts(window):
    """What was notified, oldest first."""
    return [notice.text for notice in window.notifications.history]
