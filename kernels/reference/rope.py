"""Rotary positions of Wan: interleaved pairs, one part of the head each for time, height and width.

For a head of D channels, height and width take `2 * (D // 6)` channels each and time the rest
(DESIGN section 3, "install"). Tables are built in fp64 and kept in fp32, so that they equal those of
diffusers' `WanRotaryPosEmbed` for positions 0, 1, 2, ... and are as exact for any other positions.
"""

import torch
from torch import Tensor


def _axis_angles(positions: Tensor, channels: int, theta: float) -> Tensor:
    """Angles [..., P, channels / 2] in fp64 of `positions` [..., P]."""
    exponents = torch.arange(0, channels, 2, dtype=torch.float64, device=positions.device) / channels
    return positions.double().unsqueeze(-1) * theta**-exponents


def rotary_table(
    frame_positions: Tensor, grid: tuple[int, int], head_dim: int, theta: float = 10000.0
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of latent frames at any positions.

    Args:
        frame_positions: [..., F] temporal position of each latent frame, integer or real.
        grid: (h, w), tokens of one latent frame, row by row.
        head_dim: D, even.

    Returns:
        cos, sin: [..., F * h * w, D / 2] fp32 on the device of `frame_positions`.
    """
    if head_dim % 2:
        raise ValueError(f"rotary positions need an even head size, got {head_dim}")
    height, width = grid
    space = 2 * (head_dim // 6)
    device = frame_positions.device
    shape = (*frame_positions.shape, height, width)
    time = _axis_angles(frame_positions, head_dim - 2 * space, theta)[..., None, None, :]
    rows = _axis_angles(torch.arange(height, device=device), space, theta)[:, None, :]
    columns = _axis_angles(torch.arange(width, device=device), space, theta)
    angles = torch.cat([part.expand(*shape, -1) for part in (time, rows, columns)], dim=-1)
    angles = angles.flatten(-4, -2)
    return angles.cos().float(), angles.sin().float()


def spatial_table(
    frames: int, grid: tuple[int, int], head_dim: int, device: torch.device | None = None
) -> tuple[Tensor, Tensor]:
    """The table without temporal rotation, [F * h * w, D / 2]: every frame stands at position 0.

    An un-rotated key rotated with it is the key whose temporal rotation alone was removed, which is
    what stage 2 of the `authors` preset scores.
    """
    return rotary_table(torch.zeros(frames, device=device), grid, head_dim)


def rotate(x: Tensor, cos: Tensor, sin: Tensor, out: Tensor | None = None) -> Tensor:
    """Rotate pairs of channels: (a, b) -> (a cos - b sin, a sin + b cos), computed in fp32.

    Args:
        x: [..., L, H, D] any float dtype.
        cos, sin: [..., L, D / 2] fp32.
        out: [..., L, H, D] written in place (in its dtype) and returned; not a view of `x`.

    Returns:
        [..., L, H, D] in `x.dtype`, or `out`.
    """
    cos, sin = cos.unsqueeze(-2), sin.unsqueeze(-2)
    pairs = x.float().unflatten(-1, (-1, 2))
    if x.device.type == "cpu" and not torch.compiler.is_compiling():
        # Five times faster there than arithmetic on every second number. Its last bit may depend on the
        # shape of the call, so that equal bits need equal shapes.
        turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.complex(cos, sin))
    else:
        even, odd = pairs.unbind(-1)
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    turned = turned.flatten(-2)
    return turned.to(x.dtype) if out is None else out.copy_(turned)
