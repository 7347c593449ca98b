"""Autoencoders between frames and latents: the pocket world's own, and the streaming interface of all.

The pocket autoencoder halves three times in space and stacks four frames a latent. Its encoder sees one
stack at a time; its decoder is causal, with one latent of memory per block, so that a world has no end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from worldattention.core.heap import lasting_memory
from worldattention.core.models.frames import FramesToCPU

DecoderState = tuple[Tensor, ...]
"""What a streaming decoder remembers of the latents before; empty at the start of a world."""


class StreamingDecoder(Protocol):
    """Decodes one block of latents after the other; its state can be kept and put back (fork, rewind).

    `reach_latents`: so many latents decide the state behind them; decoding those again restores it (DESIGN 4).
    """

    reach_latents: int

    def decode_block(self, latents: Tensor) -> Tensor:
        """latents [F, C, h, w] -> frames [N, H, W, 3] uint8 on the CPU."""
        ...

    def reset(self) -> None:
        """Forget all: the next block is a world's first."""
        ...

    def state(self) -> DecoderState:
        """What is remembered now; not changed by later blocks."""
        ...

    def set_state(self, state: DecoderState) -> None:
        """Go on from a `state()` taken earlier."""
        ...


@dataclass(frozen=True, slots=True)
class AutoencoderConfig:
    """Sizes of the pocket autoencoder; widths are channels at 1/2, 1/4 and 1/8 of the picture."""

    latent_channels: int = 16
    encoder_widths: tuple[int, int, int] = (64, 96, 112)
    decoder_widths: tuple[int, int, int] = (96, 96, 96)


FRAMES = 4
"""Pixel frames in one latent."""


def _zero(convolution: nn.Conv2d) -> None:
    for parameter in convolution.parameters():
        nn.init.zeros_(parameter)


class _Residual(nn.Module):
    """x + conv(relu(conv(relu(x)))), the identity at the start."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        _zero(self.second)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.second(F.relu(self.first(F.relu(x))))
        return out


class _Memory(nn.Module):
    """A residual block that also reads its own input of one latent earlier, as `earlier(x)`.

    Feature maps are a block's largest tensors: each goes as soon as it can, and is changed in place.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(2 * channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        _zero(self.second)

    def forward(self, x: Tensor, earlier: Callable[[Tensor], Tensor]) -> Tensor:
        inner = F.relu_(self.first(torch.cat([x, earlier(x)], 1)))
        return F.relu_(x + self.second(inner))


class _Encoder(nn.Module):
    """Stacks of four frames [N, 12, H, W] in -1..1 -> [N, C, H / 8, W / 8]."""

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        half, quarter, eighth = config.encoder_widths
        self.net = nn.Sequential(
            nn.PixelUnshuffle(2),
            nn.Conv2d(4 * 3 * FRAMES, half, 3, padding=1),
            _Residual(half),
            nn.Conv2d(half, quarter, 3, 2, 1),
            _Residual(quarter),
            nn.Conv2d(quarter, eighth, 3, 2, 1),
            _Residual(eighth),
            _Residual(eighth),
            nn.ReLU(),
            nn.Conv2d(eighth, config.latent_channels, 1),
        )

    def forward(self, stacks: Tensor) -> Tensor:
        encoded: Tensor = self.net(stacks)
        return encoded


class _Decoder(nn.Module):
    """Latents -> stacks of four frames in 0..1, with one latent of memory in each `_Memory` block."""

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        half, quarter, eighth = config.decoder_widths
        self.enter = nn.Conv2d(config.latent_channels, eighth, 3, padding=1)
        self.to_quarter = nn.Conv2d(eighth, 4 * quarter, 1)
        self.to_half = nn.Conv2d(quarter, 4 * half, 1)
        self.blocks = nn.ModuleList(_Memory(width) for width in (eighth, quarter, quarter, half, half))
        self.leave = nn.Conv2d(half, 4 * 3 * FRAMES, 3, padding=1)

    def forward(self, latents: Tensor, frames: int, state: DecoderState = ()) -> tuple[Tensor, DecoderState]:
        """latents [B * frames, C, h, w], time innermost -> [B * frames, 12, H, W] and the next state."""
        later: list[Tensor] = []

        def earlier(x: Tensor) -> Tensor:
            """[B * frames, c, h, w] moved one latent on, the first taken from the state."""
            timed = x.unflatten(0, (-1, frames))
            past = state[len(later)] if state else torch.zeros_like(timed[:, 0])
            later.append(timed[:, -1].clone())  # a view would keep the whole
            if frames == 1:
                return past
            if len(timed) == 1:  # four axes: channels stay last, as convolutions want them on a CPU
                return torch.cat([past, x[:-1]])
            return torch.cat([past[:, None], timed[:, :-1]], 1).flatten(0, 1)

        # Softly limited: a stray latent must not become a blot.
        x = F.relu_(self.enter(torch.tanh(latents / 4) * 4))
        x = self.blocks[0](x, earlier)
        x = F.relu_(F.pixel_shuffle(self.to_quarter(x), 2))
        for block in self.blocks[1:3]:
            x = block(x, earlier)
        x = F.relu_(F.pixel_shuffle(self.to_half(x), 2))
        for block in self.blocks[3:5]:
            x = block(x, earlier)
        return F.pixel_shuffle(self.leave(x), 2) * 0.5 + 0.5, tuple(later)


class PocketAutoencoder(nn.Module):
    """Frames of 128 x 256 (any multiple of 8) to latents of unit scale and back: 8 x 8 in space, 4 in time.

    `norm` holds the fixed statistics that give latents mean 0 and variance 1 per channel. Only in training
    mode are they taken from the batch.
    """

    def __init__(self, config: AutoencoderConfig | None = None) -> None:
        super().__init__()
        self.config = config or AutoencoderConfig()
        self.encoder = _Encoder(self.config)
        self.norm = nn.BatchNorm2d(self.config.latent_channels, affine=False, momentum=0.02)
        self.decoder = _Decoder(self.config)

    def encode_stacks(self, stacks: Tensor) -> Tensor:
        """[N, 12, H, W] in 0..1 (`stack_frames`) -> normalised latents [N, C, H / 8, W / 8] fp32."""
        latents: Tensor = self.norm(self.encoder(stacks * 2 - 1).float())
        return latents

    def encode(self, frames: Tensor) -> Tensor:
        """[B, 4F, H, W, 3] in 0..1 -> [B, F, C, H / 8, W / 8] fp32."""
        stacks = stack_frames(frames).contiguous(memory_format=torch.channels_last)
        latents: Tensor = self.encode_stacks(stacks).unflatten(0, (frames.shape[0], -1))
        return latents

    def decode(self, latents: Tensor) -> Tensor:
        """[B, F, C, h, w] from the start of a world -> [B, 4F, 8h, 8w, 3], about 0..1, not clamped."""
        batch, frames = latents.shape[:2]
        flat = latents.flatten(0, 1).contiguous(memory_format=torch.channels_last)
        return unstack_frames(self.decoder(flat, frames)[0], batch)


def stack_frames(frames: Tensor) -> Tensor:
    """[B, 4F, H, W, 3] -> [B * F, 12, H, W], frame by frame, colours within."""
    batch, count, height, width, _ = frames.shape
    stacks = frames.reshape(batch * count // FRAMES, FRAMES, height, width, 3)
    return stacks.permute(0, 1, 4, 2, 3).reshape(-1, 3 * FRAMES, height, width)


def unstack_frames(stacks: Tensor, batch: int) -> Tensor:
    """The inverse: [B * F, 12, H, W] -> [B, 4F, H, W, 3]."""
    height, width = stacks.shape[-2:]
    frames = stacks.unflatten(1, (FRAMES, 3)).permute(0, 1, 3, 4, 2)
    return torch.reshape(frames, (batch, -1, height, width, 3))


def decoder_dtype(device: torch.device) -> torch.dtype:
    """bf16 where the device computes with it: GPUs, and CPUs with AMX or AVX-512 BF16. Else fp32."""
    if device.type != "cpu":
        return torch.bfloat16
    capable = torch.cpu.get_capabilities()
    has_bf16 = capable.get("amx_bf16", False) or capable.get("avx512_bf16", False)
    return torch.bfloat16 if has_bf16 else torch.float32


class PocketStreamingDecoder:
    """The pocket decoder, one block at a time. Equal to `PocketAutoencoder.decode` of the whole world."""

    reach_latents = 5  # one for each block with a memory of one latent

    def __init__(
        self, autoencoder: PocketAutoencoder, device: torch.device | str, dtype: torch.dtype | None = None
    ) -> None:
        """`dtype` None chooses by `decoder_dtype`. The decoder is copied; the autoencoder stays as it is."""
        self.device = torch.device(device)
        self.dtype = dtype or decoder_dtype(self.device)
        decoder = _Decoder(autoencoder.config)
        decoder.load_state_dict(autoencoder.decoder.state_dict())
        decoder.requires_grad_(False).eval()
        self._decoder = decoder.to(self.device, self.dtype)
        for parameter in self._decoder.parameters():
            if parameter.ndim == 4:
                parameter.data = parameter.contiguous(memory_format=torch.channels_last)
        self._state: DecoderState = ()
        self._to_cpu = FramesToCPU(self.device)

    @torch.inference_mode()
    def decode_block(self, latents: Tensor) -> Tensor:
        """[F, C, h, w] -> [4F, 8h, 8w, 3] uint8 on the CPU."""
        z = latents.to(self.device, self.dtype).contiguous(memory_format=torch.channels_last)
        stacks, state = self._decoder(z, z.shape[0], self._state)
        self._remember(state)
        frames = unstack_frames((stacks * 255).clamp_(0, 255).round_().to(torch.uint8), 1)[0]
        return self._to_cpu(frames.contiguous())

    def reset(self) -> None:
        """The next block is a world's first."""
        self._state = ()

    def state(self) -> DecoderState:
        """What is remembered of the last latent."""
        return tuple(part.clone() for part in self._state)

    def set_state(self, state: DecoderState) -> None:
        """Go on from a `state()` taken earlier."""
        self._state = ()
        self._remember(state)

    def _remember(self, state: DecoderState) -> None:
        """Copies it: views would keep whole activations through the next block, and break up its heap (CASES 7)."""
        if self.device.type != "cpu":
            self._state = tuple(part.to(self.device, self.dtype) for part in state)
            return
        if [part.shape for part in self._state] != [part.shape for part in state]:
            self._state = tuple(self._lasting(part.shape) for part in state)
        for mine, part in zip(self._state, state, strict=True):
            mine.copy_(part)

    def _lasting(self, shape: Sequence[int]) -> Tensor:
        """[B, C, h, w], channels last in memory as convolutions want them."""
        batch, channels, height, width = shape
        memory = lasting_memory((batch, height, width, channels), self.dtype)
        return memory.permute(0, 3, 1, 2)
