"""What the timeline says of the blocks to come, so that pages are there before they are asked for (DESIGN 4)."""

from __future__ import annotations

from worldattention.core.geometry import Geometry
from worldattention.core.timeline import Timeline

LOOK_AHEAD_BLOCKS = (
    8  # six seconds: a page of a large model takes a third of one from a disk, a scene has ten
)


def upcoming_prompt(timeline: Timeline, geometry: Geometry, block: int, spoken: str) -> str | None:
    """The next prompt after `spoken` in blocks `block` .. `block` + 7; None when it stays as it is."""
    for ahead in range(block, block + LOOK_AHEAD_BLOCKS):
        prompt = timeline.prompt_at(geometry.block_seconds(ahead))
        if prompt is not None and prompt != spoken:
            return prompt
    return None
