"""The learnt part of hybrid sparse attention, one set a layer."""

import torch
from torch import Tensor, nn

from worldattention.kernels.reference.linear import ROW_TOKENS, coarse_rank


def block_average(segment: int) -> Tensor:
    """E that averages runs of 64 tokens, [ceil(segment / 64), segment]; the last run may be short."""
    run = torch.arange(segment) // ROW_TOKENS
    rows = torch.nn.functional.one_hot(run, coarse_rank(segment)).T.float()
    return (rows / rows.sum(dim=1, keepdim=True)).contiguous()


class HSAParameters(nn.Module):
    """Projections of the linear branch and the gate (DESIGN section 3), all shared by heads.

    At the start the projections average blocks and the gate is sigmoid(0) = 1/2 everywhere.

    Args:
        segment: tokens of one latent frame.
        head_dim: D.
        joint: whether the model's other weights were trained together with these, and so expect the linear branch.
    """

    def __init__(self, segment: int, head_dim: int, joint: bool = False) -> None:
        super().__init__()
        self.joint = joint
        self.k_proj = nn.Parameter(block_average(segment))
        """E_K, [rank, segment]."""
        self.v_proj = nn.Parameter(block_average(segment))
        """E_V, [rank, segment]."""
        self.gate = nn.Linear(head_dim, head_dim)
        nn.init.zeros_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)

    @property
    def segment(self) -> int:
        """Tokens of one latent frame."""
        return self.k_proj.shape[1]

    @property
    def rank(self) -> int:
        """Coarse rows of one latent frame."""
        return self.k_proj.shape[0]
