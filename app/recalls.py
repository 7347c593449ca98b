"""A recall's record as what the window draws: arcs on the timeline, thumbnails at the prompt."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QImage

from worldattention.app.engine_like import PreviewLike
from worldattention.app.memory_strip import Memory
from worldattention.app.texts import translate
from worldattention.app.timeline.marks import Arc
from worldattention.app.timeline.model import TimelineModel
from worldattention.core.geometry import FPS
from worldattention.core.telemetry import BlockTelemetry


def arcs_of(record: BlockTelemetry, model: TimelineModel) -> list[Arc]:
    """From the block to every page that its recall chose."""
    if record.recall is None:
        return []
    at = model.geometry.block_seconds(record.block)
    pages = {page.page: page for page in record.pages}
    chosen = [pages[number] for number in record.recall.chosen if number in pages]
    return [Arc(at, *model.page_span(page), page.score, page.similarity) for page in chosen]


def memories_of(record: BlockTelemetry, model: TimelineModel) -> tuple[Memory, ...]:
    """The chosen pages as pictures, the best first."""
    if record.recall is None:
        return ()
    pages = {page.page: page for page in record.pages}
    chosen = [pages[number] for number in record.recall.chosen if number in pages]
    chosen.sort(key=lambda page: -(page.score or 0.0))
    memories = []
    for page in chosen:
        middle = page.first_frame + page.frames // 2
        picture = model.picture_of(middle // model.geometry.block_latents)
        memories.append(Memory(picture, page.score, *model.page_span(page), page.page))
    return tuple(memories)


def foreseen_of(
    preview: PreviewLike, model: TimelineModel, thumbnail: Callable[[int], QImage | None]
) -> tuple[Memory, ...]:
    """The moments that a prompt would recall, the best first: one for each chunk, its middle as the picture.

    Of a prompt of several events each says which of them it is for.
    """
    memories = []
    for chunk in preview.chunks:
        if not chunk.pages:
            continue
        first, last = chunk.pages[0], chunk.pages[-1]
        start = model.latent_seconds(first.first_frame)
        end = model.latent_seconds(last.first_frame + last.frames)
        picture = thumbnail(round((start + end) / 2 * FPS))
        words = chunk.prompt
        if chunk.event:
            words = translate("Recalls", "for “{0}”: {1}").format(chunk.event, chunk.prompt)
        memories.append(Memory(picture, None, start, end, first.id, chunk.similarity, words))
    return tuple(memories)
