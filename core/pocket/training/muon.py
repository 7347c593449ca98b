"""Muon for the matrices of transformer blocks (Jordan et al. 2024): momentum, then the nearest orthogonal matrix."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

# Quintic Newton-Schulz coefficients of the reference implementation.
_A, _B, _C = 3.4445, -4.7750, 2.0315


def orthogonalise(matrices: Tensor, steps: int = 5) -> Tensor:
    """Matrices [N, rows, columns] with their singular values pushed to about 1, in bf16."""
    x = matrices.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = _A * x + (_B * gram + _C * gram @ gram) @ x
    return x.mT if tall else x


class Muon:
    """Updates of one shape are stacked, so that a step is a few batched products.

    The update is scaled by 0.2 sqrt(max(rows, columns)), which gives it the size of an AdamW update.
    """

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], momentum: float = 0.95, weight_decay: float = 0.02
    ) -> None:
        self._groups: dict[torch.Size, list[torch.nn.Parameter]] = {}
        for parameter in parameters:
            if parameter.ndim != 2:
                raise ValueError(f"Muon is for matrices, not for a tensor of shape {tuple(parameter.shape)}")
            self._groups.setdefault(parameter.shape, []).append(parameter)
        self._momenta = {
            shape: torch.zeros(len(group), *shape, device=group[0].device)
            for shape, group in self._groups.items()
        }
        self._momentum, self._weight_decay = momentum, weight_decay

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """One step from the parameters' gradients; a parameter without one is taken to have zeros."""
        for shape, group in self._groups.items():
            gradients = torch.stack([p.grad if p.grad is not None else torch.zeros_like(p) for p in group])
            momenta = self._momenta[shape].mul_(self._momentum).add_(gradients)
            update = orthogonalise(gradients + self._momentum * momenta).float()
            update *= learning_rate * 0.2 * max(shape) ** 0.5
            weights: list[Tensor] = list(group)
            torch._foreach_mul_(weights, 1 - learning_rate * self._weight_decay)
            torch._foreach_add_(weights, list(update.unbind()), alpha=-1)
