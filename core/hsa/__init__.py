"""Hybrid sparse attention over a window of rotated keys and values."""

from worldattention.core.hsa.attention import HeadStatistics, attend
from worldattention.core.hsa.parameters import HSAParameters
from worldattention.core.hsa.training import hsa_training_attention
from worldattention.core.hsa.window import (
    AttentionWindow,
    build_window,
    refresh_context,
    side_by_side,
    update_tail,
)

__all__ = [
    "AttentionWindow",
    "HSAParameters",
    "HeadStatistics",
    "attend",
    "build_window",
    "hsa_training_attention",
    "refresh_context",
    "side_by_side",
    "update_tail",
]
