"""The events of a prompt: "he throws the ball, then juggles torches" asks for two memories, not for one."""

import re

MAX_EVENTS = 4
_JOINT = re.compile(
    r"(?:\s*[,.;]\s*(?:and\s+)?|\s+and\s+)(?:then|afterwards|after\s+that|next|finally)\b\s*,?\s*"
    r"|\s*;\s*"
    r"|\s*[,.]?\s*(?:그리고\s*나서|그런\s*다음에?|그\s*다음에?|그\s*후에?)\s*,?\s*",
    re.IGNORECASE,
)


def split_events(prompt: str) -> tuple[str, ...]:
    """The prompt's events in order, at most four (the last takes the rest); one that names no sequence is itself."""
    parts = [part.strip(" .,") for part in _JOINT.split(prompt, maxsplit=MAX_EVENTS - 1)]
    events = tuple(part for part in parts if part)
    return events if len(events) > 1 else (prompt,)
