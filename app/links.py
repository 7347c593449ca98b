"""A page of the past is one thing wherever it stands: what points at it in one view marks it in all others."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from worldattention.app.memory_strip import Memory
from worldattention.app.timeline.marks import Arc
from worldattention.core.geometry import FPS
from worldattention.core.telemetry import PageRecord

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class PageLinks(QObject):
    """Heat map, remembered moments, arcs of the timeline, pictures at the prompt, and the playhead in the past."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._world, self._model, self._panels = window.world, window.model, window.panels
        self._pointed: PageRecord | None = None
        self._marked: PageRecord | None = None
        self._panels.page_pointed.connect(self.point)
        self._panels.page_chosen.connect(self._show)
        window.prompt_box.memories.pointed.connect(self._point_at_memory)
        window.prompt_box.memory_chosen.connect(self._show_seconds)
        window.timeline.view.arc_pointed.connect(self._point_at_arc)
        window.timeline.view.moment_requested.connect(self._show_seconds)
        self._world.playback.moved.connect(self._mark)

    def point(self, page: PageRecord | None) -> None:
        """Something points at a page; None: at nothing any more."""
        self._pointed = page
        self._model.set_highlight(self._model.page_span(page) if page is not None else None)
        self._mark()

    def page_at(self, seconds: float) -> PageRecord | None:
        """The page that holds a moment."""
        pages, sizes = self._panels.pages.history.pages, self._world.geometry
        frame = round(seconds * FPS)
        block = sizes.block_at_frame(frame)
        inside = (frame - sizes.frames_before_block(block)) * sizes.block_latents
        latent = block * sizes.block_latents + inside // sizes.frames_of_block(block)
        index = bisect_right(pages, latent, key=lambda page: page.first_frame) - 1
        if index < 0 or latent >= pages[index].first_frame + pages[index].frames:
            return None
        return pages[index]

    def _point_at_memory(self, memory: Memory | None) -> None:
        self.point(self.page_at(memory.seconds) if memory is not None else None)
        if memory is not None:
            self._model.set_highlight((memory.seconds, memory.end))

    def _point_at_arc(self, arc: Arc | None) -> None:
        self.point(self.page_at(arc.start) if arc is not None else None)

    def _mark(self) -> None:
        """Without a pointer, a playhead in the past marks the page that it is in."""
        playback = self._world.playback
        here = self.page_at(playback.position / FPS) if playback.past else None
        page = self._pointed or here
        if page != self._marked:
            self._marked = page
            self._panels.highlight(page)

    def _show(self, page: PageRecord) -> None:
        self._show_seconds(self._model.page_span(page)[0])

    def _show_seconds(self, seconds: float) -> None:
        self._world.playback.show_moment(round(seconds * FPS))
