"""The training form of hybrid sparse attention against the window form, frame by frame."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from worldattention.core.config import AttentionConfig
from worldattention.core.hsa import (
    HSAParameters,
    attend,
    build_window,
    hsa_training_attention,
    update_tail,
)
from worldattention.kernels.reference.training import RoutingRule, route_visible
from worldattention.kernels.testing import assert_as_exact_as

TOKENS, HEADS, CHANNELS = 16, 2, 8


def sequence(frames: int, samples: int = 1) -> list[Tensor]:
    """q, k, v [B, F * T, H, D] whose frames differ, so that routing has something to choose."""

    def one() -> Tensor:
        mean = 1.5 * torch.randn(samples, frames, 1, HEADS, CHANNELS)
        noise = torch.randn(samples, frames, TOKENS, HEADS, CHANNELS)
        return (mean + noise).flatten(1, 2)

    return [one() for _ in range(3)]


def trained_parameters() -> HSAParameters:
    parameters = HSAParameters(TOKENS, CHANNELS)
    for parameter in parameters.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return parameters


@pytest.mark.parametrize("density", [None, 0.4])
@pytest.mark.parametrize("block", [TOKENS, TOKENS // 2])
@pytest.mark.parametrize(("context_frames", "block_frames"), [(0, 3), (4, 2), (6, 3)])
def test_equals_a_window(context_frames: int, block_frames: int, block: int, density: float | None) -> None:
    # Frames that nobody of the last block sees lie between those that it does.
    total = 2 * context_frames + block_frames
    while total % block_frames:
        total += 1
    q, k, v = sequence(total, samples=3)
    seen = np.sort(np.random.default_rng().permutation(total - block_frames)[:context_frames])
    window_frames = torch.tensor([*seen, *range(total - block_frames, total)])
    visible = torch.eye(total, dtype=torch.bool).repeat(3, 1, 1)
    visible[:, -block_frames:] = False
    visible[:, -block_frames:, window_frames] = True
    config = AttentionConfig(block=block, density=density)
    parameters = trained_parameters()
    with torch.no_grad():
        trained = hsa_training_attention(q, k, v, visible, parameters, config, block_frames)
        for sample in range(3):
            keys, values = (
                x[sample : sample + 1].unflatten(1, (total, TOKENS))[:, window_frames].flatten(1, 2)
                for x in (k, v)
            )
            context = context_frames * TOKENS
            window = build_window(keys.clone(), values.clone(), context, parameters, block)
            update_tail(window, keys[:, context:], values[:, context:], parameters)
            queries = q[sample : sample + 1, -block_frames * TOKENS :]
            expected, _ = attend(queries, window, parameters, config, "hsa")
            got = trained[sample : sample + 1, -block_frames * TOKENS :]
            torch.testing.assert_close(got, expected, atol=2e-5, rtol=2e-5)


def test_nothing_invisible_is_selected_or_felt() -> None:
    frames = 6
    q, k, v = sequence(frames, samples=2)
    visible = torch.rand(2, frames, frames) < 0.4
    visible |= torch.eye(frames, dtype=torch.bool)
    visible[:, :, 2] = False
    visible[:, 2, 3] = True  # frame 2 still sees another one
    rule = RoutingRule(block=TOKENS)
    selected = route_visible(q, k, visible, rule).selected
    assert not (selected & ~visible[:, None]).any()
    assert selected.any(dim=-1).all()
    parameters = trained_parameters()
    config = AttentionConfig(block=TOKENS)
    with torch.no_grad():
        before = hsa_training_attention(q, k, v, visible, parameters, config)
        span = slice(2 * TOKENS, 3 * TOKENS)
        k[:, span], v[:, span] = 100 * torch.randn_like(k[:, span]), 100 * torch.randn_like(v[:, span])
        after = hsa_training_attention(q, k, v, visible, parameters, config)
    assert torch.equal(before, after)


def test_masses_that_vanish_do_not_open_invisible_blocks() -> None:
    frames = 3
    q, k, _ = (1000 * x for x in sequence(frames))
    visible = torch.tensor([[[True, False, True], [True, True, False], [False, True, True]]])
    selected = route_visible(q, k, visible, RoutingRule(block=TOKENS, tau_min=1.0)).selected
    assert not (selected & ~visible[:, None]).any()


def test_gradients_reach_every_input_and_are_right() -> None:
    frames = 3
    q, k, v = (x.double().requires_grad_() for x in sequence(frames))
    visible = torch.tensor([[[True, False, False], [True, True, False], [True, True, True]]])
    parameters = trained_parameters().double()
    config = AttentionConfig(block=TOKENS, density=0.5)

    def loss() -> Tensor:
        out = hsa_training_attention(q, k, v, visible, parameters, config, block_frames=1)
        return (out * torch.arange(out.shape[1])[:, None, None]).sin().sum()

    loss().backward()
    for tensor in (q, k, v, *parameters.parameters()):
        gradient = tensor.grad
        assert gradient is not None
        index = tuple(int(torch.randint(size, ())) for size in tensor.shape)
        step = 1e-6
        with torch.no_grad():
            value = tensor[index].item()
            tensor[index] = value + step
            above = loss()
            tensor[index] = value - step
            below = loss()
            tensor[index] = value
        numeric = (above - below) / (2 * step)
        torch.testing.assert_close(gradient[index], numeric, atol=1e-4, rtol=1e-4)


def test_shapes_that_do_not_fit_are_refused() -> None:
    q, k, v = sequence(4)
    visible = torch.ones(1, 4, 4, dtype=torch.bool)
    with pytest.raises(ValueError, match="do not fit"):
        hsa_training_attention(q, k, v, visible, trained_parameters(), AttentionConfig(block=TOKENS), 3)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_compiled_on_a_gpu_equals_the_cpu(dtype: torch.dtype) -> None:
    frames, tokens, channels = 6, 128, 64
    parameters = HSAParameters(tokens, channels)
    torch.nn.init.normal_(parameters.gate.weight, std=channels**-0.5)
    visible = torch.rand(2, frames, frames) < 0.6
    visible |= torch.eye(frames, dtype=torch.bool)
    config = AttentionConfig(density=0.5)
    shape = (2, frames, tokens, 3, channels)
    inputs = [
        (torch.randn(shape) + 2 * torch.randn(2, frames, 1, 3, channels)).flatten(1, 2) for _ in range(3)
    ]

    def run(device: str, attention: Callable[..., Tensor], dtype: torch.dtype) -> list[Tensor]:
        moved = copy.deepcopy(parameters).to(device)
        leaves = [x.detach().to(device, dtype).requires_grad_() for x in inputs]
        out = attention(*leaves, visible.to(device), moved, config)
        out.float().square().sum().backward()
        gradients = [x.grad for x in (*leaves, moved.k_proj) if x.grad is not None]
        return [x.detach().float().cpu() for x in (out, *gradients)]

    # The inputs are rounded alike, so that both choose the same blocks.
    inputs = [x.to(dtype).float() for x in inputs]
    compiled = torch.compile(hsa_training_attention, dynamic=False, fullgraph=True)
    got = run("cuda", compiled, dtype)
    own = run("cpu", hsa_training_attention, dtype)
    exact = run("cpu", hsa_training_attention, torch.float32)
    for actual, baseline, reference in zip(got, own, exact, strict=True):
        scale = reference.abs().max().item()
        assert_as_exact_as(actual, baseline, reference, atol=2e-3 * scale)
