"""An adversary for the autoencoder's decoder: what moves is drawn as crisply as it was rendered.

An error that is averaged over pixels makes edges soft where their place is not certain. The adversary sees the four
pictures of a latent, and counts most where they move. Its pull is a fixed share of the reconstruction's, measured at
the pictures, so that neither has to be tuned to the other.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from worldattention.core.pocket.training.distributed import Group

RATE = 4e-4
PULL = 0.3
SMOOTHING, SMOOTHNESS = 0.02, 125.0
"""Standard deviation of the noise that must not change its mind, and how much that counts (APT's approximate R1)."""
STILL = 0.05
"""What counts where nothing moves, over 1 where it does."""
_WIDTHS = (48, 96, 128)


class PictureCritic(nn.Module):
    """Stacks of four pictures [N, 12, H, W] in 0..1 -> logits [N, H / 8, W / 8]; 0.4 M parameters."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 12
        for width in _WIDTHS:
            layers += [nn.Conv2d(before, width, 4, 2, 1), nn.LeakyReLU(0.2)]
            before = width
        self.net = nn.Sequential(*layers, nn.Conv2d(before, before, 3, padding=1), nn.LeakyReLU(0.2))
        self.leave = nn.Conv2d(before, 1, 1)

    def forward(self, stacks: Tensor) -> Tensor:
        logits: Tensor = self.leave(self.net(4 * stacks - 2))[:, 0].float()
        return logits


class Sharpener:
    """Adds the adversary's pull to the gradient of a reconstruction, and teaches the adversary on the way."""

    def __init__(self, device: torch.device, group: Group, pull: float = PULL) -> None:
        self.critic = PictureCritic().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        group.share(parameter.data for parameter in self.critic.parameters())
        self.pull, self._group = pull, group
        self._adam = torch.optim.AdamW(self.critic.parameters(), RATE, (0.5, 0.95), weight_decay=0.01)
        self.told_apart = torch.tensor(0.5, device=device)

    def gradient(self, loss: Tensor, out: Tensor, target: Tensor, weights: Tensor, share: float) -> Tensor:
        """Of `loss` and the adversary's pull, times `share`, at `out` [N, 12, H, W]; weights as of `motion_weights`."""
        (plain,) = torch.autograd.grad(loss, out)
        counts = F.adaptive_avg_pool2d(
            weights.mean(1, keepdim=True), (out.shape[-2] // 8, out.shape[-1] // 8)
        )
        counts = STILL + (counts[:, 0] - 1).clamp(min=0)
        made = out.detach()
        self._teach(made, target, counts)
        if share * self.pull == 0:
            return plain
        made = made.requires_grad_(True)
        (pull,) = torch.autograd.grad(-(self._judge(made) * counts).mean(), made)
        return plain + share * self.pull * plain.norm() / pull.norm().clamp(min=1e-12) * pull

    def _judge(self, stacks: Tensor) -> Tensor:
        with torch.autocast(stacks.device.type, torch.bfloat16, enabled=stacks.is_cuda):
            logits: Tensor = self.critic(stacks.contiguous(memory_format=torch.channels_last))
        return logits

    def _teach(self, made: Tensor, true: Tensor, counts: Tensor) -> None:
        """One step of the critic: hinges on both kinds, and smoothness."""
        on_true, on_made = self._judge(true), self._judge(made)
        smooth = (self._judge(true + SMOOTHING * torch.randn_like(true)) - on_true).square()
        smooth = smooth + (self._judge(made + SMOOTHING * torch.randn_like(made)) - on_made).square()
        hinges = F.relu(1 - on_true) + F.relu(1 + on_made)
        loss = ((hinges + SMOOTHNESS * smooth) * counts).sum() / counts.sum()
        self._adam.zero_grad(set_to_none=True)
        loss.backward()
        self._group.average_gradients(self.critic.parameters())
        self._adam.step()
        known = ((on_true > on_made).float() * counts).sum() / counts.sum()
        self.told_apart = 0.98 * self.told_apart + 0.02 * known.detach()
