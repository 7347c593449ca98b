"""Plain torch definitions of every op: the semantics, and the CPU path."""
