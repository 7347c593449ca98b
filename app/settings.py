"""Settings in the window: the dialog, what takes effect at once, and what waits for a restart of the world."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from worldattention.app import appearance, theme
from worldattention.app.appearance import Appearance
from worldattention.app.notifications import INFO, WARNING
from worldattention.app.preferences import PreferencesStore
from worldattention.app.settings_dialog import Choice, SettingsDialog
from worldattention.core.errors import UserError

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow


class SettingsFlow(QObject):
    """Theme, language and scaling change at once, what makes the world with the next world.

    `look`: what is in force at the start, where the command line overrules what is remembered.
    """

    def __init__(
        self,
        window: MainWindow,
        store: PreferencesStore,
        state_file: Path | None,
        cache_folder: Path,
        look: Appearance | None = None,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._store = store
        self._state_file = state_file
        self._cache_folder = cache_folder
        self._look = look or appearance.remembered(state_file)
        window.files.blank = lambda: store.current.new_project()

    def start(self) -> None:
        """The window is there: settings that could not be read are told, the others taken on."""
        if self._store.problem is not None:
            self._window.notifications.tell(self._store.problem, WARNING)
        self._show_scaling()

    def ask(self) -> SettingsDialog:
        """Opens the dialog."""
        choice = Choice(self._store.current, self._look)
        dialog = SettingsDialog(choice, self._cache_folder, self._window)
        dialog.applied.connect(lambda choice: self._apply(choice, dialog))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def _apply(self, choice: Choice, dialog: SettingsDialog) -> None:
        window, before = self._window, self._store.current
        app, look, self._look = QApplication.instance(), self._look, choice.appearance
        assert isinstance(app, QApplication)
        if choice.appearance.theme != look.theme:
            theme.apply_theme(app, choice.appearance.theme)
        if choice.appearance.language != look.language:
            for level in (INFO, WARNING):  # news, in the language in which it was said
                window.notifications.clear(level)
            window.status.forget_notice()
            appearance.speak(app, choice.appearance.language)
            QTimer.singleShot(0, dialog, lambda: self._ask_again(dialog))
        if self._state_file is not None:
            kept = appearance.remembered(self._state_file)  # what the command line overruled stays as it was
            new = choice.appearance
            theme_kept = new.theme if new.theme != look.theme else kept.theme
            language_kept = new.language if new.language != look.language else kept.language
            appearance.remember(self._state_file, Appearance(theme_kept, language_kept))
        try:
            self._store.save(choice.preferences)
        except UserError as error:
            window.notifications.tell(str(error), WARNING)
        self._show_scaling()
        if choice.preferences.needs_restart(before):
            window.notifications.tell(
                self.tr("The world goes on as it is; a restart takes the new settings on."),
                WARNING,
                self.tr("Restart the world"),
                lambda: window.restart(reload=True),
            )

    def _ask_again(self, dialog: SettingsDialog) -> None:
        """A dialog that stays open is made anew, in the other language."""
        if dialog.isVisible():
            dialog.reject()
            self.ask().language.setFocus()

    def _show_scaling(self) -> None:
        smooth = not self._store.current.pixel_exact
        self._window.actions_by_name["smooth"].setChecked(smooth)
        self._window.viewport.set_smooth(smooth)
