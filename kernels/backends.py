"""Which backend runs an op, and why: a pure function of device, shapes and what was asked for.

Nothing falls back in silence: the reason is part of the answer, and a backend that was asked for and cannot run is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from worldattention.kernels.uses import Use

HEAD_DIMS = (16, 32, 64, 128)
"""Channels of a head that the attention kernels are written for."""
BLOCKS = (16, 32, 64, 128)
"""Tokens of a routing block that the attention kernels are written for."""
HOPPER = (9, 0)
SDPA = "scaled_dot_product_attention"
FLOAT32_SLOW = "our kernels multiply float32 exactly, without tensor cores: slower than torch"
KERNEL_OPS = ("sparse_attention", "add_linear_branch", "route", "block_means", "install_page", "encode_page")


class Choice(NamedTuple):
    """Which backend runs an op, and why."""

    op: str
    backend: str
    why: str

    @property
    def family(self) -> str:
        """torch, triton or gluon."""
        return self.backend.partition(",")[0]


class BackendError(ValueError):
    """A backend was asked for that cannot run the op here."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a backend must be able to run."""

    device: torch.device
    head_dim: int = 128
    block: int = 128
    dtype: torch.dtype = torch.bfloat16
    batch: int = 1

    @classmethod
    def of(cls, q: Tensor, block: int = 128) -> Case:
        """The case of queries [B, L, H, D]."""
        return cls(q.device, q.shape[-1], block, q.dtype, q.shape[0])


def interpreting() -> bool:
    """Whether Triton's interpreter is on (TRITON_INTERPRET=1): kernels then run on the CPU, for tests."""
    import triton

    return bool(triton.knobs.runtime.interpret)


def capability(device: torch.device) -> tuple[int, int] | None:
    """Compute capability; None where no such device answers."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_capability(device)


def choose(op: str, case: Case, use: Use = "auto") -> Choice:
    """The backend of `op`, one of `KERNEL_OPS`.

    Raises:
        BackendError: `use` names a backend that cannot run it.
    """
    if use == "torch":
        return _torch(op, case, "asked for")
    if use == "auto" and case.device.type == "cpu":
        return _torch(op, case, "plain torch on a CPU")
    gluon, triton = _no_gluon(op, case), _no_triton(op, case)
    if use == "gluon" and op == "sparse_attention":
        if gluon:
            raise BackendError(f"gluon cannot run {op}: {gluon}")
        return Choice(op, "gluon", "asked for")
    if use in ("gluon", "triton"):  # gluon stands for our fastest: the other ops are written in Triton
        if triton:
            raise BackendError(f"triton cannot run {op}: {triton}")
        return Choice(op, "triton", "asked for")
    if gluon is None:
        return Choice(op, "gluon", "Hopper: TMA and warpgroup matrix instructions")
    if triton is None and _slow_in_triton(op, case):
        return _torch(op, case, FLOAT32_SLOW)
    if triton is None:
        return Choice(op, "triton", gluon if op == "sparse_attention" else "our kernel for any CUDA device")
    return _torch(op, case, triton)


def _no_gluon(op: str, case: Case) -> str | None:
    """Why Gluon cannot run the op; None when it can."""
    if op != "sparse_attention":
        return "written in Triton"
    there = capability(case.device)
    if there != HOPPER:
        return (
            f"compute capability {there[0]}.{there[1]} is not Hopper's 9.0"
            if there
            else "no Hopper GPU answers"
        )
    if case.head_dim not in (64, 128) or case.block not in (64, 128):
        return f"heads of {case.head_dim} or blocks of {case.block} are not written for Hopper"
    if case.dtype != torch.bfloat16 or case.batch != 1:
        return "only bfloat16 and one world at a time are written for Hopper"
    return None


def _no_triton(op: str, case: Case) -> str | None:
    """Why Triton cannot run the op; None when it can."""
    if case.device.type == "cpu" and not interpreting():
        return "Triton needs a GPU (or, for tests, TRITON_INTERPRET=1)"
    if case.device.type not in ("cpu", "cuda"):
        return f"our kernels are not written for {case.device.type}"
    if op in ("route", "block_means"):
        return None
    if case.head_dim not in HEAD_DIMS:
        return f"heads of {case.head_dim} channels are none of {', '.join(map(str, HEAD_DIMS))}"
    if op == "sparse_attention" and case.block not in BLOCKS:
        return f"blocks of {case.block} tokens are none of {', '.join(map(str, BLOCKS))}"
    if case.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        return f"{str(case.dtype).removeprefix('torch.')} is not multiplied"
    return None


def _slow_in_triton(op: str, case: Case) -> bool:
    """Whether Triton could run the op, but torch is much faster (float32: 129 ms against 37 dense, on an H200)."""
    return (
        op in ("sparse_attention", "add_linear_branch")
        and case.dtype == torch.float32
        and case.device.type == "cuda"
    )


def _torch(op: str, case: Case, why: str) -> Choice:
    if op != "sparse_attention":
        return Choice(op, "torch", why)
    if case.device.type == "cpu":
        return Choice(op, "torch, gathered", f"{why}: only selected blocks are multiplied")
    return Choice(op, f"torch, {SDPA} masked", f"{why}: right, but not faster than dense")
