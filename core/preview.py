"""What a prompt would recall, known from the prompt index alone: no denoising, so quick enough while typing."""

from __future__ import annotations

from dataclasses import dataclass

from worldattention.core.hkv.page import PageInfo


@dataclass(frozen=True, slots=True)
class ChunkPreview:
    """One chunk that stage 1 would let through; `similarity` is the cosine of its prompt with the new one.

    `pages`: those that a recall could bring (outside the window, not dropped), in chronological order. `event`: the
    part of a prompt of several events that it is for; empty where there is one only.
    """

    chunk: int
    similarity: float
    prompt: str
    pages: tuple[PageInfo, ...]
    event: str = ""


@dataclass(frozen=True, slots=True)
class RecallPreview:
    """The chunks that `prompt` would draw pages from, best first."""

    prompt: str
    chunks: tuple[ChunkPreview, ...] = ()

    @property
    def page_ids(self) -> tuple[int, ...]:
        """Every page of the chunks, the best chunk's first."""
        return tuple(page.id for chunk in self.chunks for page in chunk.pages)
