"""The window: puts the parts together and lets them talk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QMainWindow, QVBoxLayout, QWidget

from worldattention.app import dialogs, icons, window_state
from worldattention.app.about import AboutDialog
from worldattention.app.actions import RECENT, SAMPLES, SPECS, fill_menus, make_actions
from worldattention.app.appearance import Appearance
from worldattention.app.branching import Branching
from worldattention.app.edit_actions import EditActions
from worldattention.app.engine_like import OpenEngine, OpenSession
from worldattention.app.exporting import ExportFlow
from worldattention.app.failure import FailureFlow
from worldattention.app.library import Library
from worldattention.app.links import PageLinks
from worldattention.app.notifications import ERROR, WARNING, Notifications
from worldattention.app.opening import Opening
from worldattention.app.panels.panels import Panels
from worldattention.app.picture import Picture
from worldattention.app.preferences import PreferencesStore, default_cache
from worldattention.app.presenter import STARTING, Presenter
from worldattention.app.project_files import Present, ProjectFiles, markers_of
from worldattention.app.prompt_box import PromptBox, PromptLanguage
from worldattention.app.recording import RecordingFlow
from worldattention.app.replay import ReplayFlow, Source
from worldattention.app.saved_worlds import SavedWorlds
from worldattention.app.seeking import Seeking
from worldattention.app.settings import SettingsFlow
from worldattention.app.status import StatusBar
from worldattention.app.texts import worded
from worldattention.app.timeline.dock import TimelineDock
from worldattention.app.timeline.layout import clock
from worldattention.app.timeline.model import TimelineModel
from worldattention.app.toolbar import MainToolBar, SettingsBar
from worldattention.app.viewport import Viewport
from worldattention.app.world import World
from worldattention.core.config import EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.project import Project, ProjectSettings

PROGRAM = "WorldAttention Playground"
CLOSE_AGAIN_MS = 20


@dataclass(frozen=True, slots=True)
class Setup:
    """What a window is made of. `state_file` None: nothing is remembered and nothing is asked.

    `look`: the theme and language that the application wears, where they are not those that are remembered.
    """

    open_engine: OpenEngine
    open_session: OpenSession
    configure: Callable[[ProjectSettings], EngineConfig]
    project: Project
    path: Path | None = None
    state_file: Path | None = None
    cache_folder: Path | None = None
    preferences: PreferencesStore = field(default_factory=lambda: PreferencesStore(None))
    language: PromptLanguage | None = None
    look: Appearance | None = None


class MainWindow(QMainWindow):
    """See DESIGN 6. Everything that the user does ends in a method of the world or of the timeline's model."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self._setup = setup
        self._asks = True  # about unsaved work, when it closes
        self.world_ended = True
        self.setWindowIcon(icons.app_icon())
        self.setAcceptDrops(True)
        self.setContentsMargins(10, 0, 10, 0)  # panels end where the picture begins
        self.resize(1280, 800)
        self.model = TimelineModel(self)
        self.model.open(setup.project.timeline, markers_of(setup.project))
        self.settings_bar = SettingsBar(setup.project.settings)
        self.opening = Opening(self)
        self.files = ProjectFiles(self, self.opening, setup.project, setup.path, self._present)
        config = setup.configure(setup.project.settings)
        self._source = source = Source(setup.open_engine, setup.open_session)
        self.world = World(
            source.open_engine,
            source.open_session,
            config,
            self.model.timeline,
            setup.cache_folder,
            self,
            setup.project.history,
        )
        self.seeking = Seeking(self)
        self.replay = ReplayFlow(self, source)
        self.library = Library(self, setup.state_file.parent if setup.state_file is not None else None)
        self._build()
        self.presenter = Presenter(self, setup.language)
        self._connect()
        self._default_state = self.saveState(window_state.VERSION)
        if setup.state_file is not None:
            window_state.restore(self, setup.state_file)
        worded(self, self.refresh_title)

    def start(self) -> None:
        """Begins to load the world."""
        self.presenter.show_loading(STARTING, 0.0)
        self.world.start()
        self.settings.start()
        self.recording_flow.start()
        QTimer.singleShot(0, self, self.library.start)

    # Building

    def _build(self) -> None:
        self.actions_by_name = make_actions(self, self._handlers())
        actions = self.actions_by_name
        self.viewport = Viewport()
        self.notifications = Notifications(self.viewport)
        self.prompt_box = PromptBox()
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 4, 4)
        column.setSpacing(0)
        column.addWidget(self.viewport, 1)
        column.addWidget(self.prompt_box)
        self.setCentralWidget(centre)
        self.toolbar = MainToolBar(actions, self.settings_bar)
        self.addToolBar(self.toolbar)
        self.panels = Panels(self, self.world.thumbnail, self.model.page_span)
        self.timeline = TimelineDock(self.model, actions)
        self.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, self.timeline)
        self.branching = Branching(self)
        self.saved_worlds = SavedWorlds(self, self._source)
        self._size_docks()
        self.status = StatusBar()
        self.setStatusBar(self.status)
        menus = fill_menus(self.menuBar(), actions)
        for dock in (*self.panels.all, self.timeline):
            menus["View"].addAction(dock.toggleViewAction())
        self.library.fill(menus[SAMPLES], menus[RECENT])
        menus["View"].addSeparator()
        menus["View"].addAction(actions["reset_layout"])
        for name, spec in SPECS.items():
            if not spec.everywhere:
                self.viewport.addAction(actions[name])
                self.timeline.view.addAction(actions[name])
        actions["smooth"].setChecked(True)
        store, state_file = self._setup.preferences, self._setup.state_file
        cache_folder = self._setup.cache_folder or default_cache()
        self.settings = SettingsFlow(self, store, state_file, cache_folder, self._setup.look)
        self.export_flow = ExportFlow(self)
        self.recording_flow = RecordingFlow(self, state_file.parent if state_file is not None else None)
        self.failure = FailureFlow(self)
        self.picture = Picture(self)
        self.links = PageLinks(self)
        EditActions(self.model, actions, self)

    def _size_docks(self) -> None:
        self.panels.size()
        self.resizeDocks([self.timeline], [178], Qt.Orientation.Vertical)

    def _handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "new": lambda: self.files.new(),
            "open": lambda: self.files.open_asking(),
            "save": lambda: self.files.save(),
            "save_as": lambda: self.files.save_as(),
            "export": lambda: self.export_flow.ask(),
            "save_world": lambda: self.saved_worlds.ask(),
            "open_world": lambda: self.saved_worlds.open_asking(),
            **self.library.handlers(),
            "settings": lambda: self.settings.ask(),
            "quit": self.close,
            "undo": self.model.undo_stack.undo,
            "redo": self.model.undo_stack.redo,
            "add": self._add_event,
            "split": self.model.split,
            "marker": self.model.toggle_marker,
            "duplicate": self.model.duplicate_selected,
            "delete": self.model.delete_selected,
            "play": self.toggle_play,
            "branch": lambda: self.branching.continue_here(),
            "restart": self.restart,
            "record": lambda: self.recording_flow.toggle(self._is_on("record")),
            **self.seeking.handlers(),
            "prompt": lambda: self.prompt_box.edit.setFocus(Qt.FocusReason.ShortcutFocusReason),
            "zoom_in": lambda: self.timeline.view.zoom(1.4),
            "zoom_out": lambda: self.timeline.view.zoom(1 / 1.4),
            "fit": lambda: self.timeline.view.fit(),
            "table": lambda: self.timeline.show_table(self._is_on("table")),
            "smooth": lambda: self.viewport.set_smooth(self._is_on("smooth")),
            "overlay": lambda: self.picture.show_words(self._is_on("overlay")),
            "snapshot": lambda: self.picture.ask_snapshot(),
            "fullscreen": lambda: self.picture.show_full(self._is_on("fullscreen")),
            "reset_layout": self._reset_layout,
            "keys": lambda: dialogs.KeysDialog(self).open(),
            "about": lambda: AboutDialog(self).open(),
        }

    def _connect(self) -> None:
        world, model, tell = self.world, self.model, self.notifications.tell
        model.changed.connect(lambda: world.set_timeline(model.timeline))
        model.changed.connect(self.refresh_title)
        model.refused.connect(lambda text: tell(text, WARNING))
        self.settings_bar.changed.connect(self._settings_changed)
        self.prompt_box.said.connect(self.say)
        self.prompt_box.put.connect(self._put)
        self.prompt_box.left.connect(lambda: self.viewport.setFocus(Qt.FocusReason.OtherFocusReason))
        self.prompt_box.typing.connect(world.typing)
        self.timeline.view.seek_requested.connect(self.seeking.to)
        self.timeline.add_requested.connect(self._add_event)
        self.viewport.action_clicked.connect(
            lambda: self.restart() if self.world.state == "failed" else self.saved_worlds.stop_loading()
        )
        self.viewport.live_wanted.connect(self.seeking.back_to_live)
        self.viewport.double_clicked.connect(self.actions_by_name["fullscreen"].trigger)
        self.files.opened.connect(self._project_opened)
        self.files.renamed.connect(self.refresh_title)
        for source in (self.files, self.opening):
            source.failed.connect(lambda text: tell(text, ERROR))
        self.files.told.connect(tell)
        self.notifications.faded.connect(self.status.show_notice)

    # What the user does

    def say(self, prompt: str) -> None:
        """Changes the world at the next block; the first prompt of a still world also starts it."""
        self.world.say(prompt)
        if self.model.locked == 0 and self.world.state != "failed":
            self.world.playback.play()

    def toggle_play(self) -> None:
        """Play or pause."""
        if self.world.state == "failed":
            self.restart()
        else:
            self.world.playback.toggle()

    def restart(self, reload: bool = False) -> None:
        """The same timeline in a new world, from the beginning; with `reload`, of an engine that is opened anew."""
        self.presenter.clear()
        config = self._setup.configure(self.settings_bar.settings)
        history = self.world.history(self.model.timeline)
        reload = reload or self.replay.active
        self.world.restart(self.model.timeline, config, reload=reload, history=history, anew=True)
        self.branching.clear()
        self.presenter.accept_settings()
        self.presenter.show_loading(STARTING, 0.0)
        self.world.playback.play()

    def _put(self, prompt: str) -> None:
        at = max(self.model.cursor, self.model.locked)
        if self.model.put(at, prompt):
            self.notifications.tell(self.tr("On the timeline at {}.").format(clock(at, True)))

    def _add_event(self) -> None:
        self.timeline.add_at(max(self.model.cursor, self.model.locked))

    def _settings_changed(self, settings: ProjectSettings) -> None:
        try:
            self.world.configure(self._setup.configure(settings), settings)
        except UserError as error:
            self.presenter.refuse_settings(str(error), settings, offer_restart=False)
        self.refresh_title()

    # Projects

    def _present(self) -> Present:
        timeline = self.model.timeline
        history = self.world.history(timeline)
        return Present(timeline, self.model.markers, self.settings_bar.settings, history)

    def _project_opened(self) -> None:
        project = self.files.saved
        self.presenter.clear()
        self.model.open(project.timeline, markers_of(project))
        self.settings_bar.show_settings(project.settings)
        self.presenter.accept_settings()
        self.timeline.view.fit()
        if not project.timeline.events:
            self.world.playback.pause()
        config = self._setup.configure(project.settings)
        reload = self.saved_worlds.take_turn() | self.replay.take_turn()
        self.world.restart(
            project.timeline, config, keep_prompts=False, reload=reload, history=project.history
        )
        self.branching.clear()
        self.refresh_title()

    def refresh_title(self) -> None:
        """The project's name, and whether it has unsaved changes."""
        self.setWindowTitle(f"{self.files.name}[*] – {PROGRAM}")
        self.setWindowModified(self.files.changed)

    # The window itself

    def _is_on(self, name: str) -> bool:
        action: QAction = self.actions_by_name[name]
        return action.isChecked()

    def _reset_layout(self) -> None:
        self.restoreState(self._default_state, window_state.VERSION)
        self._size_docks()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._setup.state_file is None or not os.path.exists(self._setup.state_file):
            self._size_docks()
        self.prompt_box.edit.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Space plays everywhere, so Enter, of which a button itself makes nothing, is what presses it.
        focused = self.focusWidget()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(focused, QAbstractButton):
            focused.click()
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self.library.takes(event.mimeData()) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = self.library.takes(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            self.library.open(path)

    def leave(self) -> None:
        """Closes without a question, as at a logout: unsaved work is offered at the next start."""
        self._asks = False
        while isinstance(dialog := QApplication.activeModalWidget(), QDialog):
            dialog.reject()
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.files.saving.busy:
            event.ignore()
            QTimer.singleShot(CLOSE_AGAIN_MS, self, self.close)
            return
        if self._asks and self._setup.state_file is not None and not self.files.confirm():
            event.ignore()
            return
        self.picture.stop()
        self.opening.close()
        if self._setup.state_file is not None:
            window_state.save(self, self._setup.state_file)
        self.library.stop(keep=not self._asks)
        self.presenter.stop()
        self.hide()  # the worker may need a moment to come back
        self.world_ended = self.world.close()
        event.accept()
