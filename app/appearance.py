"""Theme and language: what is remembered, and how the application takes them on."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from PySide6.QtCore import QLibraryInfo, QLocale, QSettings, QTranslator
from PySide6.QtWidgets import QApplication

from worldattention.app import theme
from worldattention.core.files import make_private, private_folder

LANGUAGES = ("system", "en", "ko")
"""`system`: the first of the user's languages that is here; English otherwise."""
LANGUAGE_NAMES = {"en": "English", "ko": "한국어"}
_THEME_KEY, _LANGUAGE_KEY = "appearance/theme", "appearance/language"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Appearance:
    """One of `theme.THEMES` and one of LANGUAGES."""

    theme: str = "dark"
    language: str = "system"


def remembered(state_file: Path | None) -> Appearance:
    """What was chosen in the settings; what is missing or unknown there is the default."""
    default = Appearance()
    if state_file is None or not os.path.exists(state_file):
        return default
    settings = QSettings(str(state_file), QSettings.Format.IniFormat)
    colours = str(settings.value(_THEME_KEY, default.theme, type=str))
    language = str(settings.value(_LANGUAGE_KEY, default.language, type=str))
    return Appearance(
        colours if colours in theme.THEMES else default.theme,
        language if language in LANGUAGES else default.language,
    )


def remember(state_file: Path, appearance: Appearance) -> None:
    """Keeps the choice; failing to is no failure of the program."""
    try:
        private_folder(state_file.parent)
    except OSError as error:
        log.warning("theme and language could not be kept: %s", error)
        return
    settings = QSettings(str(state_file), QSettings.Format.IniFormat)
    settings.setValue(_THEME_KEY, appearance.theme)
    settings.setValue(_LANGUAGE_KEY, appearance.language)
    settings.sync()
    make_private(state_file)


def take_on(app: QApplication, appearance: Appearance) -> None:
    """Dresses the application and makes it speak."""
    theme.apply_theme(app, appearance.theme)
    speak(app, appearance.language)


def speak(app: QApplication, language: str) -> None:
    """All words are in this language from now on, also those of open windows; untranslated ones stay English."""
    for old in app.findChildren(QTranslator):
        app.removeTranslator(old)
        old.setParent(None)
    spoken = language_of(language)
    if spoken == "en":
        return
    ours = str(resources.files("worldattention.app") / "translations")
    qts = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    for name, folder in (("qtbase", qts), ("worldattention", ours)):
        translator = QTranslator(app)
        if translator.load(f"{name}_{spoken}", folder):
            app.installTranslator(translator)
        else:
            log.warning("there is no translation %s_%s in %s", name, spoken, folder)


def language_of(choice: str) -> str:
    """The language that a choice of LANGUAGES means on this machine."""
    if choice != "system":
        return choice
    wished = (name.split("-")[0] for name in QLocale.system().uiLanguages())
    return next((name for name in wished if name in LANGUAGE_NAMES), "en")
