"""Inputs and the tolerance rule for tests of kernels.

The rule: an implementation may be at most twice as far from an fp64 reference as torch's own op in
the same dtype, plus a small absolute term. It asks for no arbitrary tolerance, and holds for any
backend.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class AttentionInputs(NamedTuple):
    """q [B, Lq, H, D] and k, v [B, Lk, H, D]."""

    q: Tensor
    k: Tensor
    v: Tensor

    def double(self) -> "AttentionInputs":
        """The same numbers in fp64."""
        return AttentionInputs(*(x.double() for x in self))


def attention_inputs(
    q_tokens: int,
    k_tokens: int,
    *,
    batch: int = 1,
    heads: int = 2,
    channels: int = 32,
    block: int = 128,
    structure: float = 1.0,
    dtype: torch.dtype = torch.float32,
    generator: torch.Generator | None = None,
) -> AttentionInputs:
    """Fresh random inputs whose blocks differ, so that a block map is worth routing; on the generator's device.

    Args:
        structure: size of a block's own mean beside unit noise; 0 makes every block alike. Heads get
            from none of it to twice of it, so that their Gini and density differ.
    """
    device = None if generator is None else generator.device
    strengths = structure * torch.linspace(0, 2, heads, device=device)[:, None]

    def one(tokens: int) -> Tensor:
        means = torch.randn(batch, -(-tokens // block), heads, channels, generator=generator, device=device)
        noise = torch.randn(batch, tokens, heads, channels, generator=generator, device=device)
        return ((strengths * means).repeat_interleave(block, dim=1)[:, :tokens] + noise).to(dtype)

    return AttentionInputs(one(q_tokens), one(k_tokens), one(k_tokens))


def random_selection(
    batch: int, heads: int, q_blocks: int, k_blocks: int, generator: torch.Generator | None = None
) -> Tensor:
    """A selection [B, H, Nq, Nk] with from one to all blocks in a row."""
    scores = torch.rand(batch, heads, q_blocks, k_blocks, generator=generator)
    shares = torch.rand(batch, heads, q_blocks, 1, generator=generator)
    return (scores < shares) | (scores == scores.amin(dim=-1, keepdim=True))


def largest_error(actual: Tensor, reference: Tensor) -> float:
    """Largest absolute difference, in fp64."""
    return (actual.double() - reference.double()).abs().max().item()


def assert_as_exact_as(actual: Tensor, own: Tensor, reference: Tensor, atol: float = 1e-6) -> None:
    """Hold `actual` to the tolerance rule.

    Args:
        actual: what is tested.
        own: torch's own op on the same inputs in the same dtype.
        reference: the same in fp64.

    Raises:
        AssertionError: `actual` is not finite, has another shape, or errs more than the rule allows.
    """
    assert actual.shape == reference.shape, (actual.shape, reference.shape)
    assert actual.isfinite().all()
    error, allowed = largest_error(actual, reference), 2 * largest_error(own, reference) + atol
    assert error <= allowed, f"error {error:.3g} is over {allowed:.3g}"
