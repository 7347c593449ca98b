"""Equal shares: every step belongs to one program, and cut tiles are put together rightly."""

import pytest
import torch

from worldattention.kernels.triton import shares

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize(("heads", "q_blocks", "programs"), [(2, 3, 4), (1, 1, 5), (3, 2, 2), (1, 2, 16)])
def test_cut_tiles_are_merged(heads, q_blocks, programs, equal):
    rows, channels, keys = 32, 16, 8
    q_tokens = q_blocks * rows - 5
    counts = torch.randint(1, 7, (1, heads, q_blocks), dtype=torch.int32, device=DEVICE)
    if equal:
        counts[:] = 5
    given = shares.share(counts, programs)
    different = len(set(counts.flatten().tolist())) > 1
    waves = 0 if different else counts.numel() // programs
    assert (given.table[:, 0] == waves).all()
    steps = int(counts.max()) if counts.numel() else 0
    assert given.table[0, 3] == 0
    assert given.table[programs - 1, 4] == counts.flatten()[waves * programs :].sum()
    sizes = given.table[:programs, 4] - given.table[:programs, 3]
    assert sizes.max() - sizes.min() <= 1
    parts = shares.room(programs, rows, channels, torch.device(DEVICE))
    for part in parts:
        part.fill_(torch.nan)
    out = torch.full((1, q_tokens, heads, channels), torch.nan, device=DEVICE)
    expected = torch.empty_like(out)
    logits, values = (
        torch.randn(heads, q_blocks, rows, steps * keys, device=DEVICE),
        torch.randn(heads, q_blocks, steps * keys, channels, device=DEVICE),
    )
    for program, (_, begin, end, first, last) in enumerate(given.table[:programs, :5].tolist()):
        whole = [wave * programs + program for wave in range(waves)]
        for tile in [*whole, *range(begin, end)]:
            head, block = divmod(tile, q_blocks)
            start, count = int(given.starts[tile]), int(counts.flatten()[tile])
            opening, closing = max(first - start, 0), min(last - start, count)
            if tile in whole:
                opening, closing = 0, count
            assert closing > opening
            span = slice(opening * keys, closing * keys)
            piece = logits[head, block, :, span]
            largest = piece.amax(-1)
            weights = (piece - largest[:, None]).exp2()
            part = weights @ values[head, block, span]
            tokens = slice(block * rows, min((block + 1) * rows, q_tokens))
            wide = logits[head, block, :, : count * keys].double() * torch.tensor(2.0).log().double()
            right = wide.softmax(-1) @ values[head, block, : count * keys].double()
            expected[0, tokens, head] = right[: tokens.stop - tokens.start].float()
            if opening == 0 and closing == count:
                out[0, tokens, head] = (part / weights.sum(-1)[:, None])[: tokens.stop - tokens.start]
            else:
                slot = 2 * program + (0 if opening > 0 else 1)
                parts.out[slot], parts.largest[slot], parts.total[slot] = part, largest, weights.sum(-1)
    shares.merge(parts, given, counts, out)
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-4)
