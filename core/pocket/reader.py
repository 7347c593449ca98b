"""Reads a scene's attributes off pictures: a small network, trained on fresh renders with their truth."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from worldattention.core.pocket.truth import ATTRIBUTES

_WIDTHS = (32, 64, 96, 128, 160)
_GRID = (4, 8)


class Reader(nn.Module):
    """Logits of every attribute from one picture; stacks of pictures of one scene are averaged.

    1.1 M parameters. The last feature map (4 x 8 cells) is kept whole, since an attribute has its places.
    """

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for width in _WIDTHS:
            layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.GroupNorm(8, width), nn.SiLU()]
            layers += [nn.Conv2d(width, width, 3, padding=1, groups=8), nn.GroupNorm(8, width), nn.SiLU()]
            before = width
        self.features = nn.Sequential(*layers)
        self.squeeze = nn.Conv2d(before, 32, 1)
        self.hidden = nn.Linear(32 * _GRID[0] * _GRID[1], 512)
        self.heads = nn.Linear(512, sum(a.classes for a in ATTRIBUTES))

    def forward(self, frames: Tensor) -> Tensor:
        """frames [B, 3, 128, 256] or [B, T, 3, 128, 256] in 0..1 -> logits [B, sum of classes]."""
        stacked = frames.ndim == 5
        pictures = frames.flatten(0, 1) if stacked else frames
        x = self.squeeze(self.features(pictures * 2 - 1)).flatten(1)
        logits: Tensor = self.heads(F.silu(self.hidden(x)))
        return logits.unflatten(0, frames.shape[:2]).mean(1) if stacked else logits

    @torch.no_grad()
    def read(self, frames: Tensor) -> Tensor:
        """The most likely class of every attribute, [B, len(ATTRIBUTES)]; frames as in `forward`.

        Attributes that the scene does not show get a class too; the truth has -1 there.
        """
        return torch.stack([part.argmax(1) for part in split_logits(self(frames))], dim=1)


def split_logits(logits: Tensor) -> tuple[Tensor, ...]:
    """[B, sum of classes] -> one [B, classes] per attribute."""
    return logits.split([a.classes for a in ATTRIBUTES], dim=1)


def reader_loss(logits: Tensor, truth: Tensor) -> Tensor:
    """Mean cross-entropy over the attributes that are shown: truth [B, len(ATTRIBUTES)], -1 ignored."""
    losses = [
        F.cross_entropy(part, truth[:, k], ignore_index=-1, reduction="sum")
        for k, part in enumerate(split_logits(logits))
    ]
    return torch.stack(losses).sum() / (truth >= 0).sum().clamp(min=1)


def save_reader(reader: Reader, path: Path) -> None:
    """Write the weights as safetensors (half precision matrices, fp32 norms and biases)."""
    state = {k: v.detach().cpu() for k, v in reader.state_dict().items()}
    save_file({k: (v.half() if v.ndim > 1 else v).contiguous() for k, v in state.items()}, path)


def load_reader(path: Path) -> Reader:
    """A reader ready to read, on the CPU, in fp32."""
    reader = Reader()
    reader.load_state_dict({k: v.float() for k, v in load_file(path).items()})
    return reader.eval().requires_grad_(False)
