"""WorldAttention Playground: a video world that remembers."""

__version__ = "0.1.0"
