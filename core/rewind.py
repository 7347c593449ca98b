"""Going back: what a world was between two blocks, from its pages where they are kept, else from its latents.

With all pages there the world goes on bit for bit. Keys and values whose pages were dropped are computed again by
context passes over the latents; the window of such a pass lacks what is gone before it, so what follows is
approximate (DESIGN 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.history import BlockRecord
from worldattention.core.hkv.window import WindowPlan
from worldattention.core.journal import Journal
from worldattention.core.memory import Recalled, WorldMemory
from worldattention.core.models.vae import StreamingDecoder

REBUILT = (
    "The pages of this moment are gone, so the world goes on from what its latents still tell: approximately as "
    "before. Raise --dram-quota or --disk-quota to keep all pages."
)
CODED = (
    "The pages of this moment were kept in fewer bits, so the world goes on approximately as before: "
    "keep them as bf16 to have equal pictures."
)
LACKING = (
    "Pages that this past had recalled are gone, so from here on it is only approximately what it was. "
    "Raise --dram-quota or --disk-quota to keep all pages."
)

CleanPass = Callable[[WindowPlan, Tensor, BlockRecord], tuple[Tensor, Tensor]]
"""Keys and values [layers, L, H, D] of latents [F, C, h, w] behind a window."""


@contextmanager
def closed_on_failure(memory: WorldMemory) -> Iterator[None]:
    """A memory that cannot be brought back gives its pages up. Raises UserError for latents that cannot be read."""
    try:
        yield
    except OSError as error:
        memory.close()
        raise UserError("The latents of this world cannot be read any more: restart it.") from error
    except BaseException:
        memory.close()
        raise


def replay_decoder(decoder: StreamingDecoder, journal: Journal, block: int) -> None:
    """Brings a new decoder to its state before `block`, block by block, so that equal kernels run. Raises OSError."""
    if block == 0:
        return
    frames = len(journal.latents(block - 1))
    for before in range(max(0, block - -(-decoder.reach_latents // frames)), block):
        decoder.decode_block(journal.latents(before))


def rebuild(
    memory: WorldMemory, there: set[int], missing: set[int], journal: Journal, clean_pass: CleanPass
) -> None:
    """Puts the missing latent frames into the ring of a rewound memory. Raises OSError."""
    size = len(journal.latents(0))
    tokens = memory.ring.shape.frame_tokens
    for block in sorted({frame // size for frame in missing}):
        record, first = journal.records[block], block * size
        pages = memory.readable(tuple(memory.bank.pages[page] for page in record.pages))
        switched = first if record.recalled else journal.moments[block].recalled.switch_frame
        cache = record.config(memory.config).cache
        plan = memory.plan_block(cache, first, Recalled(pages, switched), there)
        memory.install_plan(plan)
        keys, values = clean_pass(plan, journal.latents(block), record)
        for frame in missing & set(range(first, first + size)):
            part = slice((frame - first) * tokens, (frame - first + 1) * tokens)
            memory.ring.restore(frame, keys[:, part], values[:, part])
            there.add(frame)
    memory.window.invalidate()
