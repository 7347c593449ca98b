"""Block-sparse attention for Hopper, 128 query rows: one program a multiprocessor, each with an equal share of steps.

One producer warp feeds rings of key and value tiles, and two slots of queries, through all tiles of its share; two
consumer warpgroups of 64 rows each run the product of the next keys while the last weights meet their values (as in
FlashAttention-3). Tiles that a share cuts are left in parts, which `triton.shares.merge` puts together.

Layout of q, k, v: [L, H * D] through tensor descriptors.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from worldattention.kernels.gluon.steps import feed, tile_layout, walk


@gluon.jit
def _span(Table):
    at = Table + gl.program_id(0) * 8
    return gl.load(at), gl.load(at + 1), gl.load(at + 2), gl.load(at + 3), gl.load(at + 4)


@gluon.jit
def _piece(Starts, Counts, item, waves, begin, first, last):
    """The tile of an item, its first step, the step after its last, and whether that is all of the tile."""
    whole = item < waves
    tile = gl.where(whole, item * gl.num_programs(0) + gl.program_id(0), begin + item - waves)
    count = gl.load(Counts + tile)
    start = gl.load(Starts + tile)
    opening = gl.where(whole, 0, gl.maximum(first - start, 0))
    closing = gl.where(whole, count, gl.minimum(last - start, count))
    return tile, opening, closing, (opening == 0) & (closing == count)


@gluon.jit
def _produce(
    q, k, v, Table, Starts, Indices, Counts, q_blocks, k_blocks,
    q_tiles, k_tiles, v_tiles, q_full, q_free, k_full, k_free, v_full, v_free,
    KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, SLOTS: gl.constexpr, QK_BYTES: gl.constexpr,
):  # fmt: skip
    waves, begin, end, first, last = _span(Table)
    done = 0
    for item in range(0, waves + end - begin):
        tile, opening, closing, _ = _piece(Starts, Counts, item, waves, begin, first, last)
        listed = Indices + tile * k_blocks
        column = tile // q_blocks * D
        row = (tile % q_blocks) * 128
        slot = item % SLOTS
        mbarrier.wait(q_free.index(slot), ((item // SLOTS) & 1) ^ 1)
        mbarrier.expect(q_full.index(slot), 2 * 64 * D * QK_BYTES)
        for group in gl.static_range(2):
            tma.async_copy_global_to_shared(
                q, [row + group * 64, column], q_full.index(slot), q_tiles.index(slot * 2 + group)
            )
        done = feed(
            k, v, listed, opening, closing, done, column, k_tiles, v_tiles, k_full, k_free, v_full, v_free,
            KEYS, D, STAGES, QK_BYTES,
        )  # fmt: skip


@gluon.jit
def _consume(
    o, Out, Part, Largest, Total, Table, Starts, Indices, Counts, q_blocks, k_blocks, o_token, q_tokens, k_tokens,
    scale, q_tiles, k_tiles, v_tiles, q_full, q_free, k_full, k_free, v_full, v_free,
    GROUP: gl.constexpr, KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, SLOTS: gl.constexpr,
    RAGGED: gl.constexpr, QK_BYTES: gl.constexpr, TMA_STORE: gl.constexpr,
):  # fmt: skip
    VALUES: gl.constexpr = tile_layout(D)
    ROWS: gl.constexpr = gl.SliceLayout(1, tile_layout(KEYS, QK_BYTES))
    OUT_ROWS: gl.constexpr = gl.SliceLayout(1, VALUES)
    waves, begin, end, first, last = _span(Table)
    done = 0
    items = waves + end - begin
    tile, opening, closing, whole = _piece(Starts, Counts, 0, waves, begin, first, last)
    for item in range(0, items):
        # Read ahead: the next piece is known before this one is done.
        ahead = gl.minimum(item + 1, items - 1)
        next_tile, next_opening, next_closing, next_whole = _piece(
            Starts, Counts, ahead, waves, begin, first, last
        )
        listed = Indices + tile * k_blocks
        column = tile // q_blocks * D
        row = (tile % q_blocks) * 128 + GROUP * 64
        slot = item % SLOTS
        q = q_tiles.index(slot * 2 + GROUP)
        mbarrier.wait(q_full.index(slot), (item // SLOTS) & 1)
        out, largest, total, done = walk(
            q, listed, opening, closing, done, k_tokens, scale, k_tiles, v_tiles, k_full, k_free, v_full, v_free,
            GROUP, KEYS, D, STAGES, RAGGED, QK_BYTES,
        )  # fmt: skip
        if not TMA_STORE:
            mbarrier.arrive(q_free.index(slot))
        inside = gl.arange(0, 64, OUT_ROWS)
        channels = gl.expand_dims(gl.arange(0, D, gl.SliceLayout(0, VALUES)), 0)
        if whole:
            finished = (out * gl.expand_dims(gl.convert_layout(1.0 / total, OUT_ROWS), 1)).to(gl.bfloat16)
            if TMA_STORE:  # the queries of this group are spent: their place takes the result
                q.store(finished)
                fence_async_shared()
                tma.async_copy_shared_to_global(o, [row, column], q)
                tma.store_wait(0)
            else:
                rows = gl.expand_dims(row + inside, 1)
                gl.store(Out + rows * o_token + column + channels, finished, mask=rows < q_tokens)
        else:
            place = (2 * gl.program_id(0) + gl.where(opening > 0, 0, 1)) * 128 + GROUP * 64
            gl.store(Part + (place + gl.expand_dims(inside, 1)) * D + channels, out)
            stats = place + gl.arange(0, 64, ROWS)
            gl.store(Largest + stats, largest)
            gl.store(Total + stats, total)
        if TMA_STORE:
            mbarrier.arrive(q_free.index(slot))
        tile, opening, closing, whole = next_tile, next_opening, next_closing, next_whole


@gluon.jit
def attend_shares(
    q, k, v, o, Out, Part, Largest, Total, Table, Starts, Indices, Counts, scale, o_token, q_blocks, k_blocks,
    q_tokens, k_tokens,
    KEYS: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, SLOTS: gl.constexpr, RAGGED: gl.constexpr,
    QK_BYTES: gl.constexpr, TMA_STORE: gl.constexpr,
    CONSUMER_REGISTERS: gl.constexpr, PRODUCER_REGISTERS: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    q_tiles = gl.allocate_shared_memory(q.dtype, [SLOTS * 2, 64, D], q.layout)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, KEYS, D], k.layout)
    v_tiles = gl.allocate_shared_memory(gl.bfloat16, [STAGES, KEYS, D], v.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    q_free = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(q_full.index(slot), count=1)
        mbarrier.init(q_free.index(slot), count=2)
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
                o, Out, Part, Largest, Total, Table, Starts, Indices, Counts, q_blocks, k_blocks, o_token, q_tokens,
                k_tokens, scale, q_tiles, k_tiles, v_tiles, q_full, q_free, k_full, k_free, v_full, v_free,
                FIRST, KEYS, D, STAGES, SLOTS, RAGGED, QK_BYTES, TMA_STORE,
            )),
            (_consume, (
                o, Out, Part, Largest, Total, Table, Starts, Indices, Counts, q_blocks, k_blocks, o_token, q_tokens,
                k_tokens, scale, q_tiles, k_tiles, v_tiles, q_full, q_free, k_full, k_free, v_full, v_free,
                SECOND, KEYS, D, STAGES, SLOTS, RAGGED, QK_BYTES, TMA_STORE,
            )),
            (_produce, (
                q, k, v, Table, Starts, Indices, Counts, q_blocks, k_blocks,
                q_tiles, k_tiles, v_tiles, q_full, q_free, k_full, k_free, v_full, v_free,
                KEYS, D, STAGES, SLOTS, QK_BYTES,
            )),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )  # fmt: skip
