"""Attention over a window in every mode, against loops written from DESIGN section 3."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from worldattention.core.config import ATTENTION_MODES, AttentionConfig, AttentionMode
from worldattention.core.errors import UserError
from worldattention.core.hsa import (
    AttentionWindow,
    HeadStatistics,
    HSAParameters,
    attend,
    build_window,
    refresh_context,
    update_tail,
)
from worldattention.kernels.testing import attention_inputs

HEADS, CHANNELS = 3, 16


def trained_parameters(segment: int) -> HSAParameters:
    parameters = HSAParameters(segment, CHANNELS).requires_grad_(False)
    for parameter in parameters.parameters():
        torch.nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
    return parameters


def means(x: np.ndarray, block: int) -> np.ndarray:
    """Block means [N, H, D] of [L, H, D]."""
    return np.stack([x[start : start + block].mean(axis=0) for start in range(0, len(x), block)])


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return softmax(q @ k.T / math.sqrt(q.shape[-1])) @ v


def transcribed(
    q: Tensor, k: Tensor, v: Tensor, parameters: HSAParameters, config: AttentionConfig
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Outputs of the four modes [Lq, H, D], and Gini, threshold and density [H], of one sample."""
    q64, k64, v64 = (x[0].double().numpy() for x in (q, k, v))
    e_k, e_v = parameters.k_proj.double().numpy(), parameters.v_proj.double().numpy()
    weight, bias = parameters.gate.weight.double().numpy(), parameters.gate.bias.double().numpy()
    segment, block = e_k.shape[1], config.block
    outputs = {mode: np.zeros(q64.shape) for mode in ATTENTION_MODES}
    gini, threshold, density = np.zeros(HEADS), np.zeros(HEADS), np.zeros(HEADS)
    for h in range(HEADS):
        qh, kh, vh = q64[:, h], k64[:, h], v64[:, h]
        outputs["dense"][:, h] = attention(qh, kh, vh)
        starts = range(0, len(kh), segment)
        coarse_k = np.concatenate([e_k @ kh[s : s + segment] for s in starts])
        coarse_v = np.concatenate([e_v @ vh[s : s + segment] for s in starts])
        outputs["linear"][:, h] = attention(qh, coarse_k, coarse_v)
        p = softmax(means(q64, block)[:, h] @ means(k64, block)[:, h].T / math.sqrt(CHANNELS))
        count = p.shape[1]
        ordered = -np.sort(-p, axis=1)
        factors = count + 1 - 2 * np.arange(1, count + 1)
        gini[h] = (ordered * factors).sum(axis=1).mean() / count
        threshold[h] = config.tau_min + gini[h] * (config.tau_max - config.tau_min)
        for i, row in enumerate(p):
            chosen: list[int] = []
            for j in np.argsort(-row, kind="stable"):
                if row[chosen].sum() >= threshold[h]:
                    break
                chosen.append(int(j))
            density[h] += len(chosen) / p.size
            tokens = np.concatenate([np.arange(len(kh))[j * block : (j + 1) * block] for j in chosen])
            span = slice(i * block, (i + 1) * block)
            outputs["sparse"][span, h] = attention(qh[span], kh[tokens], vh[tokens])
        gate = 1 / (1 + np.exp(-(qh @ weight.T + bias)))
        outputs["hsa"][:, h] = outputs["sparse"][:, h] + gate * outputs["linear"][:, h]
    return outputs, gini, threshold, density


def filled_window(
    k: Tensor, v: Tensor, context: int, parameters: HSAParameters | None, block: int
) -> AttentionWindow:
    """A window that was built before its current block was known."""
    keys, values = k.clone(), v.clone()
    keys[:, context:], values[:, context:] = torch.nan, torch.nan
    window = build_window(keys, values, context, parameters, block)
    update_tail(window, k[:, context:], v[:, context:], parameters)
    return window


SHAPES = [
    # context tokens, current tokens, tokens a frame, block
    (0, 24, 8, 8),  # the first block of a world
    (8, 24, 8, 8),  # one frame of context
    (64, 24, 8, 4),  # blocks smaller than a frame
    (70, 30, 10, 16),  # a block across the border, and a partial one at the end
    (0, 12, 12, 16),  # a single partial block
    (1560, 1560, 1560, 128),  # Wan's frames
    (256, 384, 128, 64),
]


@pytest.mark.parametrize(("context", "current", "frame", "block"), SHAPES)
def test_every_mode_is_its_formula(context: int, current: int, frame: int, block: int) -> None:
    q, k, v = attention_inputs(
        current, context + current, heads=HEADS, channels=CHANNELS, block=block, structure=1.5
    )
    parameters = trained_parameters(frame)
    config = AttentionConfig(block=block, statistics=True)
    window = filled_window(k, v, context, parameters, block)
    outputs, gini, threshold, density = transcribed(q, k, v, parameters, config)
    expected_density: dict[str, np.ndarray] = {
        "hsa": density,
        "sparse": density,
        "dense": np.ones(HEADS),
        "linear": np.zeros(HEADS),
    }
    modes: tuple[AttentionMode, ...] = ("hsa", "sparse", "dense", "linear")
    for mode in modes:
        out, statistics = attend(q, window, parameters, config, mode)
        np.testing.assert_allclose(out[0].numpy(), outputs[mode], atol=1e-4, err_msg=mode)
        np.testing.assert_allclose(statistics.gini.numpy(), gini, atol=1e-5)
        np.testing.assert_allclose(statistics.threshold.numpy(), threshold, atol=1e-5)
        np.testing.assert_allclose(statistics.density.numpy(), expected_density[mode], atol=1e-6)
    parameters.joint = True
    gated_linear = outputs["hsa"] - outputs["sparse"]
    out, statistics = attend(q, window, parameters, config, "dense")
    np.testing.assert_allclose(out[0].numpy(), outputs["dense"] + gated_linear, atol=2e-4)
    assert (statistics.density == 1).all()
    for mode in ("hsa", "sparse", "linear"):
        np.testing.assert_allclose(
            attend(q, window, parameters, config, mode)[0][0].numpy(), outputs[mode], atol=1e-4
        )


def test_a_second_pass_replaces_the_first() -> None:
    _, k, v = attention_inputs(24, 64, heads=HEADS, channels=CHANNELS, block=8)
    parameters = trained_parameters(8)
    window = filled_window(k, v, 40, parameters, 16)
    k[:, 40:], v[:, 40:] = torch.randn_like(k[:, 40:]), torch.randn_like(v[:, 40:])
    update_tail(window, k[:, 40:], v[:, 40:], parameters)
    assert_same(window, filled_window(k, v, 40, parameters, 16))


def test_a_new_context_is_refreshed() -> None:
    _, k, v = attention_inputs(24, 64, heads=HEADS, channels=CHANNELS, block=8)
    parameters = trained_parameters(8)
    window = filled_window(k, v, 40, parameters, 8)
    k[:, :40], v[:, :40] = torch.randn_like(k[:, :40]), torch.randn_like(v[:, :40])
    window.keys[:, :40], window.values[:, :40] = k[:, :40], v[:, :40]
    refresh_context(window, parameters)
    assert_same(window, filled_window(k, v, 40, parameters, 8))


def assert_same(window: AttentionWindow, other: AttentionWindow) -> None:
    for name in ("keys", "values", "pooled", "coarse_keys", "coarse_values"):
        torch.testing.assert_close(getattr(window, name), getattr(other, name), msg=name)


def test_a_window_is_the_callers_memory() -> None:
    keys, values = torch.randn(2, 1, 32, HEADS, CHANNELS)
    window = build_window(keys, values, 8, None, 8)
    update_tail(window, torch.ones(1, 24, HEADS, CHANNELS), torch.ones(1, 24, HEADS, CHANNELS), None)
    assert (keys[:, 8:] == 1).all()
    assert (values[:, 8:] == 1).all()


def test_a_tail_of_another_length_is_refused() -> None:
    x = torch.randn(1, 32, HEADS, CHANNELS)
    window = build_window(x, x.clone(), 8, None, 8)
    with pytest.raises(ValueError, match="tail"):
        update_tail(window, x[:, :8], x[:, :8], None)


def test_without_parameters_only_sparse_and_dense_run() -> None:
    q, k, v = attention_inputs(24, 64, heads=HEADS, channels=CHANNELS, block=8)
    window = filled_window(k, v, 40, None, 8)
    config = AttentionConfig(block=8)
    modes: tuple[AttentionMode, ...] = ("sparse", "dense")
    for mode in modes:
        assert attend(q, window, None, config, mode)[0].isfinite().all()
    refused: tuple[AttentionMode, ...] = ("hsa", "linear")
    for mode in refused:
        with pytest.raises(UserError, match="no HSA parameters"):
            attend(q, window, None, config, mode)
        # Parameters that the window was not built with do not help.
        with pytest.raises(UserError, match="no HSA parameters"):
            attend(q, window, trained_parameters(8), config, mode)


def test_an_unknown_mode_is_refused() -> None:
    q, k, v = attention_inputs(24, 64, heads=HEADS, channels=CHANNELS, block=8)
    window = filled_window(k, v, 40, None, 8)
    with pytest.raises(UserError, match="attention"):
        attend(q, window, None, AttentionConfig(block=8), "sparsest")  # type: ignore[arg-type]


def test_statistics_that_nobody_asked_for_are_not_made_up() -> None:
    q, k, v = attention_inputs(24, 64, heads=HEADS, channels=CHANNELS, block=8)
    window = filled_window(k, v, 40, None, 8)
    config = AttentionConfig(block=8, statistics=False)
    dense: HeadStatistics = attend(q, window, None, config, "dense")[1]
    assert dense.gini.isnan().all()
    assert dense.threshold.isnan().all()
    assert (dense.density == 1).all()
    routed = attend(q, window, None, config, "sparse")[1]
    assert routed.gini.isfinite().all()


def test_a_density_replaces_the_threshold() -> None:
    q, k, v = attention_inputs(24, 160, heads=HEADS, channels=CHANNELS, block=8)
    window = filled_window(k, v, 136, None, 8)
    config = AttentionConfig(block=8, density=0.25)
    sparse, statistics = attend(q, window, None, config, "sparse")
    torch.testing.assert_close(statistics.density, torch.full((HEADS,), 0.25))
    everything, _ = attend(q, window, None, replace(config, density=1.0), "sparse")
    dense, _ = attend(q, window, None, config, "dense")
    torch.testing.assert_close(everything, dense)
    assert not torch.allclose(sparse, dense, atol=1e-2)


@pytest.mark.parametrize("mode", ATTENTION_MODES)
def test_bf16_stays_bf16(mode: AttentionMode) -> None:
    q, k, v = attention_inputs(
        24, 64, heads=HEADS, channels=CHANNELS, block=8, dtype=torch.bfloat16, structure=0.5
    )
    parameters = trained_parameters(8)
    window = filled_window(k, v, 40, parameters, 8)
    config = AttentionConfig(block=8)
    out, _ = attend(q, window, parameters, config, mode)
    assert out.dtype is torch.bfloat16
    outputs, *_ = transcribed(q, k, v, parameters, config)
    np.testing.assert_allclose(out[0].float().numpy(), outputs[mode], atol=0.05)


def test_fresh_parameters_average_blocks_with_half_open_gates() -> None:
    parameters = HSAParameters(150, CHANNELS)
    assert parameters.rank == 3
    assert parameters.segment == 150
    x = torch.randn(150, 5)
    expected = torch.stack([x[:64].mean(0), x[64:128].mean(0), x[128:].mean(0)])
    for projection in (parameters.k_proj, parameters.v_proj):
        torch.testing.assert_close(projection @ x, expected)
    assert (torch.sigmoid(parameters.gate(torch.randn(4, CHANNELS))) == 0.5).all()
    assert sorted(parameters.state_dict()) == ["gate.bias", "gate.weight", "k_proj", "v_proj"]
