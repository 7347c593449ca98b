"""One block after another: `Engine.step() -> BlockResult` (DESIGN 2).

A step is atomic: whatever is cancelled or fails before its end leaves the world as it was. Everything that a block
depends on is its prompt, the configuration, the seed, its index and the history: equal runs give equal frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from worldattention.core.config import SHAPES_MEMORY, AttentionConfig, EngineConfig, memory_shape
from worldattention.core.cuda_graph import graph_recorder
from worldattention.core.draft import Draft
from worldattention.core.errors import UserError, go_on
from worldattention.core.geometry import Geometry
from worldattention.core.history import BlockRecord, block_record
from worldattention.core.hkv.bank import KVBank
from worldattention.core.hkv.session import default_folder
from worldattention.core.hkv.window import WindowPlan
from worldattention.core.journal import Journal, Moment
from worldattention.core.memory import Recalled, WorldMemory, scoring_layers
from worldattention.core.models.world import WorldModel, check_modes
from worldattention.core.passes import KeysValues, Passes
from worldattention.core.pocket.prompts import Understood
from worldattention.core.pocket.text import understood_by
from worldattention.core.prelude import Prelude
from worldattention.core.preview import RecallPreview
from worldattention.core.records import PageRecords, block_telemetry, recall_record
from worldattention.core.rewind import CODED, LACKING, REBUILT, closed_on_failure, rebuild, replay_decoder
from worldattention.core.sampler import denoise, shifted_timesteps
from worldattention.core.small_window import NARROWER, SHRUNK, small_window
from worldattention.core.spoken import Spoken, SpokenPrompts
from worldattention.core.stopwatch import Stopwatch
from worldattention.core.telemetry import BlockResult, BlockTelemetry, prompt_hash
from worldattention.core.window_attention import Observer, WindowAttention, head_arrays
from worldattention.kernels import ops


class Engine:
    """A world that is made block by block. Not thread-safe: one thread owns it."""

    def __init__(self, model: WorldModel, config: EngineConfig) -> None:
        check_modes(model, config)
        self.model = model
        self.config = config
        self.block = 0
        self.epoch = 0
        self._memory = WorldMemory.empty(model, config)
        self._decoder = model.new_decoder()
        self._timesteps = shifted_timesteps(config.sampler)
        self._passes = Passes(model, graph_recorder(model.device) if config.graphs else None)
        self._prompts = SpokenPrompts(model)
        self._spoken: str | None = None
        self._last_policy = config.cache.retrieval
        self._banked_frames = 0
        self._pages = PageRecords()
        self._prelude: Prelude | None = None
        self._journal = Journal.empty(config.cache.folder or default_folder())
        self.approximate = False  # whether the past, as it is remembered, is no longer exactly what it was
        self.notice = ""  # for the next block's record
        self.small = False  # whether it has a smaller window than it was asked for, for want of memory
        self.attention_observer: Observer | None = None  # for measurements of what is really attended to

    @property
    def geometry(self) -> Geometry:
        """Sizes of frames, latents and blocks."""
        return self.model.geometry

    @property
    def bank(self) -> KVBank:
        """All history, page by page: to look at, not to change."""
        return self._memory.bank

    @property
    def device_name(self) -> str:
        """The device as torch names it."""
        return str(self.model.device)

    @property
    def backend(self) -> str:
        """Numeric type and attention backend in use."""
        return f"{self._kernels().family} {str(self.model.dtype).removeprefix('torch.')}"

    def _kernels(self) -> ops.Choice:
        """What runs the sparse branch, and why."""
        model, attention = self.model, self.config.attention
        case = ops.Case(model.device, model.head_dim, attention.block, model.dtype)
        return ops.choose("sparse_attention", case, attention.kernels)

    def configure(self, config: EngineConfig) -> int:
        """Settings from the next block on; returns that block's index.

        Raises UserError when the model cannot run them, or when quotas change after the first block: reset first.
        """
        check_modes(self.model, config)
        config = small_window(config) if self.small else config
        if memory_shape(config) != memory_shape(self.config):
            if self.block:
                raise UserError(SHAPES_MEMORY)
            self.close()
            self._memory = WorldMemory.empty(self.model, config)
        self.config = self._memory.config = config
        self._memory.bank.configure(config.cache)
        carried = self._journal.blocks_before(config.preset) if config.cache.authors_layout else 0
        self._memory.bank.carried_frames = carried * self.geometry.block_latents
        self._timesteps = shifted_timesteps(config.sampler)
        return self.block

    def reset(self, seed: int | None = None) -> None:
        """Back to the first block, with nothing remembered; the configuration stays."""
        if seed is not None:
            self.config = replace(self.config, seed=seed)
        self._memory = self._memory.renewed()
        self._decoder.reset()
        self.block, self._banked_frames, self._spoken, self._pages = 0, 0, None, PageRecords()
        self._last_policy, self._prelude = self.config.cache.retrieval, None
        self._journal, self.approximate = self._journal.renewed(), False
        self.epoch += 1

    @property
    def awake(self) -> float:
        """How much is made, as a share, of what goes before the first block that is shown."""
        if self.block or not self.model.beginning.unseen:
            return 1.0
        return 0.0 if self._prelude is None else self._prelude.share

    @property
    def records(self) -> Sequence[BlockRecord]:
        """What every block was made from (do not change the list)."""
        return self._journal.records

    @property
    def memory(self) -> WorldMemory:
        """Ring, window and bank, to be looked at."""
        return self._memory

    def fork(self, config: EngineConfig | None = None) -> Engine:
        """A second world with the same past, which goes on by itself; pages are shared copy-on-write."""
        other = self._twin(self._memory.fork(), self.block)
        other._decoder.set_state(self._decoder.state())
        other._pages = self._pages.copy()
        if config is not None:
            other.configure(config)
        return other

    def sleep(self) -> None:
        """Frees ring, window and decoder. Only `fork_at`, `records`, `latents` and `close` are of use then."""
        self._passes.forget(self._memory.window.keys)
        self._memory.sleep()
        self._decoder.reset()

    def latents(self, block: int) -> Tensor:
        """[F, C, h, w] fp32 on the CPU, of a block that is made. Raises OSError."""
        return self._journal.latents(block)

    @torch.inference_mode()
    def restore_decoder(self) -> None:
        """Brings the decoder to where the latents end, after `relive`. Raises OSError."""
        self._decoder.reset()
        replay_decoder(self._decoder, self._journal, self.block)

    @torch.inference_mode()
    def fork_at(self, block: int) -> Engine:
        """A second world that goes on from the start of `block` as this one did, with the settings of then.

        Exact while the pages of the window's frames are kept, else `approximate`. Raises UserError when the
        block is not made, or the latents cannot be read.
        """
        if not 0 <= block <= self.block:
            raise UserError(f"Block {block} is not made yet: choose one up to {self.block}.")
        moment = self._moment() if block == self.block else self._journal.moments[block]
        back = self._memory.rewound(moment.bank, moment.recalled, moment.frames_done)
        memory, other = back.memory, self._twin(back.memory, block)
        other.configure(moment.config)
        if memory_shape(moment.config) != memory_shape(other.config):
            other.lose_exactness(NARROWER)
        other._spoken, other._last_policy = moment.spoken, moment.last_policy
        other._banked_frames = moment.banked_frames
        with closed_on_failure(memory):
            replay_decoder(other._decoder, other._journal, block)
            if back.missing or not back.exact:
                rebuild(memory, back.there, back.missing, other._journal, other._clean_pass)
                other.lose_exactness(REBUILT if back.missing else CODED)
            memory.complete(moment.bank, self.geometry.block_latents)
        return other

    def _twin(self, memory: WorldMemory, blocks: int) -> Engine:
        """Another engine over the same model, with a memory, decoder and journal of its own."""
        other = object.__new__(Engine)
        vars(other).update(vars(self))
        other._memory, other.block = memory, blocks
        other._decoder = self.model.new_decoder()
        other._journal, other._pages = self._journal.fork(blocks), PageRecords()
        other._prompts = self._prompts.fork()
        return other

    def make_room(self) -> None:
        """Gives back memory of the device that only saves time."""
        self._passes.make_room()

    def shrink(self) -> None:
        """Goes on with a smaller window, if it has the whole one; says so in the next block's record."""
        if not self.small:
            self.make_room()  # what was captured refers to the old window
            self.small, self.approximate, self.notice = True, True, SHRUNK
            self.config = small_window(self.config)
            self._memory.shrink(self.config)

    def close(self) -> None:
        """Releases memory of the device, memory tiers and their files. The engine cannot be used after."""
        self._passes.forget(self._memory.window.keys)
        self._memory.close()

    @torch.inference_mode()
    def preview(self, prompt: str) -> RecallPreview:
        """What `prompt` would recall if it were the next block's: stage 1 alone, without a pass of the model."""
        return self._memory.preview(prompt)

    def understand(self, prompt: str) -> Understood | None:
        """What the model's world makes of a prompt; None when it cannot say."""
        return understood_by(self.model.text_encoder, prompt)

    def prefetch(self, preview: RecallPreview) -> None:
        """Starts to promote a preview's pages; never changes what a block shows."""
        self._memory.bank.prefetch(preview.page_ids)

    @torch.inference_mode()
    def step(
        self, prompt: str, cancel: Callable[[], bool] | None = None, replay: BlockRecord | None = None
    ) -> BlockResult:
        """Makes the next block under `prompt`; with `replay`, from the pages which that record names.

        `cancel` is asked between all passes of the model. Raises Cancelled or UserError; the world is then unchanged.
        """
        watch, before = Stopwatch(self.model.device), self._moment()
        changed = prompt != self._spoken
        with watch("text"):
            spoken = self._prompts.get(prompt)
        with watch("install"):
            draft = self._open_window(changed, replay)
        policy = "none" if self._journal.turns(self.config.preset, "authors") else self._last_policy
        recall = self._memory.recall_due(prompt, self.block, changed, policy)
        velocity = self._velocity(draft, spoken, recall, cancel, watch)
        scene, shape = self._journal.scene(spoken.text), self.geometry.latent_shape
        prelude = self._begun(spoken, scene, recall)
        with watch("denoise"):
            if prelude is not None:
                latents, table = prelude.block(self.block, cancel, self.attention_observer)
            else:
                begin = self.model.beginning.noises
                noise, *again = begin(self.config.seed, self.block, scene, shape, self.model.device)
                latents = denoise(noise, self._timesteps, velocity, again)
                table = draft.attention.head_table()
        go_on(cancel)
        with watch("context"):
            keys, values = self._passes.clean(draft.attention, latents, spoken)
        go_on(cancel)
        with watch("decode"):
            frames = self._decoder.decode_block(latents[0]).numpy()
            heads, made = head_arrays(table), latents[0].cpu()  # here, where the device is waited for anyway
        with watch("bank"):
            self._commit(draft, spoken, changed, keys, values)
            self._journal.add(before, self._record(draft, spoken), made)
        telemetry = self._telemetry(draft, spoken, changed, heads, watch, len(frames))
        self.block += 1
        return BlockResult(frames, telemetry)

    @torch.inference_mode()
    def relive(self, record: BlockRecord, latents: Tensor, clean: KeysValues | None = None) -> None:
        """Takes the next block from latents [F, C, h, w] and its clean keys and values, else computes those: one pass.

        With the record's pages there, the world is then bit for bit as if it had made the block. Raises UserError.
        """
        self.configure(record.config(self.config))
        before, changed = self._moment(), record.prompt != self._spoken
        spoken = self._prompts.get(record.prompt)
        draft = self._open_window(changed, record)
        if record.recalled:
            self._renew(draft, record.pages + record.missed)
        made = latents[None].to(self.model.device)
        keys, values = clean or self._passes.clean(draft.attention, made, spoken)
        self._commit(draft, spoken, changed, keys, values)
        self._journal.add(before, self._record(draft, spoken), latents)
        self.block += 1

    def _begun(self, spoken: Spoken, scene: int, recall: bool) -> Prelude | None:
        """Whose latents the next block takes, as long as the world goes on as it began."""
        beginning, prelude = self.model.beginning, self._prelude
        early = beginning.unseen > 0 and self.block < beginning.led and not scene and not recall
        if not early or not self._journal.as_begun(self.config):
            if prelude is not None and not prelude.complete:  # it still holds keys and values
                self._prelude = None
            return None
        if prelude is None or not prelude.is_of(self.config, spoken):
            self._prelude = Prelude(self.model, self.config, self._passes, spoken)
        return self._prelude

    def _velocity(
        self, draft: Draft, spoken: Spoken, recall: bool, cancel: Callable[[], bool] | None, watch: Stopwatch
    ) -> Callable[[Tensor, int], Tensor]:
        """The model as the sampler calls it. On a recall block the first step runs twice (DESIGN 2, step 3)."""

        def velocity(latents: Tensor, step: int) -> Tensor:
            go_on(cancel)
            if step == 0 and recall:
                layers = scoring_layers(self.model, self.config)
                query = self._passes.query(latents, self._timesteps[0], spoken, draft.attention, layers)
                with watch("retrieve"):
                    self._recall(draft, spoken, query)
                go_on(cancel)
            return self._passes.predict(latents, self._timesteps[step], spoken, draft.attention)

        return velocity

    def _open_window(self, changed: bool, replay: BlockRecord | None) -> Draft:
        """The window before any recall of this block. A switch, or policy `none`, lets recalled pages go."""
        if changed and self.block:
            self._close_segment()
        recalled = self._memory.recalled
        # The authors' pages are windows, which have no place in time: who follows them chooses anew.
        if self._journal.turns(self.config.preset, "authors"):
            recalled = replace(recalled, pages=())
        if self.config.cache.retrieval == "none" or (changed and self.config.cache.authors_layout):
            recalled = Recalled((), self._memory.ring.frames_done if changed else recalled.switch_frame)
        denied = () if replay is None or replay.recalled else replay.missed
        plan, missed = self._memory.install(recalled, denied)
        return Draft(self._attention(plan), plan, recalled, replay, missed)

    def _close_segment(self) -> None:
        """The authors bank their window here, at a prompt switch. Made again, a cancelled block does not repeat it."""
        frames = self._memory.ring.frames_done
        if self.config.cache.authors_layout and self._banked_frames < frames and self._spoken is not None:
            ended = self._prompts.get(self._spoken)
            self._memory.snapshot(ended.encoding.pooled, ended.text, self.block)
            self._banked_frames = frames

    def _recall(self, draft: Draft, spoken: Spoken, query: Tensor) -> None:
        """Scores pages with the mean query and renews the window."""
        retrieval = self._memory.retrieve(query, spoken.text, self.block)
        if draft.replay is not None:
            retrieval = replace(retrieval, chosen=draft.replay.pages + draft.replay.missed)
        self._renew(draft, retrieval.chosen)
        draft.retrieval = retrieval

    def _renew(self, draft: Draft, chosen: tuple[int, ...]) -> None:
        """The window with the pages chosen in this block."""
        pages = tuple(self._memory.bank.pages[page] for page in chosen)
        draft.recalled, draft.renewed = Recalled(pages, self._memory.ring.frames_done), True
        denied = () if draft.replay is None else draft.replay.missed
        draft.plan, draft.missed = self._memory.install(draft.recalled, denied)
        draft.attention = self._attention(draft.plan)

    def _clean_pass(self, plan: WindowPlan, latents: Tensor, record: BlockRecord) -> tuple[Tensor, Tensor]:
        """Clean keys and values of a past block behind the window that `plan` laid out."""
        attention = self._attention(plan, record.config(self.config).attention)
        spoken = self._prompts.get(record.prompt)
        return self._passes.clean(attention, latents[None].to(self.model.device), spoken)

    def _attention(self, plan: WindowPlan, config: AttentionConfig | None = None) -> WindowAttention:
        return self._memory.attention(plan, config or self.config.attention, self.attention_observer)

    def _commit(self, draft: Draft, spoken: Spoken, changed: bool, keys: Tensor, values: Tensor) -> None:
        """The block becomes history. Nothing before this changed the world."""
        memory = self._memory
        if changed:
            memory.bank.begin_chunk(spoken.encoding.pooled, spoken.text)
        elif self._journal.turns(self.config.preset):
            memory.bank.close_page()
        memory.bank.append(keys, values, self.block)
        memory.ring.append(keys, values)  # last, since it needs no memory
        memory.recalled = replace(
            draft.recalled, pages=tuple(page for page in draft.recalled.pages if page.id not in draft.missed)
        )
        self._spoken, self._last_policy = spoken.text, self.config.cache.retrieval
        if draft.replay is not None and draft.plan.page_ids != draft.replay.pages:
            self.lose_exactness(LACKING)

    def lose_exactness(self, notice: str) -> None:
        """The past is only approximately what it was, for the reason that the next block's record tells."""
        if not self.approximate:
            self.approximate, self.notice = True, notice

    def _moment(self) -> Moment:
        memory, done, mark = self._memory, self._memory.ring.frames_done, self._memory.bank.mark()
        said = self._spoken, self._last_policy, self._banked_frames
        return Moment(self.config, done, mark, memory.recalled, *said)

    def _record(self, draft: Draft, spoken: Spoken) -> BlockRecord:
        return block_record(spoken.text, self.config, draft.plan.page_ids, draft.missed, draft.renewed)

    def _telemetry(
        self,
        draft: Draft,
        spoken: Spoken,
        changed: bool,
        heads: dict[str, Any],
        watch: Stopwatch,
        frames: int,
    ) -> BlockTelemetry:
        bank, said, self.notice = self._memory.bank, self.notice or self._journal.store.take_notice(), ""
        return block_telemetry(
            self.block,
            self.geometry,
            self.config,
            spoken.text,
            draft.plan,
            epoch=self.epoch,
            frames=frames,
            steps=len(self._timesteps),
            pages=self._pages.records(bank, set(draft.plan.page_ids), draft.retrieval),
            tiers=bank.usage(),
            stage_ms=watch.milliseconds(),
            recall=recall_record(self.block, prompt_hash(spoken.text), draft.retrieval, draft.missed),
            prompt_changed=changed,
            backend=self._kernels().backend,
            notices=bank.take_notices() + ((said,) if said else ()),
            approximate=self.approximate,
            **heads,
        )
