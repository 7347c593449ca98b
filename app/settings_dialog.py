"""Settings that hold for every world, checked against the machine while they are typed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpacerItem,
    QVBoxLayout,
    QWidget,
)

from worldattention.app import file_dialogs
from worldattention.app.appearance import LANGUAGE_NAMES, LANGUAGES, Appearance
from worldattention.app.controls import ChoiceBox, TickBox
from worldattention.app.preferences import DEVICES, Preferences, check_cache_folder, check_quota
from worldattention.app.sentences import spoken
from worldattention.app.texts import plain_label
from worldattention.app.theme import THEMES, set_tone
from worldattention.core.config import ATTENTION_MODES, RETRIEVAL_POLICIES
from worldattention.core.errors import UserError
from worldattention.core.model_folder import describe_model
from worldattention.core.units import format_bytes

TIERS = ("device", "dram", "disk")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the dialog is about."""

    preferences: Preferences
    appearance: Appearance


class SettingsDialog(QDialog):
    """`applied` tells a choice that the machine can do; Apply and OK are active only then."""

    applied = Signal(object)  # Choice

    def __init__(self, choice: Choice, cache_folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Settings"))
        self.setMinimumWidth(560)
        self._choice = choice
        self._cache_folder = cache_folder
        self._grid = QGridLayout()
        self._hints: dict[str, QLabel] = {}
        self._problems: set[str] = set()
        self._make_fields()
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Ok | kinds.Apply | kinds.Cancel | kinds.RestoreDefaults)
        self.buttons.button(kinds.RestoreDefaults).setText(self.tr("Reset"))
        for button in self.buttons.buttons():
            button.setAutoDefault(False)  # type: ignore[attr-defined]
        self.buttons.button(kinds.Ok).setDefault(True)
        self.buttons.accepted.connect(self._ok)
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(kinds.Apply).clicked.connect(self._apply)
        self.buttons.button(kinds.RestoreDefaults).clicked.connect(
            lambda: self.show_choice(Choice(Preferences(), Appearance()))
        )
        self._lay_out()
        self.show_choice(choice)
        self._connect()

    def show_choice(self, choice: Choice) -> None:
        """Fills the fields."""
        wish, look = choice.preferences, choice.appearance
        self.model.setText(wish.model)
        self.device.setCurrentText(wish.device)
        for tier, edit in self.quotas.items():
            quota = getattr(wish, f"{tier}_quota_bytes")
            edit.setText("" if quota is None else format_bytes(quota))
        self.folder.setText(wish.cache_folder or "")
        self.attention.setCurrentText(wish.attention)
        self.retrieval.setCurrentText(wish.retrieval)
        self.pixel_exact.setChecked(wish.pixel_exact)
        self.theme.setCurrentIndex(THEMES.index(look.theme))
        self.language.setCurrentIndex(LANGUAGES.index(look.language))
        self._check()

    def hint(self, field: str) -> str:
        """What is said below a field."""
        return self._hints[field].text()

    def _make_fields(self) -> None:
        self.model, self.folder = QLineEdit(), QLineEdit()
        self.folder.setPlaceholderText(str(self._cache_folder))
        self.device = _box(DEVICES)
        self.device.setEditable(True)  # cuda:1
        self.quotas = {tier: QLineEdit() for tier in TIERS}
        for edit in self.quotas.values():
            edit.setPlaceholderText(self.tr("automatic, or an amount such as 4GB"))
        self.attention, self.retrieval = _box(ATTENTION_MODES), _box(RETRIEVAL_POLICIES)
        themes = {"system": self.tr("As the desktop"), "dark": self.tr("Dark"), "light": self.tr("Light")}
        self.theme = _box([themes[name] for name in THEMES])
        names = {"system": self.tr("As the desktop"), **LANGUAGE_NAMES}
        self.language = _box([names[name] for name in LANGUAGES])
        self.pixel_exact = TickBox(self.tr("Show pixels as they are, unsmoothed"))

    def _lay_out(self) -> None:
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self._row(self.tr("Model"), self.model, "model", self._browse_button(self.model))
        self._row(self.tr("Device"), self.device, "device")
        names = {
            "device": self.tr("Memory on the device"),
            "dram": self.tr("Main memory"),
            "disk": self.tr("Disk"),
        }
        for tier, edit in self.quotas.items():
            self._row(names[tier], edit, f"{tier} quota")
        self._row(self.tr("Cache folder"), self.folder, "folder", self._browse_button(self.folder))
        self._row(self.tr("New worlds: attention"), self.attention)
        self._row(self.tr("New worlds: memory"), self.retrieval)
        self._row(self.tr("Theme"), self.theme)
        self._row(self.tr("Language"), self.language)
        self._row("", self.pixel_exact)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(14)
        column.addLayout(self._grid)
        column.addWidget(self.buttons)

    def _row(self, name: str, field: QWidget, hint: str = "", extra: QWidget | None = None) -> None:
        row = self._grid.rowCount()
        if name:
            label = QLabel(name)
            label.setBuddy(field)
            field.setAccessibleName(name)
            self._grid.addWidget(label, row, 0)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(field, 1)
        if extra is not None:
            line.addWidget(extra)
        self._grid.addLayout(line, row, 1)
        if hint:
            said = plain_label()
            said.setObjectName("muted")
            said.setWordWrap(True)
            self._hints[hint] = said
            self._grid.addWidget(said, row + 1, 1)
        self._grid.addItem(QSpacerItem(1, 6), row + (2 if hint else 1), 0)

    def _browse_button(self, edit: QLineEdit) -> QPushButton:
        button = QPushButton(self.tr("Choose …"))
        button.setAccessibleName(self.tr("Choose a folder"))
        button.setAutoDefault(False)

        def browse() -> None:
            start = edit.text() if os.path.isdir(edit.text()) else ""
            folder = file_dialogs.open_folder(self, self.tr("Choose a folder"), start)
            if folder is not None:
                edit.setText(str(folder))

        button.clicked.connect(browse)
        return button

    def _connect(self) -> None:
        for edit in (self.model, self.folder, *self.quotas.values()):
            edit.textChanged.connect(self._check)
        self.device.currentTextChanged.connect(self._check)
        for box in (self.language, self.theme, self.attention, self.retrieval):
            box.currentIndexChanged.connect(self._check)
        self.pixel_exact.toggled.connect(self._check)

    def _check(self) -> None:
        self._problems.clear()
        self._say("model", lambda: describe_model(self.model.text()))
        self._say("device", self._device_words)
        self._say("folder", lambda: check_cache_folder(self.folder.text(), self._cache_folder)[1])
        for tier, edit in self.quotas.items():
            self._say(f"{tier} quota", partial(self._quota_words, tier, edit))
        sound = not self._problems
        kinds = QDialogButtonBox.StandardButton
        self.buttons.button(kinds.Ok).setEnabled(sound)
        self.buttons.button(kinds.Apply).setEnabled(sound and self._chosen() != self._choice)

    def _device_words(self) -> str:
        name = self.device.currentText()
        number = name.removeprefix("cuda:")
        if name not in DEVICES and not (name != number and number.isascii() and number.isdecimal()):
            raise UserError(self.tr("Choose auto, cpu, cuda or cuda: and a number."))
        torch = sys.modules.get("torch")  # asked for only once the engine has loaded it: it takes seconds
        if name.startswith("cuda") and torch is not None and not torch.cuda.is_available():
            raise UserError(self.tr("No CUDA device answers on this machine: choose auto or cpu."))
        return self.tr("The fastest that is there.") if name == "auto" else ""

    def _quota_words(self, tier: str, edit: QLineEdit) -> str:
        return check_quota(tier, edit.text(), self._place())[1]

    def _place(self) -> Path:
        typed = Path(self.folder.text())
        return typed if typed.is_absolute() else self._cache_folder

    def _say(self, field: str, words: Callable[[], str]) -> None:
        try:
            text, problem = words(), False
        except (UserError, ValueError) as error:
            text, problem = str(error), True
            self._problems.add(field)
        self._hints[field].setText(spoken(text))
        set_tone(self._hints[field], "danger" if problem else "muted")

    def _chosen(self) -> Choice:
        def quota(tier: str) -> int | None:
            before = getattr(self._choice.preferences, f"{tier}_quota_bytes")
            text = self.quotas[tier].text()
            if before is not None and text == format_bytes(before):
                return int(before)  # a figure that is shown rounded is not changed by looking at it
            return check_quota(tier, text, self._place())[0]

        preferences = Preferences(
            model=self.model.text().strip(),
            device=self.device.currentText(),
            device_quota_bytes=quota("device"),
            dram_quota_bytes=quota("dram"),
            disk_quota_bytes=quota("disk"),
            cache_folder=check_cache_folder(self.folder.text(), self._cache_folder)[0],
            attention=self.attention.currentText(),
            retrieval=self.retrieval.currentText(),
            pixel_exact=self.pixel_exact.isChecked(),
        )
        look = Appearance(THEMES[self.theme.currentIndex()], LANGUAGES[self.language.currentIndex()])
        return Choice(preferences, look)

    def _apply(self) -> None:
        chosen = self._chosen()
        if chosen != self._choice:
            self._choice = chosen
            self.applied.emit(chosen)
        self._check()

    def _ok(self) -> None:
        self._apply()
        self.accept()


def _box(choices: Sequence[str]) -> QComboBox:
    box = ChoiceBox()
    box.addItems(list(choices))
    return box
