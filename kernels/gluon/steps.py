"""The steps that the Hopper kernels share: a consumer's walk over key tiles, and what feeds it.

Rings of key and value tiles have `STAGES` places. A consumer is a warpgroup of 64 query rows; it runs the product of
the next keys while the last weights meet their values (as in FlashAttention-3). `done` counts tiles through the life of
a program, so that rings go on from one span of steps to the next.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait


@gluon.constexpr_function
def tile_layout(columns, operand_bytes=2):
    """Of the product of 64 rows by one warpgroup."""
    return gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, columns, 32 // operand_bytes]
    )


@gluon.jit
def softmax_step(logits, largest, total, scale):
    higher = gl.maximum(largest, gl.max(logits, 1) * scale)
    weights = gl.exp2(logits * scale - gl.expand_dims(higher, 1))
    shrink = gl.exp2(largest - higher)
    total = total * shrink + gl.sum(weights, 1)
    return weights, shrink, higher, total


@gluon.jit
def masked(logits, first, k_tokens, KEYS: gl.constexpr, LOGITS: gl.constexpr):
    tokens = first + gl.arange(0, KEYS, gl.SliceLayout(0, LOGITS))
    return gl.where(gl.expand_dims(tokens, 0) < k_tokens, logits, -float("inf"))


@gluon.jit
def feed(
    k, v, listed, opening, closing, done, column, k_tiles, v_tiles, k_full, k_free, v_full, v_free,
    KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, QK_BYTES: gl.constexpr,
):  # fmt: skip
    """Load the key and value tiles of steps from `opening` to `closing`; returns `done` behind them."""
    for step in range(opening, closing):
        token = gl.load(listed + step) * KEYS
        stage = done % STAGES
        phase = ((done // STAGES) & 1) ^ 1
        mbarrier.wait(k_free.index(stage), phase)
        mbarrier.expect(k_full.index(stage), KEYS * D * QK_BYTES)
        tma.async_copy_global_to_shared(k, [token, column], k_full.index(stage), k_tiles.index(stage))
        mbarrier.wait(v_free.index(stage), phase)
        mbarrier.expect(v_full.index(stage), KEYS * D * 2)
        tma.async_copy_global_to_shared(v, [token, column], v_full.index(stage), v_tiles.index(stage))
        done += 1
    return done


@gluon.jit
def walk(
    q, listed, opening, closing, done, k_tokens, scale, k_tiles, v_tiles, k_full, k_free, v_full, v_free,
    GROUP: gl.constexpr, KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, RAGGED: gl.constexpr,
    QK_BYTES: gl.constexpr,
):  # fmt: skip
    """Attention of 64 queries over steps from `opening` to `closing`, at least one.

    Returns the result not divided, the largest logit and the total of each row, and `done` behind the steps.
    """
    LOGITS: gl.constexpr = tile_layout(KEYS, QK_BYTES)
    VALUES: gl.constexpr = tile_layout(D)
    WEIGHTS: gl.constexpr = gl.DotOperandLayout(0, VALUES, 2)
    ROWS: gl.constexpr = gl.SliceLayout(1, LOGITS)
    OUT_ROWS: gl.constexpr = gl.SliceLayout(1, VALUES)
    largest = gl.full([64], -float("inf"), gl.float32, ROWS)
    total = gl.full([64], 0.0, gl.float32, ROWS)
    out = gl.zeros([64, D], gl.float32, VALUES)
    nothing = gl.zeros([64, KEYS], gl.float32, LOGITS)
    stage = done % STAGES
    mbarrier.wait(k_full.index(stage), (done // STAGES) & 1)
    logits = warpgroup_mma(q, k_tiles.index(stage).permute((1, 0)), nothing, use_acc=False, is_async=True)
    logits = warpgroup_mma_wait(0, deps=[logits])
    mbarrier.arrive(k_free.index(stage))
    if RAGGED:
        logits = masked(logits, gl.load(listed + opening) * KEYS, k_tokens, KEYS, LOGITS)
    weights, shrink, largest, total = softmax_step(logits, largest, total, scale)
    operand = gl.convert_layout(weights.to(gl.bfloat16), WEIGHTS)
    for step in range(opening + 1, closing):
        before = done % STAGES
        phase_before = (done // STAGES) & 1
        done += 1
        stage = done % STAGES
        mbarrier.wait(k_full.index(stage), (done // STAGES) & 1)
        next_logits = warpgroup_mma(
            q, k_tiles.index(stage).permute((1, 0)), nothing, use_acc=False, is_async=True
        )
        mbarrier.wait(v_full.index(before), phase_before)
        next_out = warpgroup_mma(operand, v_tiles.index(before), out, is_async=True)
        logits = warpgroup_mma_wait(1, deps=[next_logits])
        mbarrier.arrive(k_free.index(stage))
        if RAGGED:
            logits = masked(logits, gl.load(listed + step) * KEYS, k_tokens, KEYS, LOGITS)
        weights, shrink, largest, total = softmax_step(logits, largest, total, scale)
        out = warpgroup_mma_wait(0, deps=[next_out])
        mbarrier.arrive(v_free.index(before))
        out = out * gl.expand_dims(gl.convert_layout(shrink, OUT_ROWS), 1)
        operand = gl.convert_layout(weights.to(gl.bfloat16), WEIGHTS)
    stage = done % STAGES
    mbarrier.wait(v_full.index(stage), (done // STAGES) & 1)
    next_out = warpgroup_mma(operand, v_tiles.index(stage), out, is_async=True)
    out = warpgroup_mma_wait(0, deps=[next_out])
    mbarrier.arrive(v_free.index(stage))
    done += 1
    return out, largest, total, done
