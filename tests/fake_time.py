"""A clock that only tests move."""


class Time:
    """Stands still until somebody sleeps or work is done."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
