"""Pixel frames <-> latent frames <-> tokens <-> blocks, in one place (DESIGN 2)."""

from __future__ import annotations

from dataclasses import dataclass

FPS = 16
"""Frames a second of every video, whatever the speed of generation."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Sizes of one model. `first_block_frames` differs from later blocks only for Wan's VAE (9 of 12)."""

    height: int
    width: int
    latent_channels: int
    latent_height: int
    latent_width: int
    patch: int = 2
    block_latents: int = 3
    frames_per_latent: int = 4
    first_block_frames: int = 12

    @property
    def latent_shape(self) -> tuple[int, int, int, int]:
        """Latents [F, C, h, w] of a block."""
        return self.block_latents, self.latent_channels, self.latent_height, self.latent_width

    @property
    def grid(self) -> tuple[int, int]:
        """Token rows and columns of one latent frame."""
        return self.latent_height // self.patch, self.latent_width // self.patch

    @property
    def frame_tokens(self) -> int:
        """Tokens of one latent frame."""
        rows, columns = self.grid
        return rows * columns

    @property
    def block_tokens(self) -> int:
        """Tokens of one block."""
        return self.block_latents * self.frame_tokens

    @property
    def block_frames(self) -> int:
        """Pixel frames of every block but the first."""
        return self.block_latents * self.frames_per_latent

    def frames_before_block(self, block: int) -> int:
        """Pixel frames that precede block number `block` (0 is the first)."""
        return 0 if block == 0 else self.first_block_frames + (block - 1) * self.block_frames

    def frames_of_block(self, block: int) -> int:
        """Pixel frames of block number `block`."""
        return self.first_block_frames if block == 0 else self.block_frames

    def block_at_frame(self, frame: int) -> int:
        """The block that holds pixel frame `frame`."""
        if frame < self.first_block_frames:
            return 0
        return 1 + (frame - self.first_block_frames) // self.block_frames

    def blocks_for_frames(self, frames: int) -> int:
        """The fewest blocks that hold `frames` pixel frames."""
        return 0 if frames <= 0 else self.block_at_frame(frames - 1) + 1

    def block_seconds(self, block: int) -> float:
        """Start time of a block in seconds."""
        return self.frames_before_block(block) / FPS


def frames_for_seconds(seconds: float) -> int:
    """Pixel frames of a video of `seconds` seconds: round(16 x seconds)."""
    return round(FPS * seconds)


POCKET_GEOMETRY = Geometry(height=128, width=256, latent_channels=16, latent_height=16, latent_width=32)
