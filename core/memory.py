"""What an engine remembers: the ring of recent frames, the bank of all history, and the window over both."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.config import (
    SINK_FRAMES,
    AttentionConfig,
    CacheConfig,
    EngineConfig,
    RetrievalPolicy,
)
from worldattention.core.hkv.bank import BankMark, KVBank, Recall
from worldattention.core.hkv.events import split_events
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.retrieval import Retrieval
from worldattention.core.hkv.ring import FrameRing
from worldattention.core.hkv.store import open_store
from worldattention.core.hkv.window import (
    Window,
    WindowPlan,
    kept_frames,
    plan_window,
    plan_window_authors,
    without,
)
from worldattention.core.models.world import WorldModel
from worldattention.core.preview import ChunkPreview, RecallPreview
from worldattention.core.window_attention import Observer, WindowAttention
from worldattention.kernels import ops
from worldattention.kernels.reference.rope import rotary_table, spatial_table


@dataclass(frozen=True, slots=True)
class Recalled:
    """Pages in the window since the last recall, in chronological order, and the frame at which it happened."""

    pages: tuple[PageInfo, ...] = ()
    switch_frame: int = 0


@dataclass(frozen=True, slots=True)
class Rewound:
    """A memory of an earlier moment: the ring's frames that it has, those that it lacks, and whether bits are equal."""

    memory: WorldMemory
    there: set[int]
    missing: set[int]
    exact: bool


class WorldMemory:
    """Ring, bank and window of one world."""

    def __init__(
        self, model: WorldModel, config: EngineConfig, bank: KVBank, ring: FrameRing, window: Window
    ) -> None:
        self._model = model
        self.config = config
        self.bank = bank
        self.ring = ring
        self.window = window
        self.recalled = Recalled()
        self._held: Recall | None = None

    @classmethod
    def empty(cls, model: WorldModel, config: EngineConfig) -> WorldMemory:
        """The memory of a world without history."""
        shape = kv_shape(model)
        ring = FrameRing(shape, config.cache.budget_frames + 8, SINK_FRAMES, model.device)
        return cls(model, config, _new_bank(model, config), ring, new_window(model, config.cache))

    def renewed(self) -> WorldMemory:
        """The memory of a world without history in the same ring and window; this one is closed.

        Passes that were captured over the window can be replayed there.
        """
        self._hold(())
        self.bank.close()
        self.ring.clear()
        self.window.invalidate()
        bank = _new_bank(self._model, self.config)
        return WorldMemory(self._model, self.config, bank, self.ring, self.window)

    def fork(self) -> WorldMemory:
        """A copy that goes on by itself; pages are shared."""
        window = new_window(self._model, self.config.cache)
        other = WorldMemory(self._model, self.config, self.bank.fork(), self.ring.fork(), window)
        other.recalled = self.recalled
        return other

    def rewound(self, mark: BankMark, recalled: Recalled, frames_done: int) -> Rewound:
        """The memory as it was after `frames_done` latent frames, pages shared.

        It lacks frames whose page was dropped. `complete` must be called once they are there.
        """
        cache = self.config.cache
        window, ring = new_window(self._model, cache), self.ring.empty()
        other = WorldMemory(self._model, self.config, self.bank.fork(mark), ring, window)
        other.recalled = recalled
        other.ring.frames_done = frames_done
        recent = range(max(0, frames_done - cache.budget_frames), frames_done)
        wanted = {*range(min(SINK_FRAMES, frames_done)), *recent}
        found: set[int] = set()
        deadline, self.bank.read_deadline_ms = (
            self.bank.read_deadline_ms,
            None,
        )  # what is there shall be found
        try:
            lossy = self._restore(other.ring, wanted, found)
        except BaseException:
            other.close()
            raise
        finally:
            self.bank.read_deadline_ms = deadline
        return Rewound(other, found, wanted - found, not lossy)

    def complete(self, mark: BankMark, block_frames: int) -> None:
        """Fills the open page, which holds the newest frames, from the ring: in the parts that blocks gave it."""
        start, end = mark.open_first, mark.open_first + mark.open_frames
        edges = sorted({start, end, *range(start - start % block_frames, end, block_frames)})
        parts = [(first, then) for first, then in itertools.pairwise(edges) if start <= first]
        self.bank.reopen(mark, (self._frames(first, then - first) for first, then in parts))

    def readable(self, pages: tuple[PageInfo, ...]) -> tuple[PageInfo, ...]:
        """Those of these pages that can be read; they stay held."""
        held = self._hold(tuple(page.id for page in pages))
        return tuple(page for page in pages if page.id in held)

    def plan_block(
        self, cache: CacheConfig, frames_done: int, recalled: Recalled, there: set[int]
    ) -> WindowPlan:
        """The window of a past block, without the frames that are not `there`; its pages must be readable."""
        plan = plan_window_of(cache, recalled, frames_done)
        return without(plan, lambda span, frame: span.page is not None or frame in there)

    def install_plan(self, plan: WindowPlan) -> None:
        """Brings the window to a plan of `plan_block`."""
        self.window.invalidate()
        self.window.install(plan, self.ring, self._held.pages if self._held is not None else {})

    def recall_due(self, prompt: str, block: int, changed: bool, last_policy: RetrievalPolicy) -> bool:
        """At a prompt switch, when the policy was switched after one, and every N blocks if asked for.

        What stage 1 lets through is then read from the disk while the block's first pass runs.
        """
        cache = self.config.cache
        if cache.retrieval == "none" or block == 0 or not self.bank.pages:
            return False
        every = cache.recall_every_blocks
        switched = cache.retrieval != last_policy and self.recalled.switch_frame > 0
        due = changed or switched or (every > 0 and block % every == 0)
        if due and cache.retrieval in ("hkv", "chunk"):
            self.bank.prefetch(self.preview(prompt).page_ids)
        return due

    def retrieve(self, query: Tensor, prompt: str, block: int) -> Retrieval:
        """Every score and the choice of pages. query [S, H, D]."""
        self.bank.seed, self.bank.config = self.config.seed, self.config.cache
        policy = self.config.cache.retrieval
        return self.bank.retrieve(query, self._event_vectors(prompt), self._excluded(), policy, block)

    def preview(self, prompt: str) -> RecallPreview:
        """Stage 1 alone: the chunks that a recall under `prompt` would draw from."""
        if not prompt.strip() or not self.bank.pages:
            return RecallPreview(prompt)
        events, vectors = self._events(prompt), self._event_vectors(prompt)
        said = events if len(events) > 1 else ("",)
        ranked = self.bank.rank_chunks(vectors, self._excluded())
        chunks = (
            ChunkPreview(chunk, similarity, text, pages, said[event])
            for chunk, similarity, text, pages, event in ranked
        )
        return RecallPreview(prompt, tuple(chunks))

    def install(self, recalled: Recalled, denied: tuple[int, ...] = ()) -> tuple[WindowPlan, tuple[int, ...]]:
        """Brings the window to these pages; returns its plan and the ids of pages that could not be read.

        `denied` are taken for such (in a replay, those that were missed then).
        """
        if self.window.freed:
            self.window = new_window(self._model, self.config.cache)
        held = self._hold(tuple(page.id for page in recalled.pages if page.id not in denied))
        present = tuple(page for page in recalled.pages if page.id in held)
        plan = self._plan(Recalled(present, recalled.switch_frame))
        self.window.install(plan, self.ring, held)
        return plan, tuple(page.id for page in recalled.pages if page not in present)

    def attention(
        self, plan: WindowPlan, config: AttentionConfig, observer: Observer | None
    ) -> WindowAttention:
        """Attention over the window as `plan` laid it out, the current block in the slots behind it."""
        steady = plan.frames + self._model.geometry.block_latents == self.window.slots
        return window_attention(self._model, self.window, plan, config, observer, steady)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of ring and window."""
        return self.ring.nbytes + self.window.keys.nbytes + self.window.values.nbytes

    def kept_pages(self) -> Iterator[PageData]:
        """Clean keys and values that are kept, page by page, the open page last; valid until the next one."""
        for page in self.bank.pages:
            if not page.snapshot:
                with self.bank.recall([page.id]) as recall:
                    yield from recall.pages.values()
        if (still_open := self.bank.open_page()) is not None:
            yield still_open

    def sleep(self) -> None:
        """Frees ring and window; what is needed to rewind stays."""
        self._hold(())
        self.ring.free()
        self.window.free()

    def shrink(self, config: EngineConfig) -> None:
        """Goes on with the smaller window of `config`; at no moment does that need more memory than there was."""
        self.config = config
        self._hold(())
        self.window.free()  # `install` makes the new one
        self.ring = self.ring.resized(config.cache.budget_frames + 8)

    def snapshot(self, prompt_vector: Tensor, prompt_text: str, block: int) -> None:
        """Banks the whole window, recalled pages included, as one chunk: the authors' way, at a prompt switch."""
        held = self._hold(tuple(page.id for page in self.recalled.pages))
        plan = self._plan(self.recalled)
        pieces = [
            piece
            for span in plan.spans
            for piece in (self.ring if span.page is None else held[span.page]).pieces(
                span.first_frame, span.frames
            )
        ]
        keys = torch.cat([keys for _, keys, _ in pieces], 1)
        values = torch.cat([values for _, _, values in pieces], 1)
        frames, done = plan.frames, self.ring.frames_done
        layers = list(indexed_layers(self._model))
        table = spatial_table(frames, self._model.geometry.grid, self._model.head_dim, self._model.device)
        self.bank.snapshot(
            keys,
            values,
            ops.rotate(keys[layers], *table),
            frames_done=done,
            prompt_vector=prompt_vector,
            prompt_text=prompt_text,
            block=block,
        )

    def close(self) -> None:
        """Releases ring, window and the bank's tiers."""
        self.sleep()
        self.bank.close()

    def _event_vectors(self, prompt: str) -> list[Tensor]:
        """The pooled vector [E] of every event of a prompt: what the prompt index is asked with."""
        return [self._model.text_encoder.encode(event).pooled for event in self._events(prompt)]

    def _events(self, prompt: str) -> tuple[str, ...]:
        return split_events(prompt) if self.config.cache.split_prompts else (prompt,)

    def _excluded(self) -> tuple[tuple[int, int], ...]:
        """Frames that stay in the window; the authors' is wiped, so that nothing stays in it."""
        cache = self.config.cache
        if cache.authors_layout:
            return ()
        return kept_frames(self.ring.frames_done, cache.sink_frames, cache.min_recent_frames)

    def _restore(self, ring: FrameRing, wanted: set[int], found: set[int]) -> bool:
        """Copies frames from stored pages and the open one into a ring; whether a codec has changed any."""
        lossy = False

        def take(data: PageData) -> None:
            ring.restore(data.info.first_frame, data.keys, data.values)
            found.update(wanted & set(range(data.info.first_frame, data.info.end_frame)))

        for page in self.bank.pages:
            if page.snapshot or wanted.isdisjoint(range(page.first_frame, page.end_frame)):
                continue
            lossy |= self.config.cache.codec != "bf16" and self.bank.tier_of(page.id) != "device"
            with self.bank.recall([page.id]) as recall:
                for data in recall.pages.values():
                    take(data)
        if (still_open := self.bank.open_page()) is not None:
            take(still_open)
        return lossy

    def _frames(self, first_frame: int, frames: int) -> tuple[Tensor, Tensor]:
        pieces = list(self.ring.pieces(first_frame, frames))
        return torch.cat([keys for _, keys, _ in pieces], 1), torch.cat(
            [values for _, _, values in pieces], 1
        )

    def _hold(self, pages: tuple[int, ...]) -> dict[int, PageData]:
        """Pins these pages, then lets the ones held before go: a page in the window stays in its tier."""
        if self._held is None or tuple(self._held.pages) != pages:
            before, self._held = self._held, self.bank.recall(pages)
            if before is not None:
                before.release()
        return self._held.pages

    def _plan(self, recalled: Recalled) -> WindowPlan:
        return plan_window_of(self.config.cache, recalled, self.ring.frames_done)


def plan_window_of(cache: CacheConfig, recalled: Recalled, done: int) -> WindowPlan:
    """The window behind `done` latent frames, as the configuration lays it out."""
    if cache.authors_layout:
        return plan_window_authors(done, cache.budget_frames, recalled.pages, recalled.switch_frame)
    fitting = recalled.pages[max(0, len(recalled.pages) - cache.recalled_pages) :]  # it may have shrunk since
    return plan_window(done, cache.budget_frames, cache.sink_frames, fitting, cache.min_recent_frames)


def kv_shape(model: WorldModel) -> KVShape:
    """Sizes of one latent frame's keys."""
    return KVShape(model.layers, model.geometry.frame_tokens, model.heads, model.head_dim, model.dtype)


def scoring_layers(model: WorldModel, config: EngineConfig) -> tuple[int, ...]:
    """Layers whose mean query and mean keys score pages (DESIGN 3): L/4, L/2, 3L/4, or layer 0 for the authors."""
    if config.preset == "authors":
        return (0,)
    return tuple(sorted({model.layers // 4, model.layers // 2, 3 * model.layers // 4}))


def indexed_layers(model: WorldModel) -> tuple[int, ...]:
    """Layers whose mean keys are kept, so that either preset can score pages: the authors' first."""
    return tuple(
        layer
        for preset in ("authors", "playground")
        for layer in scoring_layers(model, EngineConfig(preset=preset))
    )


def slot_table(model: WorldModel, slots: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines [slots * T, D / 2] of every slot's tokens."""
    positions = torch.arange(slots, device=model.device)
    return rotary_table(positions, model.geometry.grid, model.head_dim)


def _new_bank(model: WorldModel, config: EngineConfig) -> KVBank:
    shape = kv_shape(model)
    store = open_store(config.cache, shape, model.device, model.fingerprint)
    return KVBank(shape, config.cache, indexed_layers(model), store, model.device, config.seed)


def window_attention(
    model: WorldModel,
    window: Window,
    plan: WindowPlan,
    config: AttentionConfig,
    observer: Observer | None,
    steady: bool = False,
) -> WindowAttention:
    """Attention over a window as `plan` laid it out, the current block in the slots behind it."""
    sizes = model.geometry
    start = plan.frames * sizes.frame_tokens
    end = start + sizes.block_tokens
    keys, values = window.keys[:, :, :end], window.values[:, :, :end]
    rotary = window.current_table(sizes.block_tokens)
    return WindowAttention(keys, values, start, rotary, model.hsa, config, observer, steady)


def new_window(model: WorldModel, cache: CacheConfig) -> Window:
    """An empty window of the configuration's size."""
    block = model.geometry.block_latents
    table = slot_table(model, cache.budget_frames + block)
    return Window(kv_shape(model), cache.budget_frames, block, table, model.device)
