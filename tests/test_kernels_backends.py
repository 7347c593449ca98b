"""The dispatcher: which backend runs, why, and that nothing falls back in silence."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from worldattention.core.config import AttentionConfig, EngineConfig, SamplerConfig
from worldattention.core.engine import Engine
from worldattention.core.evaluation import made_up
from worldattention.core.evaluation.made_up import SIZES, made_up_model
from worldattention.core.hsa import HSAParameters, attend, build_window, update_tail
from worldattention.kernels import backends, ops
from worldattention.kernels.backends import BackendError, Case, choose
from worldattention.kernels.testing import attention_inputs

CUDA, CPU = torch.device("cuda"), torch.device("cpu")


@pytest.fixture
def hopper(monkeypatch):
    monkeypatch.setattr(backends, "capability", lambda device: (9, 0) if device.type == "cuda" else None)


@pytest.fixture
def ampere(monkeypatch):
    monkeypatch.setattr(backends, "capability", lambda device: (8, 6) if device.type == "cuda" else None)


def test_hopper_runs_gluon(hopper):
    assert choose("sparse_attention", Case(CUDA)).backend == "gluon"
    assert choose("route", Case(CUDA)).backend == "triton"


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (Case(CUDA, head_dim=32), "heads of 32"),
        (Case(CUDA, block=32), "blocks of 32"),
        (Case(CUDA, dtype=torch.float16), "bfloat16"),
        (Case(CUDA, batch=2), "one world"),
    ],
)
def test_what_gluon_is_not_written_for_runs_in_triton_and_says_why(hopper, case, why):
    choice = choose("sparse_attention", case)
    assert choice.backend == "triton"
    assert why in choice.why


def test_other_gpus_run_triton(ampere):
    choice = choose("sparse_attention", Case(CUDA))
    assert choice.backend == "triton"
    assert "8.6" in choice.why


def test_what_triton_cannot_run_is_torch_with_the_reason(ampere):
    choice = choose("sparse_attention", Case(CUDA, head_dim=24))
    assert choice.family == "torch"
    assert "24" in choice.why
    assert "masked" in choice.backend


@pytest.mark.parametrize("op", ["sparse_attention", "add_linear_branch"])
def test_float32_on_a_gpu_runs_torch_unless_asked(hopper, op):
    case = Case(CUDA, dtype=torch.float32)
    choice = choose(op, case)
    assert choice.family == "torch"
    assert "without tensor cores" in choice.why
    assert choose(op, case, "triton").backend == "triton"
    assert choose("route", case).backend == "triton"


def test_a_backend_that_was_asked_for_is_not_replaced(ampere, monkeypatch):
    with pytest.raises(BackendError, match="Hopper"):
        choose("sparse_attention", Case(CUDA), "gluon")
    with pytest.raises(BackendError, match="24"):
        choose("sparse_attention", Case(CUDA, head_dim=24), "triton")
    monkeypatch.setattr(backends, "interpreting", lambda: False)
    with pytest.raises(BackendError, match="needs a GPU"):
        choose("route", Case(CPU), "triton")
    assert choose("sparse_attention", Case(CUDA), "torch").family == "torch"


def test_a_cpu_runs_torch():
    assert {choice.family for choice in ops.explain("cpu")} == {"torch"}


def test_a_whole_layer_in_triton_equals_torch():
    """Routing, lists, sparse branch, linear branch and gate as the engine calls them, in the interpreter."""
    q, k, v = attention_inputs(32, 96, heads=2, channels=16, block=16, structure=1.5)
    parameters = HSAParameters(32, 16).requires_grad_(False)
    torch.nn.init.normal_(parameters.gate.weight, std=0.3)
    window = build_window(k.clone(), v.clone(), 64, parameters, 16)
    update_tail(window, k[:, 64:], v[:, 64:], parameters)
    for mode in ("hsa", "sparse"):
        ours, seen = attend(q, window, parameters, AttentionConfig(block=16, kernels="triton"), mode)
        torchs, expected = attend(q, window, parameters, AttentionConfig(block=16, kernels="torch"), mode)
        torch.testing.assert_close(seen.density, expected.density)
        torch.testing.assert_close(seen.gini, expected.gini, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(ours, torchs, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("blocks", [2, pytest.param(14, marks=pytest.mark.endurance)])
def test_an_engine_in_triton_makes_the_same_world(blocks, monkeypatch):
    """Every kernel that a GPU would run, called by the engine itself; torch on the other side."""
    monkeypatch.setattr(made_up, "pick_dtype", lambda device: torch.float32)  # the interpreter has no bf16
    model = made_up_model(replace(SIZES["toy"], layers=1, height=64, width=64), CPU)
    worlds = [
        Engine(
            model,
            EngineConfig(
                attention=AttentionConfig(block=16, kernels=kernels),
                sampler=SamplerConfig(timesteps=(1000.0,)),
            ),
        )
        for kernels in ("triton", "torch")
    ]
    for block in range(blocks):
        prompt = "another" if blocks // 3 <= block < blocks - 1 else "one"
        ours, theirs = (world.step(prompt) for world in worlds)
        assert (ours.telemetry.backend, theirs.telemetry.backend) == ("triton", "torch, gathered")
        np.testing.assert_allclose(ours.telemetry.gini, theirs.telemetry.gini, atol=2e-2)
        assert np.abs(ours.frames.astype(int) - theirs.frames).mean() < 2
    for world in worlds:
        world.close()


@pytest.mark.parametrize(("block", "channels"), [(128, 128), (64, 64)])
def test_hopper_is_launched_with_what_the_kernel_takes(block, channels, monkeypatch):
    """The host's side without a GPU: programs, every argument named by the kernel, the window not copied."""
    from worldattention.kernels.gluon import narrow, wide
    from worldattention.kernels.gluon import sparse as gluon

    launches = []

    class Recorder:
        def __getitem__(self, grid):
            return lambda *arguments, **constants: launches.append((grid, arguments, constants))

    kernel = wide.attend_shares if block == 128 else narrow.attend_narrow
    names = kernel.arg_names
    monkeypatch.setattr(gluon, kernel.__name__, Recorder())
    monkeypatch.setattr(gluon, "multiprocessors", lambda device: 5)
    monkeypatch.setattr(gluon, "merge", lambda *parts: None)
    q = torch.randn(1, 300, 2, channels).bfloat16()
    room = torch.randn(2, 1, 900, 2, channels).bfloat16()
    keys, values = room[0, :, :700], room[1, :, :700]
    rows, columns = -(-300 // block), -(-700 // block)
    lists = ops.block_lists(torch.ones(1, 2, rows, columns, dtype=torch.bool))
    out = gluon.sparse_attention(q, keys, values, lists, block)
    assert out.shape == q.shape
    [(grid, arguments, constants)] = launches
    assert grid == ((5,) if block == 128 else (2 * rows,))
    assert len(arguments) + len(constants) == len(names)
    assert set(constants) <= set(names)
    given = dict(zip(names, arguments, strict=False))
    assert given["k"].base.data_ptr() == keys.data_ptr()
    assert (given["k_tokens"], given["q_tokens"], given["k_blocks"]) == (700, 300, columns)
    assert constants["RAGGED"]
    with pytest.raises(ValueError, match="one world"):
        gluon.sparse_attention(q.repeat(2, 1, 1, 1), keys, values, lists, block)
