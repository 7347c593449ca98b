"""Block-sparse attention for Hopper: TMA loads, mbarriers, warpgroup matrix instructions.

`attend_wide`: 128 query rows. One producer warp feeds rings of key and value tiles; two consumer warpgroups of 64
rows each run the product of the next keys while the last weights meet their values (as in FlashAttention-3).
`attend_narrow`: 64 query rows, one warpgroup that fills its own rings, several programs a multiprocessor.

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


@gluon.jit
def _softmax_step(logits, largest, total, scale):
    higher = gl.maximum(largest, gl.max(logits, 1) * scale)
    weights = gl.exp2(logits * scale - gl.expand_dims(higher, 1))
    shrink = gl.exp2(largest - higher)
    total = total * shrink + gl.sum(weights, 1)
    return weights, shrink, higher, total


@gluon.jit
def _masked(logits, first, k_tokens, KEYS: gl.constexpr, LOGITS: gl.constexpr):
    tokens = first + gl.arange(0, KEYS, gl.SliceLayout(0, LOGITS))
    return gl.where(gl.expand_dims(tokens, 0) < k_tokens, logits, -float("inf"))


@gluon.jit
def _store(Out, out, total, first, column, o_token, q_tokens, D: gl.constexpr, LAYOUT: gl.constexpr):
    rows_layout: gl.constexpr = gl.SliceLayout(1, LAYOUT)
    out = out * gl.expand_dims(gl.convert_layout(1.0 / total, rows_layout), 1)
    rows = gl.expand_dims(first + gl.arange(0, 64, rows_layout), 1)
    columns = gl.expand_dims(column + gl.arange(0, D, gl.SliceLayout(0, LAYOUT)), 0)
    gl.store(Out + rows * o_token + columns, out.to(gl.bfloat16), mask=rows < q_tokens)


@gluon.jit
def _produce(
    q, k, v, listed, count, row, column, q_tiles, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free,
    KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, QK_BYTES: gl.constexpr,
):  # fmt: skip
    mbarrier.expect(q_full, 2 * 64 * D * QK_BYTES)
    for group in gl.static_range(2):
        tma.async_copy_global_to_shared(q, [row + group * 64, column], q_full, q_tiles.index(group))
    for step in range(count):
        first = gl.load(listed + step) * KEYS
        stage = step % STAGES
        phase = ((step // STAGES) & 1) ^ 1
        mbarrier.wait(k_free.index(stage), phase)
        mbarrier.expect(k_full.index(stage), KEYS * D * QK_BYTES)
        tma.async_copy_global_to_shared(k, [first, column], k_full.index(stage), k_tiles.index(stage))
        mbarrier.wait(v_free.index(stage), phase)
        mbarrier.expect(v_full.index(stage), KEYS * D * 2)
        tma.async_copy_global_to_shared(v, [first, column], v_full.index(stage), v_tiles.index(stage))


@gluon.jit
def _consume(
    Out, listed, count, row, column, o_token, q_tokens, k_tokens, scale,
    q_tiles, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free,
    GROUP: gl.constexpr, KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, RAGGED: gl.constexpr,
    QK_BYTES: gl.constexpr,
):  # fmt: skip
    LOGITS: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, KEYS, 32 // QK_BYTES]
    )
    VALUES: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, D, 16]
    )
    WEIGHTS: gl.constexpr = gl.DotOperandLayout(0, VALUES, 2)
    ROWS: gl.constexpr = gl.SliceLayout(1, LOGITS)
    OUT_ROWS: gl.constexpr = gl.SliceLayout(1, VALUES)
    largest = gl.full([64], -float("inf"), gl.float32, ROWS)
    total = gl.full([64], 0.0, gl.float32, ROWS)
    out = gl.zeros([64, D], gl.float32, VALUES)
    nothing = gl.zeros([64, KEYS], gl.float32, LOGITS)
    q = q_tiles.index(GROUP)
    mbarrier.wait(q_full, 0)
    mbarrier.wait(k_full.index(0), 0)
    logits = warpgroup_mma(q, k_tiles.index(0).permute((1, 0)), nothing, use_acc=False, is_async=True)
    logits = warpgroup_mma_wait(0, deps=[logits])
    mbarrier.arrive(k_free.index(0))
    if RAGGED:
        logits = _masked(logits, gl.load(listed) * KEYS, k_tokens, KEYS, LOGITS)
    weights, shrink, largest, total = _softmax_step(logits, largest, total, scale)
    operand = gl.convert_layout(weights.to(gl.bfloat16), WEIGHTS)
    for step in range(1, count):
        stage, phase = step % STAGES, (step // STAGES) & 1
        before, phase_before = (step - 1) % STAGES, ((step - 1) // STAGES) & 1
        mbarrier.wait(k_full.index(stage), phase)
        next_logits = warpgroup_mma(
            q, k_tiles.index(stage).permute((1, 0)), nothing, use_acc=False, is_async=True
        )
        mbarrier.wait(v_full.index(before), phase_before)
        next_out = warpgroup_mma(operand, v_tiles.index(before), out, is_async=True)
        logits = warpgroup_mma_wait(1, deps=[next_logits])
        mbarrier.arrive(k_free.index(stage))
        if RAGGED:
            logits = _masked(logits, gl.load(listed + step) * KEYS, k_tokens, KEYS, LOGITS)
        weights, shrink, largest, total = _softmax_step(logits, largest, total, scale)
        out = warpgroup_mma_wait(0, deps=[next_out])
        mbarrier.arrive(v_free.index(before))
        out = out * gl.expand_dims(gl.convert_layout(shrink, OUT_ROWS), 1)
        operand = gl.convert_layout(weights.to(gl.bfloat16), WEIGHTS)
    last = (count - 1) % STAGES
    mbarrier.wait(v_full.index(last), ((count - 1) // STAGES) & 1)
    next_out = warpgroup_mma(operand, v_tiles.index(last), out, is_async=True)
    out = warpgroup_mma_wait(0, deps=[next_out])
    _store(Out, out, total, row + GROUP * 64, column, o_token, q_tokens, D, VALUES)


@gluon.jit
def attend_wide(
    q, k, v, Out, Order, Indices, Counts, scale, o_token, q_blocks, k_blocks, q_tokens, k_tokens,
    KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, RAGGED: gl.constexpr, QK_BYTES: gl.constexpr,
    CONSUMER_REGISTERS: gl.constexpr, PRODUCER_REGISTERS: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    tile = gl.load(Order + gl.program_id(0))
    column = tile // q_blocks * D
    row = (tile % q_blocks) * 128
    count = gl.load(Counts + tile)
    listed = Indices + tile * k_blocks
    q_tiles = gl.allocate_shared_memory(q.dtype, [2, 64, D], q.layout)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, KEYS, D], k.layout)
    v_tiles = gl.allocate_shared_memory(gl.bfloat16, [STAGES, KEYS, D], v.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_full, count=1)
    for stage in gl.static_range(STAGES):
        mbarrier.init(k_full.index(stage), count=1)
        mbarrier.init(v_full.index(stage), count=1)
        mbarrier.init(k_free.index(stage), count=2)
        mbarrier.init(v_free.index(stage), count=2)
    fence_async_shared()
    FIRST: gl.constexpr = 0
    SECOND: gl.constexpr = 1
    gl.warp_specialize(
        [
            (_consume, (
                Out, listed, count, row, column, o_token, q_tokens, k_tokens, scale, q_tiles, k_tiles, v_tiles,
                q_full, k_full, k_free, v_full, v_free, FIRST, KEYS, D, STAGES, RAGGED, QK_BYTES,
            )),
            (_consume, (
                Out, listed, count, row, column, o_token, q_tokens, k_tokens, scale, q_tiles, k_tiles, v_tiles,
                q_full, k_full, k_free, v_full, v_free, SECOND, KEYS, D, STAGES, RAGGED, QK_BYTES,
            )),
            (_produce, (
                q, k, v, listed, count, row, column, q_tiles, k_tiles, v_tiles, q_full, k_full, k_free, v_full,
                v_free, KEYS, D, STAGES, QK_BYTES,
            )),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )  # fmt: skip


@gluon.jit
def attend_narrow(
    q, k, v, Out, Order, Indices, Counts, scale, o_token, q_blocks, k_blocks, q_tokens, k_tokens,
    KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, RAGGED: gl.constexpr, QK_BYTES: gl.constexpr,
    num_warps: gl.constexpr,
):  # fmt: skip
    LOGITS: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, KEYS, 32 // QK_BYTES]
    )
    VALUES: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, D, 16]
    )
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
            logits = _masked(logits, gl.load(listed + step) * KEYS, k_tokens, KEYS, LOGITS)
        weights, shrink, largest, total = _softmax_step(logits, largest, total, scale)
        out = out * gl.expand_dims(gl.convert_layout(shrink, OUT_ROWS), 1)
        operand = gl.convert_layout(weights.to(gl.bfloat16), WEIGHTS)
        mbarrier.wait(v_full.index(stage), phase)
        out = warpgroup_mma(operand, v_tiles.index(stage), out, is_async=True)
        out = warpgroup_mma_wait(0, deps=[out])
        mbarrier.expect(v_full.index(stage), KEYS * D * 2, pred=more)
        tma.async_copy_global_to_shared(
            v, [first, column], v_full.index(stage), v_tiles.index(stage), pred=more
        )
    _store(Out, out, total, row, column, o_token, q_tokens, D, VALUES)
