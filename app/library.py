"""The File menu beside a project's own file: samples, recent projects, recordings, recovery, files dropped."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject, Signal
from PySide6.QtWidgets import QMenu

from worldattention.app import dialogs, file_dialogs
from worldattention.app.autosave import Autosave, Recovered, find_lost
from worldattention.app.notifications import WARNING
from worldattention.app.panels_file import save_panels
from worldattention.app.project_files import SUFFIX, sample_paths
from worldattention.app.recent import Recent
from worldattention.app.telemetry_file import save_telemetry
from worldattention.app.texts import tip, worded
from worldattention.app.welcome import Welcome, in_order, sample_title
from worldattention.core.errors import UserError
from worldattention.core.files import is_saved_world

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow

RECORDED = (".mp4", ".jsonl")


class Library(QObject):
    """`folder` holds what is remembered between sittings; None: nothing is. A thread of its own reads and writes it."""

    _found = Signal(object)  # list[Recovered]

    def __init__(self, window: MainWindow, folder: Path | None) -> None:
        super().__init__(window)
        self._window = window
        self._folder = folder
        self._disk = ThreadPoolExecutor(1, "library")
        self.recent = Recent(folder / "recent.json" if folder is not None else None, self._disk.submit)
        self.autosave: Autosave | None = None
        self.welcome: Welcome | None = None
        self._open = True
        self._found.connect(self._offer_all)
        window.files.opened.connect(self._remember)
        window.files.renamed.connect(self._remember)
        window.world.said.connect(self._begin)
        window.world.made.connect(self._begin)

    def handlers(self) -> dict[str, Callable[[], object]]:
        """What the actions of this controller do."""
        return {
            "telemetry": self._save_telemetry,
            "panels": self._save_panels,
            "recorded": lambda: self._window.replay.ask(),
            "welcome": self.show_welcome,
        }

    def fill(self, samples: QMenu, recent: QMenu) -> None:
        """The sub-menus."""

        def fill_samples() -> None:
            samples.clear()
            for path in in_order(sample_paths()):
                action = samples.addAction(sample_title(path))
                action.triggered.connect(lambda _on=False, path=path: self.open_sample(path))

        worded(samples, fill_samples)
        recent.aboutToShow.connect(lambda: self._fill_recent(recent))
        self._fill_recent(recent)
        worded(self._window, self._welcome_again)

    def start(self) -> None:
        """The window is there: unsaved work of a crash is offered, and an empty window says what can be done."""
        if self._folder is None:
            return
        folder = self._folder / "unsaved"
        self.autosave = Autosave(folder, self._window.files)
        self.autosave.failed.connect(self._unkept)
        self._disk.submit(lambda: self._found.emit(find_lost(folder)))
        self._remember()
        if not self._window.model.timeline.events:
            self.show_welcome()

    def stop(self, keep: bool) -> None:
        """The window closes; with `keep`, nobody was asked about unsaved work, and the next start offers it."""
        if self.autosave is not None:
            self.autosave.close(keep)
        self._open = False
        self._disk.shutdown()

    def show_welcome(self) -> None:
        """Samples and recent projects, over the picture."""
        self._begin()
        page = Welcome(self._window.viewport, sample_paths(), self.recent.paths)
        page.sample_chosen.connect(self.open_sample)
        page.project_chosen.connect(self.open)
        page.new_wanted.connect(self._window.actions_by_name["new"].trigger)
        page.new_wanted.connect(self._begin)
        page.open_wanted.connect(self._window.actions_by_name["open"].trigger)
        page.recorded_wanted.connect(self._window.replay.ask)
        page.show()
        page.raise_()
        self.welcome = page

    def _welcome_again(self) -> None:
        if self.welcome is not None:
            self.show_welcome()

    def open(self, path: Path) -> None:
        """A project or a recording, after asking about unsaved changes."""
        if path.suffix.lower() in RECORDED:
            self._window.replay.open(path)
        elif is_saved_world(path):
            self._window.saved_worlds.open(path)
        else:
            self._window.files.open(path)

    def open_sample(self, path: Path) -> None:
        """A copy of a sample: saving it asks for a place, and never changes the sample."""
        self._window.files.open_copy(path, sample_title(path))

    def takes(self, data: QMimeData) -> Path | None:
        """The first file of what is dragged that the window can open."""
        for url in data.urls():
            path = Path(url.toLocalFile())
            if path.suffix.lower() in (SUFFIX, *RECORDED) or is_saved_world(path):
                return path
        return None

    def _begin(self, *_what: object) -> None:
        if self.welcome is not None:
            self.welcome.hide()
            self.welcome.deleteLater()
            self.welcome = None

    def _remember(self) -> None:
        path = self._window.files.path
        if path is not None:
            self.recent.add(path)
        if self._window.files.saved.timeline.events:
            self._begin()

    def _offer_all(self, found: list[Recovered]) -> None:
        for lost in found:
            if self._open:
                self._offer(lost)

    def _offer(self, lost: Recovered) -> None:
        """Nothing is thrown away before it is answered, and Discard works even where the copy cannot be removed."""
        name = lost.path.stem if lost.path is not None else lost.project.name
        answer = dialogs.ask_recover(self._window, name)
        if answer == "discard":
            lost.discard()
        elif answer == "recover" and self._window.files.confirm():
            self._window.files.recover(lost.project, lost.path)
            assert self.autosave is not None
            if self.autosave.keep():
                lost.discard()

    def _unkept(self, why: str) -> None:
        words = self.tr("{} Save the world yourself: a crash would lose what is unsaved.").format(why)
        self._window.notifications.tell(words, WARNING)

    def _fill_recent(self, menu: QMenu) -> None:
        menu.clear()
        for path in self.recent.paths:
            there = os.path.exists(path)
            action = menu.addAction(path.stem if there else self.tr("{} (missing)").format(path.stem))
            action.setEnabled(there)
            action.setToolTip(tip(str(path)))
            action.triggered.connect(lambda _on=False, path=path: self.open(path))
        menu.setToolTipsVisible(True)
        menu.setEnabled(bool(self.recent.paths))

    def _save_telemetry(self) -> None:
        window = self._window
        start = str((window.files.path or Path(window.files.name)).with_suffix(".jsonl"))
        kinds = self.tr("JSON lines (*.jsonl);;Table (*.csv)")
        if (path := file_dialogs.save_file(window, self.tr("Save telemetry"), start, kinds)) is not None:
            self._tell(lambda: save_telemetry(path, window.world.log.records()))

    def _save_panels(self) -> None:
        window = self._window
        start = str((window.files.path or Path(window.files.name)).with_suffix("")) + self.tr(" panels.png")
        kinds = self.tr("Picture (*.png)")
        if (path := file_dialogs.save_file(window, self.tr("Save panels"), start, kinds)) is not None:
            self._tell(lambda: save_panels(path, window.panels.all))

    def _tell(self, act: Callable[[], str]) -> None:
        try:
            self._window.notifications.tell(act())
        except UserError as error:
            self._window.notifications.tell(str(error), WARNING)
