"""Every setting of a run, as frozen dataclasses, and the two presets (DESIGN 3)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

from worldattention.core.errors import UserError
from worldattention.kernels.uses import Use

AttentionMode = Literal["hsa", "dense", "linear", "sparse"]
RetrievalPolicy = Literal["hkv", "recent", "random", "mismatched", "chunk", "none"]
Preset = Literal["playground", "authors"]
CodecName = Literal["bf16", "fp8", "int8"]

ATTENTION_MODES: tuple[str, ...] = get_args(AttentionMode)
RETRIEVAL_POLICIES: tuple[str, ...] = get_args(RetrievalPolicy)
PRESETS: tuple[str, ...] = get_args(Preset)
CODEC_NAMES: tuple[str, ...] = get_args(CodecName)

MAX_STEPS = 16
SINK_FRAMES = 3
"""A world's first latent frames, which are kept at hand whatever the preset does with them."""
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class AttentionConfig:
    """Hybrid sparse attention (DESIGN 3).

    `density` replaces the head-adaptive threshold by top-k of the same map; None lets tau decide.
    `statistics` asks for Gini and density also in the modes that do not route (dense, linear). `kernels` asks for
    one backend of the attention kernels instead of the best that runs here.
    """

    mode: AttentionMode = "hsa"
    block: int = 128
    tau_min: float = 0.35
    tau_max: float = 1.0
    density: float | None = None
    statistics: bool = True
    kernels: Use = "auto"


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """Hierarchical KV cache (DESIGN 3 and 4). Frames are latent frames, quotas are bytes.

    `codec` is how pages lie in DRAM and in files. `write_through` gives every page a file at once, not only
    when memory is full. `read_deadline_ms`: how long a block waits for pages from the disk before it goes on
    without them; None waits, which makes equal runs equal (`render`, `eval`, replay). `move_bytes`: pages on
    their way to the disk (two at least), and `prefetch_bytes`: pages read ahead (0: none), both beside the quotas.

    `similarity` is taken from a page's score, times what the cosine of its chunk's prompt falls short of the best
    one's; `recency` for every minute of its age; `diversity` for its likeness (the cosine of their mean keys) to the
    pages chosen before it. `split_prompts` lets every event of a prompt rank chunks.
    """

    retrieval: RetrievalPolicy = "hkv"
    page_frames: int = 8
    budget_frames: int = 32
    sink_frames: int = SINK_FRAMES
    recalled_pages: int = 3
    min_recent_frames: int = 5
    chunk_frames: int = 40
    stage1_width: int = 3
    recall_every_blocks: int = 0
    similarity: float = 5.0
    recency: float = 0.0
    diversity: float = 0.0
    split_prompts: bool = True
    authors_layout: bool = False
    device_quota_bytes: int = 256 * MIB
    dram_quota_bytes: int = 2 * GIB
    disk_quota_bytes: int = 8 * GIB
    codec: CodecName = "bf16"
    write_through: bool = False
    read_deadline_ms: float | None = None
    move_bytes: int = 256 * MIB
    prefetch_bytes: int = 512 * MIB
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """Few-step denoising: `timesteps` of a schedule of 1000, shifted (DESIGN 5)."""

    timesteps: tuple[float, ...] = (1000.0, 750.0, 500.0, 250.0)
    shift: float = 5.0
    context_noise: float = 0.0


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """What an engine needs beside its model. `graphs`: on a GPU, passes over a full window are captured once."""

    preset: Preset = "playground"
    seed: int = 0
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    graphs: bool = True


def even_timesteps(steps: int) -> tuple[float, ...]:
    """`steps` equal steps down the schedule of 1000, before the shift; 4 are those that models are trained for.

    Raises UserError for a number that makes no sense.
    """
    if not 1 <= steps <= MAX_STEPS:
        raise UserError(f"The denoising steps must be a whole number from 1 to {MAX_STEPS}, not {steps}.")
    return tuple(1000.0 * (steps - step) / steps for step in range(steps))


def preset_config(preset: str, seed: int = 0) -> EngineConfig:
    """The engine configuration of a preset: `playground` (ours) or `authors` (their published code)."""
    check_choice("preset", preset, PRESETS)
    if preset == "playground":
        return EngineConfig(seed=seed)
    return EngineConfig(
        preset="authors",
        seed=seed,
        attention=AttentionConfig(block=64),
        cache=CacheConfig(
            sink_frames=0,
            recalled_pages=4,
            min_recent_frames=0,
            stage1_width=1,
            similarity=0.0,
            split_prompts=False,
            authors_layout=True,
        ),
    )


_Part = TypeVar("_Part", AttentionConfig, CacheConfig)


def with_preset(config: EngineConfig, preset: str) -> EngineConfig:
    """`config` with what its preset says replaced by what `preset` says; whatever was asked for otherwise stays.

    Raises UserError for a preset that there is not.
    """
    if preset == config.preset:
        return config
    old, new = preset_config(config.preset), preset_config(preset)
    return replace(
        config,
        preset=new.preset,
        attention=_turned(config.attention, old.attention, new.attention),
        cache=_turned(config.cache, old.cache, new.cache),
    )


def _turned(mine: _Part, old: _Part, new: _Part) -> _Part:
    names = (one.name for one in fields(mine))
    return replace(
        mine, **{name: getattr(new, name) for name in names if getattr(mine, name) == getattr(old, name)}
    )


def with_choices(
    config: EngineConfig,
    *,
    attention: str | None = None,
    retrieval: str | None = None,
    density: float | None = None,
    seed: int | None = None,
    steps: int | None = None,
) -> EngineConfig:
    """`config` with the live switches replaced; None keeps what is there. Raises UserError on a bad value."""
    if attention is not None:
        check_choice("attention", attention, ATTENTION_MODES)
        config = replace(config, attention=replace(config.attention, mode=attention))  # type: ignore[arg-type]
    if retrieval is not None:
        check_choice("retrieval", retrieval, RETRIEVAL_POLICIES)
        config = replace(config, cache=replace(config.cache, retrieval=retrieval))  # type: ignore[arg-type]
    if density is not None:
        if not 0.0 < density <= 1.0:
            raise UserError(f"The density must be above 0 and at most 1, not {density}.")
        config = replace(config, attention=replace(config.attention, density=density))
    if seed is not None:
        if not 0 <= seed < 1 << 63:
            raise UserError(f"The seed must be a whole number from 0 to 2^63 - 1, not {seed}.")
        config = replace(config, seed=seed)
    if steps is not None:
        config = replace(config, sampler=replace(config.sampler, timesteps=even_timesteps(steps)))
    return config


SHAPES_MEMORY = "The quotas shape the memory: restart the world to change them."
_SHAPING = (
    *(
        "page_frames",
        "budget_frames",
        "chunk_frames",
        "codec",
        "write_through",
        "move_bytes",
        "prefetch_bytes",
    ),
    *("device_quota_bytes", "dram_quota_bytes", "disk_quota_bytes", "folder"),
)


def memory_shape(config: EngineConfig) -> tuple[object, ...]:
    """What cannot change while the memory holds something. A preset can: it is a way to read the same memory."""
    return tuple(getattr(config.cache, name) for name in _SHAPING)


LIVE_READ_DEADLINE_MS = 150.0
"""A fifth of what a block lasts: a picture that is on time matters more than a page that is not."""


def live(config: EngineConfig) -> EngineConfig:
    """For a world that somebody watches: no block waits longer for the disk than the deadline."""
    return replace(config, cache=replace(config.cache, read_deadline_ms=LIVE_READ_DEADLINE_MS))


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raises UserError when `value` is not one of `choices`."""
    if value not in choices:
        raise UserError(f"Unknown {name} '{value}': choose one of {', '.join(choices)}.")
