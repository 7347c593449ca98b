"""The attention window: which latent frames lie in which slot, and the buffers that hold them.

Positions are window slots, current block last, so no position ever exceeds the window and a world can
run for ever. Keys are stored un-rotated elsewhere and rotated straight to their slot here, at most once
a block and never in a denoising pass (DESIGN 3, "install" and "window").
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from worldattention.core.heap import lasting_memory
from worldattention.core.hkv.page import KVShape, PageInfo
from worldattention.core.telemetry import WindowSpan
from worldattention.kernels.ops import Encoded, install_page, rotate


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """Spans in slot order; slots are dense from 0 and the current block comes after the last of them."""

    spans: tuple[WindowSpan, ...]

    @property
    def frames(self) -> int:
        """Latent frames in the window, which is also the current block's first slot."""
        return sum(span.frames for span in self.spans)

    @property
    def page_ids(self) -> tuple[int, ...]:
        """Recalled pages, in slot order."""
        return tuple(span.page for span in self.spans if span.page is not None)

    def slots(self) -> list[tuple[int | None, int]]:
        """`(page id or None, world frame)` of every slot."""
        return [
            (span.page, frame)
            for span in self.spans
            for frame in range(span.first_frame, span.first_frame + span.frames)
        ]


def _lay_out(parts: Sequence[tuple[str, int, int, int | None]]) -> WindowPlan:
    """Give `(kind, first_frame, frames, page id)` parts their slots; empty parts vanish."""
    spans: list[WindowSpan] = []
    slot = 0
    for kind, first_frame, frames, page in parts:
        if frames > 0:
            spans.append(WindowSpan(kind, first_frame, frames, slot, page))
            slot += frames
    return WindowPlan(tuple(spans))


def without(plan: WindowPlan, there: Callable[[WindowSpan, int], bool]) -> WindowPlan:
    """The plan without the frames of which `there(span, frame)` is false; the others move up."""
    parts: list[tuple[str, int, int, int | None]] = []
    for span in plan.spans:
        frames = range(span.first_frame, span.first_frame + span.frames)
        for first, count in _runs([frame for frame in frames if there(span, frame)], 0, frames.stop):
            parts.append((span.kind, first, count, span.page))
    return _lay_out(parts)


def plan_window(
    frames_done: int,
    budget_frames: int = 32,
    sink_frames: int = 3,
    recalled: Sequence[PageInfo] = (),
    min_recent: int = 5,
) -> WindowPlan:
    """The `playground` window beside the current block (DESIGN 3, "window").

    Without a recall the whole budget is recent frames. With one: the sink, the pages in chronological
    order, then the recent frames, which get what is left of the budget (at least `min_recent`) and never
    reach into a frame that is already there.

    Raises:
        ValueError: the pages leave less than `min_recent` frames of the budget, overlap one another, or
            hold frames that are not done.
    """
    if not recalled:
        count = min(frames_done, budget_frames)
        return _lay_out([("recent", frames_done - count, count, None)])
    pages = sorted(recalled, key=lambda page: page.first_frame)
    sink = min(sink_frames, frames_done)
    parts: list[tuple[str, int, int, int | None]] = [("sink", 0, sink, None)]
    present = sink
    for page in pages:
        first = max(page.first_frame, sink)
        if page.end_frame > frames_done or first < present:
            raise ValueError(f"page {page.id} overlaps another page or the future")
        parts.append(("page", first, page.end_frame - first, page.id))
        present = max(present, page.end_frame)
    left = budget_frames - sum(frames for _, _, frames, _ in parts)
    if left < min_recent:
        raise ValueError(f"{len(pages)} pages leave {left} of {budget_frames} frames for the recent ones")
    start = max(frames_done - left, present)
    parts.append(("recent", start, frames_done - start, None))
    return _lay_out(parts)


def kept_frames(frames_done: int, sink_frames: int, min_recent: int) -> tuple[tuple[int, int], ...]:
    """`(first_frame, frames)` intervals that stay in the window in any recall; retrieval excludes them."""
    recent = min(min_recent, frames_done)
    return ((0, min(sink_frames, frames_done)), (frames_done - recent, recent))


def plan_window_authors(
    frames_done: int, budget_frames: int, recalled: Sequence[PageInfo] = (), switch_frame: int = 0
) -> WindowPlan:
    """The `authors` window: wiped at the switch, filled with pages that end at it, then rolling.

    `recalled` in chronological order; over budget it is cut chronologically (the best page can lose).
    `switch_frame`: frames done when the prompt changed. Frames made since then follow the pages; what
    does not fit rolls out at the front. Slots are relative, so that the pages end where the switch was.
    """
    parts: list[tuple[str, int, int, int | None]] = []
    left = budget_frames
    for page in recalled:
        frames = min(page.frames, left)
        parts.append(("page", page.first_frame, frames, page.id))
        left -= frames
    start = switch_frame if recalled else 0
    parts.append(("recent", start, frames_done - start, None))
    over = max(0, sum(frames for _, _, frames, _ in parts) - budget_frames)
    rolled: list[tuple[str, int, int, int | None]] = []
    for kind, first_frame, frames, page_id in parts:
        gone = min(over, frames)
        over -= gone
        rolled.append((kind, first_frame + gone, frames - gone, page_id))
    return _lay_out(rolled)


class FrameSource(Protocol):
    """Where un-rotated frames come from: the frame ring or a page."""

    def pieces(self, first_frame: int, frames: int) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield `(first_frame, keys, values)` in order, `[layers, n * T, H, D]`."""


class Window:
    """Keys (rotated to their slots) and values of the window and the current block.

    Buffers are `[layers, 1, slots * T, H, D]`, allocated once. `table`: cosines and sines
    `[slots * T, D / 2]` of every slot's tokens.
    """

    def __init__(
        self,
        shape: KVShape,
        budget_frames: int,
        block_frames: int,
        table: tuple[Tensor, Tensor],
        device: torch.device | str = "cpu",
    ) -> None:
        self.shape = shape
        self.slots = budget_frames + block_frames
        if table[0].shape[0] < self.slots * shape.frame_tokens:
            raise ValueError("the rotary table is shorter than the window")
        layers, tokens, heads, head_dim = shape.tensor(self.slots)
        size = (layers, 1, tokens, heads, head_dim)
        self.keys = lasting_memory(size, shape.dtype, device)
        self.values = lasting_memory(size, shape.dtype, device)
        self._table = (table[0].to(device), table[1].to(device))
        self._installed: list[tuple[int | None, int]] = []

    @property
    def frames(self) -> int:
        """Latent frames installed; the current block's first slot."""
        return len(self._installed)

    @property
    def tokens(self) -> int:
        """Tokens installed; where the current block's keys and values are written."""
        return self.frames * self.shape.frame_tokens

    @property
    def freed(self) -> bool:
        """Whether the memory was given back."""
        return self.keys.numel() == 0

    def free(self) -> None:
        """Gives the memory back: the window is of no use then."""
        self.keys = self.values = torch.empty(0, device=self.keys.device)
        self._installed = []

    def invalidate(self) -> None:
        """Forget what is installed: needed when frame numbers get other content (rewind, another world)."""
        self._installed = []

    def install(
        self, plan: WindowPlan, recent: FrameSource, pages: Mapping[int, FrameSource]
    ) -> tuple[tuple[int, int], ...]:
        """Bring the buffers to `plan`; frames that already lie in their slot are left alone.

        `recent` gives sink and recent frames, `pages` a recalled page by id. Returns the
        `(first_slot, frames)` runs that were written, so that what is derived from them can follow.

        Raises:
            ValueError: the plan is larger than the window.
        """
        wanted = plan.slots()
        if len(wanted) > self.slots:
            raise ValueError(f"a plan of {len(wanted)} frames does not fit {self.slots} slots")
        old, self._installed = self._installed, []
        stale = [slot for slot, frame in enumerate(wanted) if slot >= len(old) or old[slot] != frame]
        runs: list[tuple[int, int]] = []
        for span in plan.spans:
            source = recent if span.page is None else pages[span.page]
            for slot, frames in _runs(stale, span.first_slot, span.first_slot + span.frames):
                self._write(slot, source, span.first_frame + slot - span.first_slot, frames)
                runs.append((slot, frames))
        self._installed = wanted
        return tuple(runs)

    def _write(self, slot: int, source: FrameSource, first_frame: int, frames: int) -> None:
        size = self.shape.frame_tokens
        for frame, keys, values in source.pieces(first_frame, frames):
            start = (slot + frame - first_frame) * size
            part = slice(start, start + keys.shape[1])
            if self.keys.device.type == "cpu":
                self.values[:, 0, part].copy_(values)
                # Frame by frame and layer by layer: it stays in the cache, and a frame's bits do not depend
                # on how many are installed with it.
                for offset in range(0, keys.shape[1], size):
                    for layer in range(keys.shape[0]):
                        self._rotate(self.keys[layer, 0], start + offset, keys[layer, offset : offset + size])
            else:  # decoded, rotated and written in one pass, from where they lie
                table = (self._table[0][part], self._table[1][part])
                install_page(Encoded(keys, None), self.keys[:, 0, part], table)
                install_page(Encoded(values, None), self.values[:, 0, part])

    def _rotate(self, buffer: Tensor, start: int, keys: Tensor) -> None:
        """Write `keys [..., n, H, D]`, rotated to their slots, at token `start` of `buffer [..., L, H, D]`."""
        part = slice(start, start + keys.shape[-3])
        rotate(keys, self._table[0][part], self._table[1][part], out=buffer[..., part, :, :])

    def current_table(self, tokens: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines `[tokens, D / 2]` of the current block's slots."""
        part = slice(self.tokens, self.tokens + tokens)
        return self._table[0][part], self._table[1][part]

    def context(self, layer: int, current_tokens: int = 0) -> tuple[Tensor, Tensor]:
        """Views `[1, tokens + current_tokens, H, D]` of one layer: the window, then the current block.

        The current block's part, `[:, window.tokens:]`, is for the caller to write in every pass.
        """
        end = self.tokens + current_tokens
        return self.keys[layer, :, :end], self.values[layer, :, :end]


def _runs(slots: Sequence[int], start: int, end: int) -> list[tuple[int, int]]:
    """Consecutive runs `(first, count)` of the ascending `slots` that lie in `[start, end)`."""
    runs: list[tuple[int, int]] = []
    for slot in slots:
        if start <= slot < end:
            if runs and sum(runs[-1]) == slot:
                runs[-1] = (runs[-1][0], runs[-1][1] + 1)
            else:
                runs.append((slot, 1))
    return runs
