"""Runs every kernel once on a GPU, at small and odd sizes: what compute-sanitizer is given to watch.

compute-sanitizer --tool memcheck python -P tests/each_kernel.py
compute-sanitizer --tool racecheck python -P tests/each_kernel.py
"""

import torch

from worldattention.kernels import ops
from worldattention.kernels.backends import HOPPER, capability
from worldattention.kernels.reference.lists import block_lists
from worldattention.kernels.reference.rope import rotary_table
from worldattention.kernels.testing import AttentionInputs, attention_inputs, random_selection
from worldattention.kernels.triton.backward import differentiable_sparse_attention
from worldattention.kernels.uses import Use

DEVICE = torch.device("cuda")


def inputs_of(q_tokens: int, k_tokens: int, channels: int, block: int) -> AttentionInputs:
    generator = torch.Generator(DEVICE).manual_seed(0)
    return attention_inputs(
        q_tokens,
        k_tokens,
        heads=2,
        channels=channels,
        block=block,
        dtype=torch.bfloat16,
        generator=generator,
    )


def sparse_branch(channels: int, block: int) -> None:
    inputs = inputs_of(block + block // 2 - 3, 5 * block + 11, channels, block)
    selected = random_selection(1, 2, 2, 6).to(DEVICE)
    uses: list[Use] = ["gluon", "triton"] if capability(DEVICE) == HOPPER else ["triton"]
    for use in uses:
        out = ops.sparse_attention(*inputs, selected, block, use=use)
        assert out.isfinite().all(), (use, channels, block)
    if "gluon" in uses:
        from worldattention.kernels.gluon.sparse import sparse_attention

        q, k = (x.to(torch.float8_e4m3fn) for x in inputs[:2])
        assert sparse_attention(q, k, inputs.v, block_lists(selected), block).isfinite().all()
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    differentiable_sparse_attention(*leaves, selected, block).float().sum().backward()
    assert all(leaf.grad is not None and leaf.grad.isfinite().all() for leaf in leaves)


def routing_and_linear_branch(channels: int) -> None:
    inputs = inputs_of(165, 139, channels, 64)
    q, k = (ops.block_means(x, 16, use="triton") for x in inputs[:2])
    for density in (None, 0.2):
        routing = ops.route(q, k, 0.35, 1.0, density, use="triton")
        assert routing.selected.any(-1).all()
    weight = torch.randn(channels, channels, device=DEVICE).bfloat16()
    out = ops.add_linear_branch(
        inputs.q, torch.zeros_like(inputs.q), *inputs[1:], weight, weight[0], use="triton"
    )
    assert out.isfinite().all()


def pages(channels: int) -> None:
    x = torch.randn(2, 45, 2, channels, device=DEVICE).bfloat16()
    table = rotary_table(torch.arange(5, device=DEVICE), (3, 3), channels)
    for codec in ("bf16", "fp8", "int8"):
        out = torch.empty_like(x)
        ops.install_page(ops.encode_page(x, codec, use="triton"), out, table, use="triton")
        assert out.isfinite().all()


if __name__ == "__main__":
    for width in (64, 128):
        for size in (64, 128):
            sparse_branch(width, size)
        routing_and_linear_branch(width)
        pages(width)
    torch.cuda.synchronize()
