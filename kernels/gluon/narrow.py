"""Block-sparse attention for Hopper, 64 query rows: one warpgroup that fills its own rings, several a multiprocessor.

Layout of q, k, v: [L, H * D] through tensor descriptors. Tiles run in the order given, densest first.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from worldattention.kernels.gluon.steps import masked, softmax_step, tile_layout


@gluon.jit
def attend_narrow(
    q, k, v, Out, Order, Indices, Counts, scale, o_token, q_blocks, k_blocks, q_tokens, k_tokens,
    KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, RAGGED: gl.constexpr, QK_BYTES: gl.constexpr,
    num_warps: gl.constexpr,
):  # fmt: skip
    LOGITS: gl.constexpr = tile_layout(KEYS, QK_BYTES)
    VALUES: gl.constexpr = tile_layout(D)
    WEIGHTS: gl.constexpr = gl.DotOperandLayout(0, VALUES, 2)
    ROWS: gl.constexpr = gl.SliceLayout(1, LOGITS)
    OUT_ROWS: gl.constexpr = gl.SliceLayout(1, VALUES)
    tile = gl.load(Order + gl.program_id(0))
    column = tile // q_blocks * D
    row = (tile % q_blocks) * 64
    count = gl.load(Counts + tile)
    listed = Indices + tile * k_blocks
    q_tile = gl.allocate_shared_memory(q.dtype, [64, D], q.layout)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, KEYS, D], k.layout)
    v_tiles = gl.allocate_shared_memory(gl.bfloat16, [STAGES, KEYS, D], v.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_full, count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_full.index(slot), count=1)
        mbarrier.init(v_full.index(slot), count=1)
    fence_async_shared()
    mbarrier.expect(q_full, 64 * D * QK_BYTES)
    tma.async_copy_global_to_shared(q, [row, column], q_full, q_tile)
    for slot in gl.static_range(STAGES):
        there = slot < count
        first = gl.load(listed + gl.minimum(slot, count - 1)) * KEYS
        mbarrier.expect(k_full.index(slot), KEYS * D * QK_BYTES, pred=there)
        tma.async_copy_global_to_shared(
            k, [first, column], k_full.index(slot), k_tiles.index(slot), pred=there
        )
        mbarrier.expect(v_full.index(slot), KEYS * D * 2, pred=there)
        tma.async_copy_global_to_shared(
            v, [first, column], v_full.index(slot), v_tiles.index(slot), pred=there
        )
    largest = gl.full([64], -float("inf"), gl.float32, ROWS)
    total = gl.full([64], 0.0, gl.float32, ROWS)
    out = gl.zeros([64, D], gl.float32, VALUES)
    nothing = gl.zeros([64, KEYS], gl.float32, LOGITS)
    mbarrier.wait(q_full, 0)
    for step in range(count):
        stage, phase = step % STAGES, (step // STAGES) & 1
        then = step + STAGES
        more = then < count
        first = gl.load(listed + gl.minimum(then, count - 1)) * KEYS
        mbarrier.wait(k_full.index(stage), phase)
        logits = warpgroup_mma(
            q_tile, k_tiles.index(stage).permute((1, 0)), nothing, use_acc=False, is_async=True
        )
        logits = warpgroup_mma_wait(0, deps=[logits])
        mbarrier.expect(k_full.index(stage), KEYS * D * QK_BYTES, pred=more)
        tma.async_copy_global_to_shared(
            k, [first, column], k_full.index(stage), k_tiles.index(stage), pred=more
        )
        if RAGGED:
            logits = masked(logits, gl.load(listed + step) * KEYS, k_tokens, KEYS, LOGITS)
        weights, shrink, largest, total = softmax_step(logits, largest, total, scale)
        out = out * gl.expand_dims(gl.convert_layout(shrink, OUT_ROWS), 1)
        operand = gl.convert_layout(weights.to(gl.bfloat16), WEIGHTS)
        mbarrier.wait(v_full.index(stage), phase)
        out = warpgroup_mma(operand, v_tiles.index(stage), out, is_async=True)
        out = warpgroup_mma_wait(0, deps=[out])
        mbarrier.expect(v_full.index(stage), KEYS * D * 2, pred=more)
        tma.async_copy_global_to_shared(
            v, [first, column], v_full.index(stage), v_tiles.index(stage), pred=more
        )
    out = out * gl.expand_dims(gl.convert_layout(1.0 / total, OUT_ROWS), 1)
    rows = gl.expand_dims(row + gl.arange(0, 64, OUT_ROWS), 1)
    columns = gl.expand_dims(column + gl.arange(0, D, gl.SliceLayout(0, VALUES)), 0)
    gl.store(Out + rows * o_token + columns, out.to(gl.bfloat16), mask=rows < q_tokens)
