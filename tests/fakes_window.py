"""A scripted engine and session for the window's tests: synthetic pictures, plausible telemetry, no torch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from worldattention.app.main_window import Setup
from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.geometry import POCKET_GEOMETRY
from worldattention.core.history import BlockRecord, Branch, History
from worldattention.core.project import Project
from worldattention.core.telemetry import (
    BlockResult,
    BlockTelemetry,
    PageRecord,
    RecallRecord,
    TierUsage,
    WindowSpan,
    prompt_hash,
)
from worldattention.core.timeline import Timeline

LAYERS, HEADS, PAGE = 8, 6, 8
PAGE_BYTES = 6 << 20


@dataclass(frozen=True)
class FakePage:
    id: int
    first_frame: int
    frames: int


@dataclass(frozen=True)
class FakeChunk:
    chunk: int
    similarity: float
    prompt: str
    pages: tuple[FakePage, ...]
    event: str = ""


@dataclass(frozen=True)
class FakePreview:
    prompt: str
    chunks: tuple[FakeChunk, ...]


@dataclass
class Script:
    """How the fake behaves; tests change it while it runs."""

    step_s: float = 0.05
    load_s: float = 0.02
    fail_load: Exception | None = None
    fail_at: dict[int, Exception] = field(default_factory=dict)
    refuse: UserError | None = None
    waking: int = 0  # how often the first step looks for `cancel` while what goes before the world is made
    hold: threading.Event | None = None  # a step waits for it, and obeys `cancel` meanwhile
    steps: list[tuple[int, str]] = field(default_factory=list)
    configs: list[EngineConfig] = field(default_factory=list)
    reported_ms: float | None = None  # what telemetry says a block took
    previews: list[str] = field(default_factory=list)  # asked for
    prefetched: list[int] = field(default_factory=list)  # page ids
    fail_preview: Exception | None = None
    opened: int = 0
    closed: int = 0
    cancelled: int = 0


class FakeEngine:
    def __init__(self, script: Script, config: EngineConfig) -> None:
        self.script, self.config = script, config
        self.geometry = POCKET_GEOMETRY
        self.block = 0
        self.device_name, self.backend, self.awake = "cpu", "scripted", 1.0
        self._prompt: str | None = None
        self._chunk = -1
        self._chunks: list[str] = []
        self._records: list[PageRecord] = []
        self._window: tuple[int, ...] = ()
        self._read = 0

    def configure(self, config: EngineConfig) -> int:
        if self.script.refuse is not None:
            raise self.script.refuse
        self.config = config
        self.script.configs.append(config)
        return self.block

    def reset(self, seed: int | None = None) -> None:
        self.block, self._prompt, self._chunk = 0, None, -1
        self._chunks, self._records, self._window, self._read = [], [], (), 0

    def close(self) -> None:
        self.script.closed += 1

    def state(self) -> dict[str, object]:
        """What a rewind brings back."""
        names = ("block", "config", "_prompt", "_chunk", "_chunks", "_records", "_window", "_read")
        return {name: copy(getattr(self, name)) for name in names}

    def set_state(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, copy(value))

    def step(self, prompt: str, cancel: Callable[[], bool] | None = None) -> BlockResult:
        begin = time.perf_counter()
        for made in range(self.script.waking if self.block == 0 else 0):
            self.awake = made / self.script.waking
            self._wait(cancel)
        self.awake = 1.0
        self._wait(cancel)
        if (error := self.script.fail_at.pop(self.block, None)) is not None:
            raise error
        block = self.block
        changed = prompt != self._prompt
        recall = self._recall(prompt, changed)
        self._prompt = prompt
        self._bank(block)
        self.script.steps.append((block, prompt))
        telemetry = self._telemetry(
            block, prompt, changed, recall, self.script.reported_ms or (time.perf_counter() - begin) * 1000
        )
        self.block += 1
        return BlockResult(picture(block, prompt), telemetry)

    def preview(self, prompt: str) -> FakePreview:
        if self.script.fail_preview is not None:
            raise self.script.fail_preview
        self.script.previews.append(prompt)
        words = set(prompt.lower().split())
        chunks = []
        for number, old in enumerate(self._chunks):
            pages = tuple(
                FakePage(r.page, r.first_frame, r.frames) for r in self._records if r.chunk == number
            )
            shared = len(words & set(old.lower().split())) / max(len(words), 1)
            chunks.append(FakeChunk(number, shared, old, pages))
        return FakePreview(prompt, tuple(sorted(chunks, key=lambda chunk: -chunk.similarity)))

    def prefetch(self, preview: FakePreview) -> None:
        self.script.prefetched += [page.id for chunk in preview.chunks for page in chunk.pages]

    def _wait(self, cancel: Callable[[], bool] | None) -> None:
        end = time.perf_counter() + self.script.step_s
        while time.perf_counter() < end or (self.script.hold is not None and not self.script.hold.is_set()):
            if cancel is not None and cancel():
                self.script.cancelled += 1
                raise Cancelled
            time.sleep(min(0.01, max(self.script.step_s / 5, 0.001)))

    def _recall(self, prompt: str, changed: bool) -> RecallRecord | None:
        if not changed:
            return None
        self._chunk += 1
        words = set(prompt.lower().split())
        self._chunks.append(prompt)
        similarity = tuple(
            len(words & set(old.lower().split())) / max(len(words), 1) for old in self._chunks[:-1]
        )
        closed = [record for record in self._records if record.frames == PAGE]
        if not closed:
            return None
        draw = np.random.default_rng(self.block)
        scores = [0.2 + 0.6 * similarity[page.chunk] + 0.2 * draw.random() for page in closed]
        best = sorted(range(len(closed)), key=lambda index: -scores[index])[:3]
        chosen = tuple(sorted(closed[index].page for index in best))
        self._window = chosen
        self._read += PAGE_BYTES * len(chosen)
        by_page = {page.page: score for page, score in zip(closed, scores, strict=True)}
        self._records = [
            PageRecord(
                r.page, r.chunk, r.first_frame, r.frames, r.tier,
                similarity[r.chunk] if r.chunk < len(similarity) else None, by_page.get(r.page), r.page in chosen,
            )
            for r in self._records
        ]  # fmt: skip
        candidates = tuple(page.page for page in closed)
        return RecallRecord(
            self.block,
            self.config.cache.retrieval,
            prompt_hash(prompt),
            similarity,
            candidates,
            tuple(scores),
            chosen,
        )

    def _bank(self, block: int) -> None:
        for latent in range(3 * block, 3 * block + 3):
            last = self._records[-1] if self._records else None
            if last is None or last.frames == PAGE or last.chunk != self._chunk:
                self._records.append(PageRecord(len(self._records), self._chunk, latent, 1, "device"))
            else:
                self._records[-1] = PageRecord(
                    last.page, last.chunk, last.first_frame, last.frames + 1, "device"
                )
        for index, record in enumerate(self._records):
            age = len(self._records) - index
            tier = "device" if age <= 6 or record.page in self._window else "dram" if age <= 18 else "disk"
            self._records[index] = PageRecord(
                record.page, record.chunk, record.first_frame, record.frames, tier,
                record.similarity, record.score, record.page in self._window,
            )  # fmt: skip

    def _telemetry(
        self, block: int, prompt: str, changed: bool, recall: RecallRecord | None, milliseconds: float
    ) -> BlockTelemetry:
        layers = np.linspace(0, 1, LAYERS)[:, None]
        heads = np.linspace(0, 1, HEADS)[None]
        wave = (
            0.5 + 0.28 * np.sin(5 * layers + 3 * heads + block / 5) + 0.15 * np.cos(11 * heads - 4 * layers)
        )
        gini = np.clip(wave, 0.05, 0.95).astype(np.float32)
        threshold = (0.35 + 0.65 * gini).astype(np.float32)
        counts = {tier: sum(r.tier == tier for r in self._records) for tier in ("device", "dram", "disk")}
        quotas = {"device": 64 << 20, "dram": 128 << 20, "disk": 512 << 20}
        tiers = tuple(
            TierUsage(
                name, counts[name], counts[name] * PAGE_BYTES, quotas[name],
                read_bytes=self._read if name == "device" else 0,
                written_bytes=PAGE_BYTES * len(self._records) if name != "disk" else counts["disk"] * PAGE_BYTES,
                hits=3 * self._chunk if name == "device" else 0,
            )
            for name in quotas
        )  # fmt: skip
        return BlockTelemetry(
            block=block, epoch=0, first_frame=POCKET_GEOMETRY.frames_before_block(block),
            frames=POCKET_GEOMETRY.block_frames, prompt=prompt, prompt_hash=prompt_hash(prompt),
            seed=self.config.seed, preset=self.config.preset, attention=self.config.attention.mode,
            asked_density=self.config.attention.density, steps=len(self.config.sampler.timesteps),
            retrieval=self.config.cache.retrieval, gini=gini, threshold=threshold,
            density=np.clip(1.05 - gini, 0.05, 1).astype(np.float32),
            window=(WindowSpan("sink", 0, 3, 0), WindowSpan("current", 3 * block, 3, 35)),
            pages=tuple(self._records), tiers=tiers,
            stage_ms={"text": 1.0, "retrieve": 2.0, "install": 3.0, "denoise": milliseconds * 0.7,
                      "context": milliseconds * 0.15, "decode": milliseconds * 0.1, "total": max(milliseconds, 1.0)},
            recall=recall, prompt_changed=changed,
        )  # fmt: skip


class FakeSession:
    def __init__(self, engine: FakeEngine, timeline: Timeline) -> None:
        self.engine, self.timeline = engine, timeline
        self._history = History()
        self._states = [engine.state()]  # before every block of the current branch
        self._waiting: dict[str, list[dict[str, object]]] = {}
        self._deleted: dict[str, tuple[Branch, int, list[dict[str, object]]]] = {}

    @property
    def branch(self) -> str:
        return self._history.current

    @property
    def last_record(self) -> BlockRecord:
        return BlockRecord("")

    def begin(self, history: History) -> None:
        self._history, self.timeline = history, history.get(history.current).timeline

    @property
    def history(self) -> History:
        branch = self._history.get(self._history.current)
        records = tuple(BlockRecord("") for _ in range(branch.from_block, self.engine.block))
        return self._history.put(replace(branch, timeline=self.timeline, records=records))

    def say(self, prompt: str) -> int:
        seconds = self.engine.geometry.block_seconds(self.engine.block)
        self.timeline = self.timeline.set_prompt_from(seconds, prompt)
        return self.engine.block

    def step(self, cancel: Callable[[], bool] | None = None) -> BlockResult:
        seconds = self.engine.geometry.block_seconds(self.engine.block)
        result = self.engine.step(self.timeline.prompt_at(seconds) or "an empty world", cancel)
        self._states.append(self.engine.state())
        return result

    def reset(self) -> None:
        self.engine.reset()
        self._history = History()
        self._states = [self.engine.state()]
        self._waiting.clear()

    def configure(self, config: EngineConfig) -> int:
        return self.engine.configure(config)

    def rewind(self, block: int, name: str) -> None:
        after = self.history.fork(name, block)
        self._waiting[self._history.current] = self._states
        self._history, self._states = after, self._states[: block + 1]
        self.engine.set_state(self._states[-1])

    def switch(self, name: str) -> None:
        history = self.history
        branch = history.get(name)
        if name != history.current:
            self._waiting[history.current], self._states = self._states, self._waiting.pop(name)
            self._history = replace(history, current=name)
            self.timeline = branch.timeline
            self.engine.set_state(self._states[-1])

    def past(self) -> Iterable[tuple[np.ndarray, BlockTelemetry | None, BlockRecord]]:
        return ()

    def save(self, folder: Path, project: Project, pages: bool, telemetry: Iterable[str]) -> None:
        self.saved = project
        folder.mkdir()
        (folder / "telemetry.jsonl").write_text("\n".join(telemetry), encoding="utf-8")
        if pages:
            (folder / "pages").write_text("")

    def rename(self, name: str, new: str) -> None:
        self._history = self.history.rename(name, new)
        if name in self._waiting:
            self._waiting[new] = self._waiting.pop(name)

    def delete(self, name: str) -> None:
        history = self.history
        branch = history.get(name)
        self._history = history.remove(name)
        self._deleted[name] = branch, history.branches.index(branch), self._waiting.pop(name)

    def restore(self, name: str) -> None:
        branch, index, states = self._deleted.pop(name)
        self._history = self.history.bring_back(branch, index)
        self._waiting[name] = states

    def close(self) -> None:
        self.engine.close()


def opener(script: Script) -> Callable[[EngineConfig, Callable[[str, float], None]], FakeEngine]:
    """What the window calls to load a model."""

    def open_engine(config: EngineConfig, progress: Callable[[str, float], None]) -> FakeEngine:
        for step in range(4):
            progress(("transformer", "autoencoder", "text encoder", "memory")[step], step / 4)
            time.sleep(script.load_s / 4)
        if script.fail_load is not None:
            error, script.fail_load = script.fail_load, None
            raise error
        script.opened += 1
        return FakeEngine(script, config)

    return open_engine


def scripted(script: Script, timeline: Timeline, folder: Path) -> Setup:
    """What a window needs for a world of this script."""
    return Setup(
        open_engine=opener(script),
        open_session=FakeSession,
        configure=lambda settings: settings.engine_config(),
        project=Project("Test", timeline=timeline),
        cache_folder=folder / "cache",
    )


def picture(block: int, prompt: str) -> np.ndarray:
    """Frames [12, 128, 256, 3]: a sky and a field in the prompt's colours, and a ball that bounces through."""
    seed = int(prompt_hash(prompt)[:6], 16)
    draw = np.random.default_rng(seed)
    sky, ground, ball = draw.integers(60, 220, (3, 3))
    frames = np.empty((12, 128, 256, 3), np.uint8)
    rows = np.linspace(0, 1, 128)[:, None, None]
    scene = np.where(rows < 0.62, sky * (0.55 + 0.6 * rows), ground * (1.15 - 0.5 * rows))
    y, x = np.mgrid[:128, :256]
    for index in range(12):
        time_s = (12 * block + index) / 16
        centre_x, centre_y = 128 + 90 * np.sin(time_s), 88 - 56 * abs(np.sin(2.6 * time_s))
        inside = ((x - centre_x) ** 2 + (y - centre_y) ** 2 < 14**2)[..., None]
        frames[index] = np.clip(np.where(inside, ball, np.broadcast_to(scene, (128, 256, 3))), 0, 255)
    return frames
