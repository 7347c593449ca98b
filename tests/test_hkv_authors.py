"""The `authors` preset against a transcription of their published cache, over random sessions.

Theirs keeps keys rotated to absolute positions: at a prompt switch the window becomes a chunk of pages,
the mean keys lose their temporal rotation, the best chunk's best pages are turned to positions that end
at the current frame and replace the window, which then rolls. Ours keeps keys un-rotated and uses slots.
Both must attend to the same frames with the same scores.
"""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.config import CacheConfig
from worldattention.core.hkv.bank import KVBank
from worldattention.core.hkv.page import KVShape
from worldattention.core.hkv.ring import FrameRing
from worldattention.core.hkv.store import open_store
from worldattention.core.hkv.window import Window, plan_window_authors
from worldattention.kernels.ops import rotate
from worldattention.kernels.reference.rope import rotary_table, spatial_table

GRID, HEADS, DIM = (1, 2), 2, 12
SHAPE = KVShape(layers=2, frame_tokens=2, heads=HEADS, head_dim=DIM, dtype=torch.float32)
PAGE, TOP, BUDGET = 2, 2, 6


def turn(x, position):
    """Wan's rotation of one frame's tokens [T, H, D] to a temporal position, as complex numbers in fp64."""
    time = torch.arange(0, 4, 2).double() / 4  # 12 channels: 4 for time, 4 for rows, 4 for columns
    space = torch.arange(0, 4, 2).double() / 4
    columns = torch.arange(2).double()
    angles = torch.cat(
        [
            (position * 10000.0**-time).expand(2, 2),
            torch.zeros(2, 2).double(),
            columns[:, None] * 10000.0**-space,
        ],
        dim=1,
    )
    numbers = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(numbers * torch.polar(torch.ones_like(angles), angles)[:, None]).flatten(-2)


def turn_time(x, steps):
    """Only the temporal rotation of already rotated keys [T, H, D], by `steps` frames."""
    angles = steps * 10000.0 ** -(torch.arange(0, 4, 2).double() / 4)
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()).clone()
    numbers[..., :2] *= torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(numbers).flatten(-2)


class Theirs:
    """The published cache, frame by frame: `window` and pages hold (position, content, keys by layer)."""

    def __init__(self):
        self.window, self.chunks, self.now = [], [], 0

    def append(self, content, keys):
        self.window.append((self.now, content, [turn(layer, self.now) for layer in keys]))
        self.window = self.window[-BUDGET:]
        self.now += 1

    def switch(self, old_prompt, new_prompt, query):
        start = self.now - len(self.window)
        pages = []
        for first in range(0, len(self.window), PAGE):
            frames = self.window[first : first + PAGE]
            content_keys = torch.cat([turn_time(keys[0], -position) for position, _, keys in frames])
            pages.append((start + first, frames, content_keys.mean(dim=0)))
        self.chunks.append((old_prompt / old_prompt.norm(), pages))
        cosines = [float(vector @ (new_prompt / new_prompt.norm())) for vector, _ in self.chunks]
        best = self.chunks[max(range(len(cosines)), key=lambda c: (cosines[c], -c))][1]
        scores = [float((query[0].double() * mean).sum()) / (HEADS * DIM) ** 0.5 for _, _, mean in best]
        chosen = sorted(sorted(range(len(best)), key=lambda p: -scores[p])[:TOP])
        frames = [frame for page in chosen for frame in best[page][1]]
        base = self.now - len(frames)
        self.window = [
            (base + i, content, [turn_time(layer, base + i - position) for layer in keys])
            for i, (position, content, keys) in enumerate(frames)
        ]
        return sorted(scores)


class Ours:
    """The same session through ring, bank and window."""

    def __init__(self):
        config = CacheConfig(
            page_frames=PAGE,
            recalled_pages=TOP,
            budget_frames=BUDGET,
            sink_frames=0,
            min_recent_frames=0,
            stage1_width=1,
            authors_layout=True,
            disk_quota_bytes=0,
        )
        self.bank = KVBank(SHAPE, config, [0], open_store(config, SHAPE))
        self.ring = FrameRing(SHAPE, BUDGET + 8, 0)
        self.window = Window(SHAPE, BUDGET, 1, rotary_table(torch.arange(BUDGET + 1), GRID, DIM))
        self.recalled, self.switch_frame = (), 0

    def plan(self):
        done = self.ring.frames_done
        return plan_window_authors(done, BUDGET, self.recalled, self.switch_frame)

    def install(self):
        plan = self.plan()
        with self.bank.recall([page.id for page in self.recalled]) as held:
            self.window.install(plan, self.ring, held.pages)
        return plan

    def switch(self, old_prompt, new_prompt, query):
        with self.bank.recall([page.id for page in self.recalled]) as held:
            pieces = [
                piece
                for span in self.plan().spans
                for piece in (self.ring if span.page is None else held.pages[span.page]).pieces(
                    span.first_frame, span.frames
                )
            ]
            keys = torch.cat([keys for _, keys, _ in pieces], dim=1)
            values = torch.cat([values for _, _, values in pieces], dim=1)
        done = self.ring.frames_done
        table = spatial_table(keys.shape[1] // 2, GRID, DIM)
        self.bank.snapshot(
            keys,
            values,
            rotate(keys[:1], *table),
            frames_done=done,
            prompt_vector=old_prompt,
            prompt_text="",
        )
        result = self.bank.retrieve(query, new_prompt)
        self.recalled, self.switch_frame = tuple(self.bank.pages[page] for page in result.chosen), done
        self.window.invalidate()
        return sorted(result.scores[list(result.candidates)].tolist())


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**31))
def test_same_frames_same_scores_same_logits(data, seed):
    generator = torch.Generator().manual_seed(seed)
    theirs, ours = Theirs(), Ours()
    prompts = torch.randn(3, 5, generator=generator)
    prompt = prompts[0]
    for _ in range(data.draw(st.integers(1, 6))):
        for _ in range(data.draw(st.integers(1, 9))):
            keys, values = torch.randn(2, *SHAPE.tensor(1), generator=generator)
            content = theirs.now
            values[:] = content
            theirs.append(content, keys)
            ours.ring.append(keys, values)
            compare(theirs, ours, generator)
        new_prompt = prompts[data.draw(st.integers(0, 2))]
        query = torch.randn(1, HEADS, DIM, generator=generator)
        scores = theirs.switch(prompt, new_prompt, query)
        torch.testing.assert_close(
            torch.tensor(ours.switch(prompt, new_prompt, query)), torch.tensor(scores), atol=1e-5, rtol=0
        )
        prompt = new_prompt
        compare(theirs, ours, generator)


def compare(theirs, ours, generator):
    """Same frames in the same order, and a query of the current frame sees them with the same logits."""
    plan = ours.install()
    query = torch.randn(2, HEADS, DIM, generator=generator)
    rotated = rotate(query, *rotary_table(torch.tensor([plan.frames]), GRID, DIM)).double()
    at_position = turn(query, theirs.now)
    for layer in range(2):
        keys, values = ours.window.context(layer)
        assert values[0, ::2, 0, 0].tolist() == [content for _, content, _ in theirs.window]
        their_keys = torch.cat([keys[layer] for _, _, keys in theirs.window])
        logits = torch.einsum("qhd,khd->hqk", rotated, keys[0].double())
        torch.testing.assert_close(
            logits, torch.einsum("qhd,khd->hqk", at_position, their_keys), atol=1e-4, rtol=0
        )
