"""How much a block's largest steps take of the heap at a time, and what stays of a prompt (CASES 7)."""

from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from tests.toy import toy_model
from worldattention.core.models.vae import PocketAutoencoder, PocketStreamingDecoder
from worldattention.core.spoken import SpokenPrompts
from worldattention.kernels.reference.pool import block_means


def peak_bytes(work: Callable[[], object]) -> int:
    """The most that tensors of the heap took while it ran, beyond what was there before."""
    work()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        work()
    changes = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for change in sorted(changes, key=lambda event: event.start_ns()):
        held += change.nbytes()
        most = max(most, held)
    return most


def test_case_07_the_decoder_holds_few_feature_maps_at_a_time():
    decoder = PocketStreamingDecoder(PocketAutoencoder(), "cpu", torch.bfloat16)
    latents = torch.randn(3, 16, 16, 32)
    largest_map = 3 * 96 * 64 * 128 * torch.bfloat16.itemsize
    assert largest_map < peak_bytes(lambda: decoder.decode_block(latents)) < 6 * largest_map


def test_case_07_pooling_copies_little_of_a_window_at_a_time():
    keys = torch.randn(1, 4096, 6, 64).bfloat16()
    means_bytes = 4096 // 64 * 6 * 64 * torch.float32.itemsize
    most = peak_bytes(lambda: block_means(keys, 64))
    assert means_bytes < most < keys.nbytes // 2
    assert torch.equal(block_means(keys, 64)[:, 40:], block_means(keys[:, 40 * 64 :], 64))


def test_case_07_what_is_kept_of_a_prompt_is_one_piece_outside_the_heap():
    model = toy_model()
    spoken = SpokenPrompts(model).get("the sea")
    expected = model.transformer.text_keys_values(spoken.encoding.tokens[None].to(model.device))
    parts = [part for pair in spoken.keys_values for part in pair]
    assert len({part.untyped_storage().data_ptr() for part in parts}) == 1
    assert parts[0].untyped_storage().data_ptr() % 4096 == 0
    for part, other in zip(parts, [part for pair in expected for part in pair], strict=True):
        assert torch.equal(part, other)
