"""A scripted engine for tests of the command line: known frames, known records, no networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled
from worldattention.core.geometry import Geometry
from worldattention.core.history import BlockRecord
from worldattention.core.preview import RecallPreview
from worldattention.core.telemetry import (
    BlockResult,
    BlockTelemetry,
    RecallRecord,
    TierUsage,
    WindowSpan,
    prompt_hash,
)

SMALL = Geometry(
    height=18, width=34, latent_channels=4, latent_height=2, latent_width=4, first_block_frames=9
)
STEPS = 5


class FakeEngine:
    """Counts steps; each frame's first pixel row holds its index. `on_step` may raise or cancel."""

    device_name = "a scripted CPU"
    backend = "scripted"

    def __init__(
        self,
        config: EngineConfig | None = None,
        geometry: Geometry = SMALL,
        on_step: Callable[[int], None] | None = None,
    ) -> None:
        self.config = config or EngineConfig()
        self.geometry = geometry
        self.block = 0
        self.closed = False
        self.prompts: list[str] = []
        self.foreseen: list[str] = []
        self.denoise_steps = 0
        self._on_step = on_step or (lambda block: None)

    def step(
        self, prompt: str, cancel: Callable[[], bool] | None = None, replay: BlockRecord | None = None
    ) -> BlockResult:
        assert replay is None  # nothing is made again in these tests
        block = self.block
        self._on_step(block)
        for _ in range(STEPS):
            if cancel is not None and cancel():
                raise Cancelled
            self.denoise_steps += 1
        first = self.geometry.frames_before_block(block)
        count = self.geometry.frames_of_block(block)
        frames = np.full((count, self.geometry.height, self.geometry.width, 3), 128, np.uint8)
        frames[:, :, :, 0] = (np.arange(first, first + count) % 256)[:, None, None]
        self.prompts.append(prompt)
        self.block += 1
        return BlockResult(frames, self._record(block, first, count, prompt))

    def make_room(self) -> None:
        """It holds nothing that it could give back."""

    def shrink(self) -> None:
        """It has no window."""

    def preview(self, prompt: str) -> RecallPreview:
        return RecallPreview(prompt)

    def prefetch(self, preview: RecallPreview) -> None:
        self.foreseen.append(preview.prompt)

    def reset(self, seed: int | None = None) -> None:
        self.block = 0

    def close(self) -> None:
        self.closed = True

    def _record(self, block: int, first: int, count: int, prompt: str) -> BlockTelemetry:
        heads = np.full((2, 3), 0.5, np.float32)
        changed = block == 0 or self.prompts[-2] != prompt
        recall = RecallRecord(block, "hkv", prompt_hash(prompt), (1.0,), (0,), (0.5,), (0,))
        return BlockTelemetry(
            block=block,
            epoch=0,
            first_frame=first,
            frames=count,
            prompt=prompt,
            prompt_hash=prompt_hash(prompt),
            seed=self.config.seed,
            preset=self.config.preset,
            attention=self.config.attention.mode,
            retrieval=self.config.cache.retrieval,
            gini=heads,
            threshold=heads,
            density=np.full((2, 3), 0.25 if block else 0.75, np.float32),
            window=(WindowSpan("current", 3 * block, 3, 0),),
            pages=(),
            tiers=(TierUsage("device", 1, 1000 + block, 5000), TierUsage("dram", 0, 0, 7000)),
            stage_ms={"text": 1.0, "total": 10.0},
            recall=recall if changed and block else None,
            prompt_changed=changed,
            notices=("A page was late.",) if block == 1 else (),
        )


def failure(capsys, arguments) -> str:
    """Runs, expects exit code 1 and one sentence on stderr, and returns it."""
    from worldattention.app.cli import main

    assert main([str(argument) for argument in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("worldattention: ")
    assert lines[0].endswith(".")
    return lines[0]


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
