"""What a block decided before it is committed."""

from __future__ import annotations

from dataclasses import dataclass

from worldattention.core.history import BlockRecord
from worldattention.core.hkv.retrieval import Retrieval
from worldattention.core.hkv.window import WindowPlan
from worldattention.core.memory import Recalled
from worldattention.core.window_attention import WindowAttention


@dataclass(slots=True)
class Draft:
    """Its window and the pages in it; thrown away when the block is cancelled or fails."""

    attention: WindowAttention
    plan: WindowPlan
    recalled: Recalled
    replay: BlockRecord | None
    missed: tuple[int, ...]
    renewed: bool = False  # pages were chosen in this block
    retrieval: Retrieval | None = None
