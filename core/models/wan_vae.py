"""Wan's autoencoder as a streaming decoder: a block of latents at once, the causal cache kept between blocks.

A world's first latent gives one frame, every later one four. diffusers' `decode` takes latents one by one and clears
its cache at both ends; here a block goes through in one pass (the first block in two), which gives the same numbers.
On a GPU the step of a running world is compiled and captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from worldattention.core.cuda_graph import Recorder, graph_recorder
from worldattention.core.errors import UserError
from worldattention.core.models.checkpoint import load_into, read_weights
from worldattention.core.models.frames import FramesToCPU
from worldattention.core.models.vae import DecoderState
from worldattention.core.models.weight_files import check_class, read_json

_CACHED_FRAMES = 2
_NOTHING, _FIRST = 0, 1
"""Marks in a state: empty tensors of so many dimensions stand for no entry, and for diffusers' "Rep"."""


class WanAutoencoder(Protocol):
    """What is used of diffusers' `AutoencoderKLWan`."""

    config: Any
    decoder: Any
    post_quant_conv: Any
    _cached_conv_counts: dict[str, int]


def decode_step(vae: WanAutoencoder, z: Tensor, cache: list[Any], first: bool = False) -> Tensor:
    """Frames [N, H, W, 3] uint8 of latents [1, C, F, h, w]; replaces the entries of the causal cache."""
    pictures = vae.decoder(vae.post_quant_conv(z), feat_cache=cache, feat_idx=[0], first_chunk=first)[0]
    frames: Tensor = (pictures.float().clamp(-1, 1) * 127.5 + 127.5).round().to(torch.uint8)
    return frames.permute(1, 2, 3, 0).contiguous()


def is_steady(cache: list[Any]) -> bool:
    """Whether every entry has its full length, as from a world's second block on: steps are then alike.

    diffusers counts more entries than it fills; those stay None.
    """
    filled = _filled(cache)
    return bool(filled) and all(
        isinstance(kept, Tensor) and kept.shape[2] == _CACHED_FRAMES for kept in filled
    )


def _filled(cache: list[Any]) -> list[Tensor]:
    return [kept for kept in cache if kept is not None]


@contextmanager
def fastest_convolutions() -> Iterator[None]:
    """cuDNN times its convolutions on their first use, instead of guessing; for steps of one shape.

    It guesses an Ampere kernel for the 96 channels of the full resolution, where the decoder spends a third.
    """
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


class SteadyDecoder:
    """`decode_step` of a running world as one captured step over one set of weights, shared by all decoders.

    The cache is copied in and out, so that worlds can take turns.
    """

    def __init__(self, vae: WanAutoencoder, recorder: Recorder, compiled: bool) -> None:
        self._recorder = recorder
        step = partial(decode_step, vae)
        self._step: Callable[[Tensor, list[Any]], Tensor] = (
            torch.compile(step, dynamic=False) if compiled else step
        )
        self._captured: dict[Any, _CapturedStep] = {}

    def __call__(self, z: Tensor, cache: list[Any]) -> Tensor:
        """As `decode_step`; writes into the tensors of `cache`."""
        kind = (z.shape, *(kept.shape for kept in _filled(cache)))
        if kind not in self._captured:
            self._captured[kind] = _CapturedStep(self._step, self._recorder, z, cache)
        return self._captured[kind](z, cache)


class _CapturedStep:
    def __init__(
        self, step: Callable[[Tensor, list[Any]], Tensor], recorder: Recorder, z: Tensor, cache: list[Any]
    ) -> None:
        self._z = z.clone()
        self._cache = [None if kept is None else kept.clone() for kept in cache]

        def run() -> tuple[Tensor, list[Any]]:
            later = list(self._cache)
            with fastest_convolutions():
                return step(self._z, later), later

        (self._frames, self._later), self._replay = recorder(run)

    def __call__(self, z: Tensor, cache: list[Any]) -> Tensor:
        self._z.copy_(z)
        for mine, theirs in zip(_filled(self._cache), _filled(cache), strict=True):
            mine.copy_(theirs)
        self._replay()
        for theirs, mine in zip(_filled(cache), _filled(self._later), strict=True):
            theirs.copy_(mine)
        return self._frames.clone()


class WanStreamingDecoder:
    """One world's decoder over shared weights. Equal to `AutoencoderKLWan.decode` of all latents at once."""

    reach_latents = 40  # a latent still changes the output 38 latents later

    def __init__(
        self,
        vae: WanAutoencoder,
        device: torch.device,
        dtype: torch.dtype,
        steady: SteadyDecoder | None = None,
    ) -> None:
        self._vae, self._device, self._dtype, self._steady = vae, device, dtype, steady
        statistics = torch.tensor([vae.config.latents_mean, vae.config.latents_std], device=device)
        self._mean, self._deviation = statistics.float()[:, :, None, None, None]
        self._started = False
        self._cache: list[Any] = []
        self._to_cpu = FramesToCPU(device)
        self.reset()

    @property
    def autoencoder(self) -> WanAutoencoder:
        """The weights, to be compared with."""
        return self._vae

    @torch.inference_mode()
    def decode_block(self, latents: Tensor) -> Tensor:
        """Normalised latents [F, C, h, w] -> frames [N, 8h, 8w, 3] uint8 on the CPU; N = 4F, or 4F - 3 at first."""
        normalised = latents.to(self._device, torch.float32).transpose(0, 1)
        z = (normalised * self._deviation + self._mean)[None].to(self._dtype)
        parts = [z] if self._started else [z[:, :, :1], z[:, :, 1:]]
        frames = [self._decode(part) for part in parts if part.shape[2]]
        return self._to_cpu(frames[0] if len(frames) == 1 else torch.cat(frames))

    def _decode(self, z: Tensor) -> Tensor:
        if self._steady is not None and is_steady(self._cache):
            return self._steady(z, self._cache)
        first, self._started = not self._started, True
        return decode_step(self._vae, z, self._cache, first)

    def reset(self) -> None:
        """The next block is a world's first."""
        self._started = False
        self._cache = [None] * self._vae._cached_conv_counts["decoder"]

    def state(self) -> DecoderState:
        """The causal cache; empty at the start of a world."""
        if not self._started:
            return ()
        marks = {None: _NOTHING, "Rep": _FIRST}
        return tuple(
            kept.clone() if isinstance(kept, Tensor) else torch.empty((0,) * (1 + marks[kept]))
            for kept in self._cache
        )

    def set_state(self, state: DecoderState) -> None:
        """Go on from a `state()` taken earlier."""
        self.reset()
        if state:
            self._started = True
            self._cache = [self._restored(kept) for kept in state]

    def _restored(self, kept: Tensor) -> Any:
        if kept.numel():
            return kept.to(self._device, self._dtype).clone()
        return "Rep" if kept.ndim == 1 + _FIRST else None


def load_wan_autoencoder(folder: Path, device: torch.device, dtype: torch.dtype) -> WanAutoencoder:
    """The autoencoder of a diffusers folder. Raises UserError when it is broken or another one."""
    # Imported here, since only a model folder needs it.
    from diffusers import AutoencoderKLWan

    settings = read_json(folder / "config.json")
    check_class(folder, settings, "AutoencoderKLWan")
    try:
        with torch.device("meta"):
            vae = AutoencoderKLWan.from_config(settings)
    except (TypeError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:120]
        raise UserError(
            f"{folder / 'config.json'} describes no Wan autoencoder ({why}): use its own."
        ) from None
    if vae.config.is_residual or vae.config.patch_size is not None:
        raise UserError(f"The autoencoder in {folder} is Wan2.2's: this program runs that of Wan2.1.")
    load_into(vae, {name: tensor.to(dtype) for name, tensor in read_weights(folder).items()}, "autoencoder")
    return ready_to_decode(vae, device, dtype)


def ready_to_decode(vae: Any, device: torch.device, dtype: torch.dtype) -> WanAutoencoder:
    """An autoencoder in place, its weights as the device multiplies them fastest: on a GPU channels last."""
    nn.Module.to(vae, device, dtype).eval().requires_grad_(False)  # diffusers' own `to` warns of nothing
    if device.type == "cuda":
        channels_last(vae.decoder)
    ready: WanAutoencoder = vae
    return ready


def channels_last(module: nn.Module) -> None:
    """Lays out the weights of convolutions so that the channels of a point lie side by side."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    for parameter in module.parameters():
        if parameter.ndim in formats:
            parameter.data = parameter.data.contiguous(memory_format=formats[parameter.ndim])


def steady_decoder(vae: WanAutoencoder, device: torch.device) -> SteadyDecoder | None:
    """A compiled and captured step on a GPU; None elsewhere."""
    recorder = graph_recorder(device)
    return None if recorder is None else SteadyDecoder(vae, recorder, compiled=True)
