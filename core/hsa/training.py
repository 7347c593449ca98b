"""Hybrid sparse attention as the trainer calls it."""

from torch import Tensor

from worldattention.core.config import AttentionConfig
from worldattention.core.hsa.parameters import HSAParameters
from worldattention.kernels.reference.training import Projections, RoutingRule
from worldattention.kernels.reference.training import hsa_training_attention as _attention


def hsa_training_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor,
    parameters: HSAParameters,
    config: AttentionConfig,
    block_frames: int = 3,
) -> Tensor:
    """Differentiable attention in which every latent frame asks its visible frames only.

    Equals `attend` in mode `hsa` where `visible` is a window. Compiles without graph breaks; on CUDA
    it skips unselected blocks only when compiled (FlexAttention).

    Args:
        q, k, v: [B, F * T, H, D], q and k rotated, T = `parameters.segment` tokens a latent frame.
        visible: [B, F, F] bool, rows are query frames; every frame must see at least one.
        block_frames: consecutive frames that are generated together; divides F.

    Returns:
        [B, F * T, H, D].

    Raises:
        ValueError: shapes that do not fit each other.
    """
    projections = Projections(
        parameters.k_proj, parameters.v_proj, parameters.gate.weight, parameters.gate.bias
    )
    rule = RoutingRule(config.block, config.tau_min, config.tau_max, config.density, block_frames)
    return _attention(q, k, v, visible, projections, rule)
