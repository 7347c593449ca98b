"""The pocket autoencoder: shapes, causality, and streaming against the parallel form."""

import pytest
import torch
from torch import Tensor

from worldattention.core import heap
from worldattention.core.models.vae import (
    AutoencoderConfig,
    PocketAutoencoder,
    PocketStreamingDecoder,
    decoder_dtype,
    stack_frames,
    unstack_frames,
)


@pytest.fixture
def autoencoder() -> PocketAutoencoder:
    """Random weights, also where training starts from zero, and statistics that are no identity."""
    torch.manual_seed(int(torch.randint(1 << 30, ())))
    model = PocketAutoencoder(AutoencoderConfig(5, (8, 8, 12), (8, 12, 16))).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.15)
        model.norm.running_mean.normal_()
        model.norm.running_var.uniform_(0.5, 2)
    return model


def bytes_of(frames: Tensor) -> Tensor:
    return (frames.detach().double().clamp(0, 1) * 255).round().to(torch.int64)


def test_sizes_and_statistics(autoencoder: PocketAutoencoder) -> None:
    frames = torch.rand(2, 12, 24, 40, 3)
    latents = autoencoder.encode(frames)
    assert latents.shape == (2, 3, 5, 3, 5)
    assert latents.dtype == torch.float32
    assert autoencoder.decode(latents).shape == frames.shape
    raw = autoencoder.encoder(stack_frames(frames) * 2 - 1).unflatten(0, (2, 3))
    mean, variance = autoencoder.norm.running_mean, autoencoder.norm.running_var
    expected = (raw - mean[:, None, None]) / (variance[:, None, None] + autoencoder.norm.eps).sqrt()
    torch.testing.assert_close(latents, expected)


def test_default_sizes_are_those_of_the_pocket_world() -> None:
    model = PocketAutoencoder().eval()
    assert model.encode(torch.rand(1, 4, 128, 256, 3)).shape == (1, 1, 16, 16, 32)


def test_stacking_is_undone_by_unstacking() -> None:
    frames = torch.rand(3, 8, 6, 10, 3)
    stacks = stack_frames(frames)
    assert stacks.shape == (6, 12, 6, 10)
    torch.testing.assert_close(stacks[1, 3 * 2 + 1], frames[0, 6, :, :, 1], rtol=0, atol=0)
    torch.testing.assert_close(unstack_frames(stacks, 3), frames, rtol=0, atol=0)


def test_decoder_is_causal_and_reads_its_past(autoencoder: PocketAutoencoder) -> None:
    latents = torch.randn(1, 5, 5, 3, 4)
    changed = latents.clone()
    changed[:, 2] += torch.randn_like(changed[:, 2])
    difference = (autoencoder.decode(latents) - autoencoder.decode(changed)).abs().amax(dim=(0, 2, 3, 4))
    by_latent = difference.unflatten(0, (5, 4)).amax(1)
    assert by_latent[:2].max() < 1e-6
    assert by_latent[2:4].min() > 1e-4


@pytest.mark.parametrize("parts", [(3, 3, 3), (1, 4, 2, 2), (9,)])
def test_streaming_equals_the_parallel_form(autoencoder: PocketAutoencoder, parts: tuple[int, ...]) -> None:
    latents = torch.randn(9, 5, 3, 4)
    decoder = PocketStreamingDecoder(autoencoder, "cpu", torch.float32)
    frames = torch.cat([decoder.decode_block(part) for part in latents.split(parts)])
    assert frames.dtype == torch.uint8
    whole = bytes_of(autoencoder.decode(latents[None])[0])
    assert (frames.to(torch.int64) - whole).abs().max() <= 1  # rounding at a border between two bytes
    assert (frames.to(torch.int64) != whole).float().mean() < 0.001


def test_state_can_be_kept_and_put_back(autoencoder: PocketAutoencoder) -> None:
    first, second, other = torch.randn(3, 3, 5, 3, 4)
    decoder = PocketStreamingDecoder(autoencoder, "cpu", torch.float32)
    fresh = decoder.decode_block(second)
    decoder.reset()
    decoder.decode_block(first)
    kept = decoder.state()
    frames = decoder.decode_block(second)
    decoder.decode_block(other)
    decoder.set_state(kept)
    assert torch.equal(decoder.decode_block(second), frames)
    assert not torch.equal(frames, fresh)
    decoder.reset()
    assert torch.equal(decoder.decode_block(second), fresh)


def test_case_07_what_is_remembered_keeps_no_activation_and_stays_where_it_is(
    autoencoder: PocketAutoencoder,
) -> None:
    decoder, places = PocketStreamingDecoder(autoencoder, "cpu", torch.float32), set()
    for _ in range(4):
        decoder.decode_block(torch.randn(3, 5, 2, 2))
        places.add(tuple(part.data_ptr() for part in decoder._state))
        assert all(part.untyped_storage().nbytes() == part.nbytes for part in decoder._state)
        assert all(part.is_contiguous(memory_format=torch.channels_last) for part in decoder._state)
    assert len(places) == 1


def test_case_07_frames_lie_outside_the_heap(
    autoencoder: PocketAutoencoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped: list[int] = []

    class Mapping(heap.mmap.mmap):
        def __new__(cls, *arguments, **options):
            self = super().__new__(cls, *arguments, **options)
            mapped.append(len(self))
            return self

    monkeypatch.setattr(heap.mmap, "mmap", Mapping)
    frames = PocketStreamingDecoder(autoencoder, "cpu", torch.float32).decode_block(torch.randn(3, 5, 2, 2))
    assert mapped[-1] == frames.nbytes


def test_a_state_is_taken_over_as_a_copy(autoencoder: PocketAutoencoder) -> None:
    first, second = (PocketStreamingDecoder(autoencoder, "cpu", torch.float32) for _ in range(2))
    first.decode_block(torch.randn(3, 5, 2, 2))
    state = first.state()
    before = [part.clone() for part in state]
    second.set_state(state)
    second.decode_block(torch.randn(3, 5, 2, 2))
    assert all(torch.equal(part, old) for part, old in zip(state, before, strict=True))


def test_streaming_leaves_the_autoencoder_alone(autoencoder: PocketAutoencoder) -> None:
    PocketStreamingDecoder(autoencoder, "cpu", torch.bfloat16).decode_block(torch.randn(1, 5, 2, 2))
    assert all(parameter.dtype == torch.float32 for parameter in autoencoder.parameters())
    assert all(parameter.requires_grad for parameter in autoencoder.parameters())


def test_decoder_dtype_follows_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    for flags, expected in (
        ({"amx_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"avx2": True, "amx_bf16": False}, torch.float32),
        ({}, torch.float32),
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda flags=flags: flags)
        assert decoder_dtype(cpu) == expected
    assert decoder_dtype(torch.device("cuda")) == torch.bfloat16


def test_streaming_keeps_channels_last(autoencoder: PocketAutoencoder) -> None:
    """Else every convolution of a CPU first puts its input into another order."""
    stream = PocketStreamingDecoder(autoencoder, "cpu")
    orders: list[bool] = []
    for module in stream._decoder.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_pre_hook(
                lambda _, inputs: orders.append(inputs[0].is_contiguous(memory_format=torch.channels_last))
            )
    for _ in range(2):
        stream.decode_block(torch.randn(3, 5, 4, 6))
    assert len(orders) == 2 * 14
    assert all(orders)
