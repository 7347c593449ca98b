"""One block after another: `Engine.step() -> BlockResult` (DESIGN 2).

A step is atomic: whatever is cancelled or fails before its end leaves the world as it was, and the same block
can be made again. Everything that a block depends on is its prompt, the configuration, the seed, its index and
the history, so equal runs give equal frames.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import Geometry
from worldattention.core.hkv.retrieval import Retrieval
from worldattention.core.hkv.window import WindowPlan
from worldattention.core.memory import Recalled, WorldMemory, scoring_layers, slot_table
from worldattention.core.models.text import TextEncoding
from worldattention.core.models.transformer import TextKeysValues, TimeEmbedding
from worldattention.core.models.world import WorldModel
from worldattention.core.pocket.prompts import Understood
from worldattention.core.pocket.text import PocketTextEncoder
from worldattention.core.preview import RecallPreview
from worldattention.core.records import PageRecords, recall_record
from worldattention.core.sampler import block_noise, denoise, shifted_timesteps
from worldattention.core.stopwatch import Stopwatch
from worldattention.core.telemetry import (
    BlockResult,
    BlockTelemetry,
    WindowSpan,
    prompt_hash,
)
from worldattention.core.window_attention import Observer, WindowAttention
from worldattention.kernels import ops

_PROMPTS_KEPT = 16


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt, ready to be attended to."""

    text: str
    encoding: TextEncoding
    keys_values: TextKeysValues


@dataclass(slots=True)
class _Draft:
    """What a block decided before it is committed."""

    attention: WindowAttention
    plan: WindowPlan
    recalled: Recalled
    retrieval: Retrieval | None = None
    missed: tuple[int, ...] = ()


class Engine:
    """A world that is made block by block. Not thread-safe: one thread owns it."""

    def __init__(self, model: WorldModel, config: EngineConfig) -> None:
        _check_modes(model, config)
        self.model = model
        self.config = config
        self.block = 0
        self.epoch = 0
        self._memory = WorldMemory.empty(model, config)
        self._decoder = model.new_decoder()
        self._timesteps = shifted_timesteps(config.sampler)
        self._times: dict[float, TimeEmbedding] = {}
        self._prompts: OrderedDict[str, _Prompt] = OrderedDict()
        self._rotary = slot_table(model, config.cache.budget_frames + model.geometry.block_latents)
        self._spoken: str | None = None
        self._last_policy = config.cache.retrieval
        self._banked_frames = 0
        self._pages = PageRecords()
        self.attention_observer: Observer | None = None  # for measurements of what is really attended to

    @property
    def geometry(self) -> Geometry:
        """Sizes of frames, latents and blocks."""
        return self.model.geometry

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

        Raises UserError when the model cannot run them, or when the preset or quotas change after the first
        block (those shape the memory itself: reset first).
        """
        _check_modes(self.model, config)
        if _memory_shape(config) != _memory_shape(self.config):
            if self.block:
                raise UserError(
                    "The preset and the quotas shape the memory: restart the world to change them."
                )
            self._memory.close()
            self._memory = WorldMemory.empty(self.model, config)
        self.config = self._memory.config = config
        self._memory.bank.read_deadline_ms = config.cache.read_deadline_ms
        self._timesteps = shifted_timesteps(config.sampler)
        return self.block

    def reset(self, seed: int | None = None) -> None:
        """Back to the first block, with nothing remembered; the configuration stays."""
        if seed is not None:
            self.config = replace(self.config, seed=seed)
        self._memory.close()
        self._memory = WorldMemory.empty(self.model, self.config)
        self._decoder.reset()
        self.block, self._banked_frames, self._spoken, self._pages = 0, 0, None, PageRecords()
        self._last_policy = self.config.cache.retrieval
        self.epoch += 1

    def fork(self, config: EngineConfig | None = None) -> Engine:
        """A second world with the same past, which goes on by itself; pages are shared copy-on-write."""
        other = object.__new__(Engine)
        for name, value in vars(self).items():
            setattr(other, name, value)
        other._memory = self._memory.fork()
        other._decoder = self.model.new_decoder()
        other._decoder.set_state(self._decoder.state())
        other._prompts, other._pages = self._prompts.copy(), self._pages.copy()
        if config is not None:
            other.configure(config)
        return other

    def close(self) -> None:
        """Releases memory tiers and their files. The engine cannot be used after."""
        self._memory.close()

    @torch.inference_mode()
    def preview(self, prompt: str) -> RecallPreview:
        """What `prompt` would recall if it were the next block's: stage 1 alone, without a pass of the model."""
        if not prompt.strip() or not self._memory.bank.pages:
            return RecallPreview(prompt)
        return self._memory.preview(prompt, self.model.text_encoder.encode(prompt).pooled)

    def understand(self, prompt: str) -> Understood | None:
        """What the model's world makes of a prompt; None when it cannot say."""
        encoder = self.model.text_encoder
        return encoder.understand(prompt) if isinstance(encoder, PocketTextEncoder) else None

    def prefetch(self, preview: RecallPreview) -> None:
        """Starts to promote a preview's pages; never changes what a block shows."""
        self._memory.bank.prefetch(preview.page_ids)

    @torch.inference_mode()
    def step(self, prompt: str, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """Makes the next block under `prompt`.

        `cancel` is asked between denoising steps. Raises Cancelled or UserError; the world is then unchanged.
        """
        watch = Stopwatch()
        changed = prompt != self._spoken
        with watch("text"):
            spoken = self._prompt(prompt)
        with watch("install"):
            if changed and self.block:
                self._close_segment()
            draft = self._open_window(changed)
        recall = self._recall_due(changed)
        velocity = self._velocity(draft, spoken, recall, cancel or _never, watch)
        noise = block_noise(self.config.seed, self.block, self._latent_shape()).to(self.model.device)
        with watch("denoise"):
            latents = denoise(noise, self._timesteps, velocity)
        heads = draft.attention.head_arrays()
        with watch("context"):
            keys, values = self._context_pass(draft.attention, latents, spoken)
        with watch("decode"):
            frames = self._decoder.decode_block(latents[0]).numpy()
        with watch("bank"):
            self._commit(draft, spoken, changed, keys, values)
        telemetry = self._telemetry(draft, spoken, changed, heads, watch, len(frames))
        self.block += 1
        return BlockResult(frames, telemetry)

    def _velocity(
        self,
        draft: _Draft,
        spoken: _Prompt,
        recall: bool,
        cancel: Callable[[], bool],
        watch: Stopwatch,
    ) -> Callable[[Tensor, int], Tensor]:
        """The model as the sampler calls it. On a recall block the first step runs twice (DESIGN 2, step 3)."""

        def velocity(latents: Tensor, step: int) -> Tensor:
            if cancel():
                raise Cancelled
            if step == 0 and recall:
                draft.attention.start_query(scoring_layers(self.model, self.config))
                self._predict(latents, self._timesteps[0], spoken, draft.attention)
                with watch("retrieve"):
                    self._recall(draft, spoken)
                if cancel():
                    raise Cancelled
            return self._predict(latents, self._timesteps[step], spoken, draft.attention)

        return velocity

    def _predict(
        self, latents: Tensor, timestep: float, spoken: _Prompt, attention: WindowAttention
    ) -> Tensor:
        if timestep not in self._times:
            times = torch.tensor([[timestep]], device=self.model.device)
            self._times[timestep] = self.model.transformer.time_embedding(times)
        return self.model.transformer.predict(latents, self._times[timestep], spoken.keys_values, attention)

    def _context_pass(
        self, attention: WindowAttention, latents: Tensor, spoken: _Prompt
    ) -> tuple[Tensor, Tensor]:
        """Clean, un-rotated keys and values [layers, L, H, D] of the finished block."""
        attention.start_clean()
        self._predict(latents, 0.0, spoken, attention)
        return attention.take_clean()

    def _recall_due(self, changed: bool) -> bool:
        """At a prompt switch, when the policy was switched after one, and every N blocks if asked for."""
        cache = self.config.cache
        if cache.retrieval == "none" or self.block == 0 or not self._memory.bank.pages:
            return False
        every = cache.recall_every_blocks
        switched = cache.retrieval != self._last_policy and self._memory.recalled.switch_frame > 0
        return changed or switched or (every > 0 and self.block % every == 0)

    def _open_window(self, changed: bool) -> _Draft:
        """The window before any recall of this block. A switch, or policy `none`, lets recalled pages go."""
        recalled = self._memory.recalled
        if self.config.cache.retrieval == "none" or (changed and self.config.cache.authors_layout):
            recalled = Recalled((), self._memory.ring.frames_done if changed else recalled.switch_frame)
        plan, missed = self._memory.install(recalled)
        return _Draft(self._attention(plan), plan, recalled, missed=missed)

    def _close_segment(self) -> None:
        """The authors bank their window here, at a prompt switch. Made again, a cancelled block does not repeat it."""
        frames = self._memory.ring.frames_done
        if self.config.cache.authors_layout and self._banked_frames < frames and self._spoken is not None:
            ended = self._prompt(self._spoken)
            self._memory.snapshot(ended.encoding.pooled, ended.text, self.block)
            self._banked_frames = frames

    def _recall(self, draft: _Draft, spoken: _Prompt) -> None:
        """Scores pages with the query just captured and renews the window."""
        query = draft.attention.take_query()
        retrieval = self._memory.retrieve(query, spoken.encoding.pooled, self.block)
        chosen = tuple(self._memory.bank.page(page) for page in retrieval.chosen)
        draft.recalled = Recalled(chosen, self._memory.ring.frames_done)
        draft.plan, draft.missed = self._memory.install(draft.recalled)
        draft.attention, draft.retrieval = self._attention(draft.plan), retrieval

    def _attention(self, plan: WindowPlan) -> WindowAttention:
        """Attention over the window as `plan` laid it out, the current block in the slots behind it."""
        tokens = self.geometry.frame_tokens
        start, end = plan.frames * tokens, (plan.frames + self.geometry.block_latents) * tokens
        window = self._memory.window
        rotary = (self._rotary[0][start:end], self._rotary[1][start:end])
        keys, values = window.keys[:, :, :end], window.values[:, :, :end]
        return WindowAttention(
            keys, values, start, rotary, self.model.hsa, self.config.attention, self.attention_observer
        )

    def _prompt(self, text: str) -> _Prompt:
        if text in self._prompts:
            self._prompts.move_to_end(text)
            return self._prompts[text]
        encoding = self.model.text_encoder.encode(text)
        tokens = encoding.tokens.to(self.model.device)[None]
        prompt = _Prompt(text, encoding, self.model.transformer.text_keys_values(tokens))
        self._prompts[text] = prompt
        if len(self._prompts) > _PROMPTS_KEPT:
            self._prompts.popitem(last=False)
        return prompt

    def _latent_shape(self) -> tuple[int, ...]:
        sizes = self.geometry
        return 1, sizes.block_latents, sizes.latent_channels, sizes.latent_height, sizes.latent_width

    def _commit(self, draft: _Draft, spoken: _Prompt, changed: bool, keys: Tensor, values: Tensor) -> None:
        """The block becomes history. Nothing before this changed the world."""
        memory = self._memory
        memory.ring.append(keys, values)
        if not self.config.cache.authors_layout:
            if changed:
                memory.bank.begin_chunk(spoken.encoding.pooled, spoken.text)
            memory.bank.append(keys, values, self.block)
        memory.recalled = replace(
            draft.recalled, pages=tuple(page for page in draft.recalled.pages if page.id not in draft.missed)
        )
        self._spoken, self._last_policy = spoken.text, self.config.cache.retrieval

    def _telemetry(
        self,
        draft: _Draft,
        spoken: _Prompt,
        changed: bool,
        heads: dict[str, Any],
        watch: Stopwatch,
        frames: int,
    ) -> BlockTelemetry:
        config, name = self.config, prompt_hash(spoken.text)
        current = WindowSpan(
            "current",
            self.block * self.geometry.block_latents,
            self.geometry.block_latents,
            draft.plan.frames,
        )
        return BlockTelemetry(
            block=self.block,
            epoch=self.epoch,
            first_frame=self.geometry.frames_before_block(self.block),
            frames=frames,
            prompt=spoken.text,
            prompt_hash=name,
            seed=config.seed,
            preset=config.preset,
            attention=config.attention.mode,
            retrieval=config.cache.retrieval,
            steps=len(self._timesteps),
            asked_density=config.attention.density,
            window=(*draft.plan.spans, current),
            pages=self._pages.records(self._memory.bank, set(draft.plan.page_ids), draft.retrieval),
            tiers=self._memory.bank.usage(),
            stage_ms=watch.milliseconds(),
            recall=recall_record(self.block, name, draft.retrieval, draft.missed),
            prompt_changed=changed,
            notices=self._memory.bank.take_notices(),
            backend=self._kernels().backend,
            **heads,
        )


def _never() -> bool:
    return False


def _check_modes(model: WorldModel, config: EngineConfig) -> None:
    """Raises UserError for `hsa` or `linear` on a model without HSA parameters."""
    if config.attention.mode in ("hsa", "linear") and any(layer is None for layer in model.hsa):
        raise UserError(
            f"The model '{model.name}' has no HSA parameters, so attention '{config.attention.mode}' cannot run: "
            "choose --attention dense or sparse."
        )


def _memory_shape(config: EngineConfig) -> tuple[object, ...]:
    """What cannot change while the memory holds something."""
    return config.preset, replace(config.cache, retrieval="hkv", recall_every_blocks=0, read_deadline_ms=None)
