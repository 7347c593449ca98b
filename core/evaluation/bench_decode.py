"""The streaming decoder of a running world against diffusers' own `AutoencoderKLWan.decode`, over the same weights."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch

from worldattention.core.evaluation.timing import surroundings
from worldattention.core.models.wan_vae import WanStreamingDecoder
from worldattention.core.models.world import WorldModel

RIVAL_LATENTS = 13
"""49 frames: diffusers clears its cache at both ends, so that a longer video costs it less a frame."""
WARM_UP_BLOCKS = 4
"""A first block, then those in which the step of a running world is compiled and captured."""


@torch.inference_mode()
def benchmark_decode(model: WorldModel, repeats: int) -> dict[str, Any]:
    """Milliseconds of a frame, of rivals that take turns; ours with the way to the CPU, diffusers' without.

    diffusers has the weights in the layout in which they are loaded. Returns `ms`, `diffusers_ms` (a frame), `over`,
    `block_ms` and `first_use_s` of ours.

    Raises:
        ValueError: the model's autoencoder is not Wan's.
    """
    decoder = model.new_decoder()
    if not isinstance(decoder, WanStreamingDecoder):
        raise ValueError("the model's autoencoder is not Wan's")
    rival: Any = deepcopy(decoder.autoencoder)
    for parameter in rival.decoder.parameters():
        parameter.data = parameter.data.contiguous()
    sizes = model.geometry
    latents = torch.randn(sizes.latent_shape, device=model.device)
    video = torch.randn(
        1, sizes.latent_channels, RIVAL_LATENTS, *sizes.latent_shape[-2:], device=model.device
    ).to(model.dtype)

    def diffusers() -> object:
        return rival.decode(video, return_dict=False)

    begun = time.perf_counter()
    for _ in range(WARM_UP_BLOCKS):
        frames = len(decoder.decode_block(latents))
    first_use = time.perf_counter() - begun
    diffusers()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        times[0].append(_timed(lambda: decoder.decode_block(latents), model.device) / frames)
        times[1].append(_timed(diffusers, model.device) / (1 + 4 * (RIVAL_LATENTS - 1)))
    ours, theirs = (statistics.median(column) for column in times)
    return {
        **surroundings(model.device),
        "dtype": str(model.dtype).removeprefix("torch."),
        "ms": ours,
        "diffusers_ms": theirs,
        "over": theirs / ours,
        "block_ms": ours * frames,
        "first_use_s": first_use,
        "repeats": repeats,
    }


def _timed(work: Callable[[], object], device: torch.device) -> float:
    """Milliseconds, with all that the device has to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    begun = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return 1000.0 * (time.perf_counter() - begun)
