"""Plans of training sequences over clips that have no pictures: planning needs no more."""

import torch

from worldattention.core.pocket.training.data import CLIPS, ClipTable, LatentPool
from worldattention.core.pocket.training.windows import MEMORY_LAYOUT, Layout, Planner

CPU = torch.device("cpu")


class _Pool(LatentPool):
    def __init__(self) -> None:
        self.clips = ClipTable.of(CLIPS, CPU)


def new_planner(layout: Layout = MEMORY_LAYOUT) -> Planner:
    """A planner that draws anew in every run."""
    return Planner(_Pool(), layout, torch.Generator().manual_seed(int(torch.randint(1 << 30, ()))))
