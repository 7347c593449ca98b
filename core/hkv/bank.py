"""The bank: every latent frame of a world in exactly one page (or in the open one), and its recall.

Whatever the preset: the snapshots of `authors` come beside them, so that a world can go on with the other preset.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from worldattention.core.config import CacheConfig, RetrievalPolicy
from worldattention.core.heap import lasting_memory
from worldattention.core.hkv.index import PageIndex, PromptIndex, Rows, unit_vector
from worldattention.core.hkv.open_page import Chunk, OpenPage
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.retrieval import Limits, Memory, Retrieval, rank_chunks, retrieve
from worldattention.core.hkv.store import TieredStore
from worldattention.core.telemetry import TierUsage, prompt_hash


@dataclass(slots=True, eq=False)
class Recall:
    """Recalled pages, pinned until `release` (or the end of a `with`); `missed`: pages whose data is gone."""

    pages: dict[int, PageData]
    missed: tuple[int, ...]
    _store: TieredStore
    _handles: list[int]

    def release(self) -> None:
        """Drop the pins; the pages' tensors must not be read any more."""
        for handle in self._handles:
            self._store.release_pin(handle)
        self._handles = []
        self.pages = {}

    def __enter__(self) -> "Recall":
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


@dataclass(frozen=True, slots=True, eq=False)
class BankMark:
    """Where a bank stood between two blocks; with its pages, enough to go back there."""

    pages: int
    chunks: int
    chunk: Chunk | None
    open_first: int
    open_frames: int
    blocks: int
    frames_done: int


class KVBank:
    """Append-only memory of one world (B = 1: no tensor has a batch dimension).

    `indexed_layers`: model layers whose mean keys are kept. `playground` scores by the last ones, as many as its
    query has, `authors` by the first. `seed` matters to the `random` policy only.
    """

    def __init__(
        self,
        shape: KVShape,
        config: CacheConfig,
        indexed_layers: Sequence[int],
        store: TieredStore,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        self.shape, self.config, self.seed = shape, config, seed
        self._layers = list(indexed_layers)
        self._store = store
        self._prompts = PromptIndex()
        self._index = PageIndex(len(self._layers), shape.heads, shape.head_dim, device)
        self._handles: list[int] = []
        self._page_of: dict[int, int] = {}
        self._there = Rows((), torch.bool, "cpu")
        self.carried_frames = 0  # made before `authors` was chosen, which recalls these page by page
        self._moved: set[int] = set()
        self._followed = 0
        self._chunk: Chunk | None = None
        size = (2, *shape.tensor(config.page_frames))
        self._open = OpenPage(lasting_memory(size, shape.dtype, device))
        self._blocks = 0
        self.frames_done = 0

    @property
    def pages(self) -> Sequence[PageInfo]:
        """Every stored page, by id (do not change the list)."""
        return self._index.pages

    @property
    def open_frames(self) -> int:
        """Latent frames in the page that is not yet stored."""
        return self._open.frames

    @property
    def chunk_hashes(self) -> Sequence[str]:
        """Prompt hash of every chunk, by id."""
        return self._prompts.hashes

    def begin_chunk(self, prompt_vector: Tensor, prompt_text: str) -> None:
        """A prompt segment starts: the open page is closed short. `prompt_vector [E]`, any length but 0."""
        self.close_page()
        self._chunk = Chunk(unit_vector(prompt_vector), prompt_text, prompt_hash(prompt_text))

    def append(self, keys: Tensor, values: Tensor, block: int | None = None) -> None:
        """Bank the clean un-rotated keys and values of the next latent frames, `[layers, frames * T, H, D]`.

        `block`: the block that made them (by default, the number of earlier calls).

        Raises:
            ValueError: wrong shape, or no chunk was begun.
        """
        frames = self.shape.frames_of(keys, values)
        block = self._blocks if block is None else block
        self._blocks = block + 1
        size, start = self.shape.frame_tokens, 0
        while start < frames:
            chunk = self._writable_chunk()
            room = min(self.config.page_frames - self._open.frames, self.config.chunk_frames - chunk.frames)
            count = min(room, frames - start)
            part = slice(start * size, (start + count) * size)
            self._fill(keys[:, part], values[:, part], count)
            chunk.frames += count
            start += count
            if self._open.frames == self.config.page_frames or chunk.frames == self.config.chunk_frames:
                self._store_open_page(block)

    def close_page(self) -> None:
        """Store the open page, however short; nothing happens when it is empty."""
        if self._open.frames:
            self._store_open_page(self._blocks - 1)

    def add_lost(self, frames: int, mean: Tensor, block: int = 0) -> None:
        """The next frames as a page whose data is gone: only its mean keys `[S, H, D]` are kept."""
        self.close_page()
        chunk = self._writable_chunk()
        assert chunk.id is not None
        info = PageInfo(len(self.pages), self.frames_done, frames, chunk.id, block)
        chunk.frames += frames
        self.frames_done += frames
        self._add_page(info, mean)

    def snapshot(
        self,
        keys: Tensor,
        values: Tensor,
        index_keys: Tensor,
        *,
        frames_done: int,
        prompt_vector: Tensor,
        prompt_text: str,
        block: int = 0,
    ) -> None:
        """Bank a whole window as one chunk, as the authors do at a prompt switch and only then.

        `keys`, `values [layers, frames * T, H, D]` un-rotated, in slot order; `index_keys [S, frames * T,
        H, D]`: the indexed layers' keys without their temporal rotation; `frames_done`: the world's
        length, where the window ends. Pages are cut from the window's start; the last may be short.
        """
        frames = self.shape.frames_of(keys, values)
        chunk = self._prompts.add(unit_vector(prompt_vector), prompt_text, prompt_hash(prompt_text))
        size = self.shape.frame_tokens
        for start in range(0, frames, self.config.page_frames):
            count = min(self.config.page_frames, frames - start)
            part = slice(start * size, (start + count) * size)
            first = frames_done - frames + start
            info = PageInfo(len(self.pages), first, count, chunk, block, snapshot=True)
            self._add_page(
                PageData(info, keys[:, part], values[:, part]), index_keys[:, part].float().mean(1)
            )

    def retrieve(
        self,
        query: Tensor,
        prompt_vector: Tensor | Sequence[Tensor],
        excluded_frames: Sequence[tuple[int, int]] = (),
        policy: RetrievalPolicy | None = None,
        block: int = 0,
    ) -> Retrieval:
        """Choose pages for a block: `query [S, H, D]`, `excluded_frames` as `window.kept_frames` gives them.

        `prompt_vector [E]`, or one for each event of the prompt; `policy`: by default the configuration's.
        """
        config = self.config
        weights = config.similarity, config.recency, config.diversity
        vectors = [prompt_vector] if isinstance(prompt_vector, Tensor) else prompt_vector
        frames = None if config.authors_layout else self.recall_frames
        memory = self._memory()
        scored = slice(1) if config.authors_layout else slice(-query.shape[0], None)
        return retrieve(
            policy or config.retrieval,
            replace(memory, means=memory.means[:, scored]),
            query,
            torch.stack([unit_vector(vector) for vector in vectors]),
            excluded=excluded_frames,
            limits=Limits(config.recalled_pages, frames, config.stage1_width, *weights),
            preset="authors" if config.authors_layout else "playground",
            seed=self.seed,
            block=block,
        )

    def rank_chunks(
        self, prompt_vectors: Sequence[Tensor], excluded_frames: Sequence[tuple[int, int]] = ()
    ) -> tuple[tuple[int, float, str, tuple[PageInfo, ...], int], ...]:
        """Stage 1 alone: `(chunk, cosine, prompt, pages that a recall could bring, nearest event)`, best first.

        `prompt_vectors`: one `[E]` for each event of the prompt.
        """
        units = torch.stack([unit_vector(vector) for vector in prompt_vectors])
        ranked = rank_chunks(self._memory(), units, excluded_frames, self.config.stage1_width)
        return tuple(
            (chunk, similarity, self._prompts.texts[chunk], tuple(self.pages[page] for page in pages), event)
            for chunk, similarity, event, pages in ranked
        )

    def prefetch(self, page_ids: Sequence[int]) -> None:
        """Start to read pages ahead that lie on the disk, most wanted first. Never changes a result."""
        self._store.prefetch([self._handles[page] for page in page_ids])

    def flush(self) -> None:
        """Wait until every page has arrived where it belongs."""
        self._store.flush()

    @property
    def recall_frames(self) -> int:
        """Latent frames that recalled pages may take in the `playground` window."""
        return max(0, self.config.budget_frames - self.config.sink_frames - self.config.min_recent_frames)

    def recall(self, page_ids: Sequence[int]) -> Recall:
        """Pin pages (each id once) and lift them to the highest tier; one whose data is gone is missed."""
        handles = [self._handles[page] for page in page_ids]
        found = zip(page_ids, self._store.acquire(handles), strict=True)
        pages = {page: replace(data, info=self.pages[page]) for page, data in found if data is not None}
        missed = tuple(page for page in page_ids if page not in pages)
        return Recall(pages, missed, self._store, [self._handles[page] for page in pages])

    @property
    def read_deadline_ms(self) -> float | None:
        """How long a recall waits for the disk; None: as long as it takes. Forks share it."""
        return self._store.read_deadline_ms

    @read_deadline_ms.setter
    def read_deadline_ms(self, deadline_ms: float | None) -> None:
        self._store.read_deadline_ms = deadline_ms

    def configure(self, config: CacheConfig) -> None:
        """Settings of recalls from now on; the quotas stay."""
        self.config, self.read_deadline_ms = config, config.read_deadline_ms

    def tier_of(self, page_id: int) -> str:
        """`device`, `dram`, `disk` or `dropped`."""
        return self._store.tier_of(self._handles[page_id])

    def usage(self) -> tuple[TierUsage, ...]:
        """Figures of every tier."""
        return self._store.usage()

    def take_notices(self) -> tuple[str, ...]:
        """Plain sentences for the user since the last call."""
        return self._store.take_notices()

    def mark(self) -> BankMark:
        """Where the bank stands now, for `fork`."""
        chunk = None if self._chunk is None else replace(self._chunk)
        still_open = self._open.first_frame, self._open.frames
        return BankMark(
            len(self.pages), len(self._prompts), chunk, *still_open, self._blocks, self.frames_done
        )

    def fork(self, mark: BankMark | None = None) -> "KVBank":
        """A world that goes on by itself from here; stored pages are shared, only the open one is copied.

        With `mark` it goes on from there. Its open page is then empty: `reopen` must fill it.
        """
        at = self.mark() if mark is None else mark
        other = object.__new__(KVBank)
        other.shape, other.config, other.seed = self.shape, self.config, self.seed
        other._layers, other._store = self._layers, self._store.share()
        other._prompts, other._index = self._prompts.fork(at.chunks), self._index.fork(at.pages)
        other._handles = self._handles[: at.pages]
        other._page_of = {handle: page for page, handle in enumerate(other._handles)}
        other._there, other._followed = self._there.fork(at.pages), self._followed
        other.carried_frames = self.carried_frames
        other._moved = {page for page in self._moved if page < at.pages}
        for handle in other._handles:
            self._store.retain(handle)
        other._chunk = None if at.chunk is None else replace(at.chunk)
        if mark is None:
            other._open = self._open.fork()
        else:
            buffer = self._open.buffer
            other._open = OpenPage(lasting_memory(buffer.shape, buffer.dtype, buffer.device))
        other._blocks, other.frames_done = at.blocks, at.frames_done
        return other

    def reopen(self, mark: BankMark, parts: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Fill the open page of a fork from `mark` with its frames' keys and values, as they were appended."""
        self.frames_done = mark.frames_done - mark.open_frames
        for keys, values in parts:
            self._fill(keys, values, self.shape.frames_of(keys, values))

    def open_page(self) -> PageData | None:
        """The page that is being filled, as it is now (views that later frames change); None while empty."""
        page = self._open
        if page.frames == 0:
            return None
        tokens = page.frames * self.shape.frame_tokens
        info = PageInfo(len(self.pages), page.first_frame, page.frames, -1, self._blocks)
        return PageData(info, page.buffer[0][:, :tokens], page.buffer[1][:, :tokens])

    def close(self) -> None:
        """Give the pages back; the last bank of a family closes the tiers."""
        for handle in self._handles:
            self._store.release(handle)
        self._handles, self._page_of = [], {}
        self._open.buffer = self._open.buffer.new_empty(0)
        self._store.close()

    def _memory(self) -> Memory:
        self._follow()
        spans, banked = self._index.spans, ~self._index.snapshots
        if self.config.authors_layout:
            banked = ~banked | (spans[:, 0] + spans[:, 1] <= self.carried_frames)
        return Memory(self._prompts.vectors, self._index.means, spans, self._there.view & banked)

    def take_moved(self) -> set[int]:
        """Pages whose tier changed since the last call."""
        self._follow()
        moved, self._moved = self._moved, set()
        return moved

    def _follow(self) -> None:
        """Take in what the store did, so that nothing has to look at every page."""
        self._store.sweep()
        changes = self._store.changes
        for handle in changes[self._followed :]:
            page = self._page_of.get(handle)
            if page is not None:
                self._moved.add(page)
                if not self._store.is_there(handle):  # for good
                    self._there.view[page] = False
        self._followed = len(changes)

    def _writable_chunk(self) -> Chunk:
        """The chunk that takes the next frame: a full one is followed by another with the same prompt."""
        if self._chunk is None:
            raise ValueError("begin a chunk before appending to the bank")
        chunk = self._chunk
        if chunk.id is not None and chunk.frames == self.config.chunk_frames:
            chunk = self._chunk = replace(chunk, vector=self._prompts.vectors[chunk.id], id=None, frames=0)
        if chunk.vector is not None:
            chunk.id, chunk.vector = self._prompts.add(chunk.vector, chunk.text, chunk.hash), None
        return chunk

    def _fill(self, keys: Tensor, values: Tensor, frames: int) -> None:
        page = self._open
        if page.frames == 0:
            page.first_frame = self.frames_done
        start = page.frames * self.shape.frame_tokens
        page.mean.add(keys[self._layers])  # first what may find no memory
        page.buffer[0, :, start : start + keys.shape[1]].copy_(keys)
        page.buffer[1, :, start : start + keys.shape[1]].copy_(values)
        page.frames += frames
        self.frames_done += frames

    def _store_open_page(self, block: int) -> None:
        page, chunk = self._open, self._chunk
        assert chunk is not None
        assert chunk.id is not None
        info = PageInfo(len(self.pages), page.first_frame, page.frames, chunk.id, block)
        tokens = page.frames * self.shape.frame_tokens
        self._add_page(
            PageData(info, page.buffer[0][:, :tokens], page.buffer[1][:, :tokens]), page.mean.take()
        )
        page.frames = 0

    def _add_page(self, data: PageData | PageInfo, mean: Tensor) -> None:
        info = data if isinstance(data, PageInfo) else data.info
        self._index.add(info, mean)
        handle = self._store.put(data)
        self._page_of[handle] = len(self._handles)
        self._handles.append(handle)
        self._there.append(torch.tensor(True))
