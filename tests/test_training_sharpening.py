"""The adversary of the autoencoder's decoder: what it learns, and what its pull does."""

from __future__ import annotations

import pytest
import torch

from worldattention.core.pocket.training.autoencoder import Quality, reconstruction_loss
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.sharpening import PictureCritic, Sharpener
from worldattention.core.pocket.training.stages import crisper

CPU = torch.device("cpu")


def stripes(batch: int) -> torch.Tensor:
    """Stacks [N, 12, 16, 16] of crisp stripes."""
    phase = torch.randint(0, 4, (batch, 1, 1, 1))
    across = (torch.arange(16) + phase) // 2 % 2
    return across.expand(batch, 12, 16, 16).float()


def test_the_critic_looks_at_patches() -> None:
    assert PictureCritic()(torch.rand(2, 12, 32, 64)).shape == (2, 4, 8)


def test_the_pull_is_a_share_of_the_reconstruction_and_goes_away_from_soft_pictures() -> None:
    torch.manual_seed(0)
    sharpener = Sharpener(CPU, Group(0, 1, CPU), pull=0.5)
    for settings in sharpener._adam.param_groups:
        settings["lr"] = 2e-3
    for _ in range(60):
        true = stripes(8)
        made = (0.5 * true + 0.25).requires_grad_(True)
        weights = torch.full_like(true, 6.0)
        loss = reconstruction_loss(made, true, weights)
        plain = sharpener.gradient(loss, made, true, weights, 0.0)
    assert float(sharpener.told_apart) > 0.6
    (expected,) = torch.autograd.grad(reconstruction_loss(made, true, weights), made)
    torch.testing.assert_close(plain, expected, msg="without a share, only the reconstruction's")
    both = sharpener.gradient(reconstruction_loss(made, true, weights), made, true, weights, 1.0)
    pull = both - expected
    assert float(pull.norm() / expected.norm()) == pytest.approx(0.5, rel=1e-3)
    assert float((pull * (true - made)).sum().detach()) < 0, "downhill is towards what is crisp"


def test_a_decoder_is_kept_if_it_is_crisper_and_hardly_less_exact() -> None:
    were = Quality(34.7, 27.0, 1.0, 0.88, 0.72)
    assert crisper(were, Quality(34.3, 26.6, 1.0, 0.95, 0.85))
    assert crisper(were, Quality(35.0, 27.4, 1.0, 0.89, 0.74))
    assert not crisper(were, Quality(35.0, 27.4, 1.0, 0.87, 0.74))
    assert not crisper(were, Quality(35.0, 27.4, 1.0, 0.95, 1.6))
    assert not crisper(were, Quality(33.8, 27.0, 1.0, 0.95, 0.85))
    assert not crisper(were, Quality(34.7, 26.2, 1.0, 0.95, 0.85))
