"""The toolbar: transport, the honest frame rate, and the settings that take effect at the next block."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QEvent, QRegularExpression, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QRegularExpressionValidator,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QWidget,
)

from worldattention.app import icons, theme
from worldattention.app.controls import ChoiceBox
from worldattention.app.panels.dock import flat_button, name_button
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate, worded
from worldattention.core.config import ATTENTION_MODES, PRESETS, RETRIEVAL_POLICIES
from worldattention.core.project import ProjectSettings

DENSITIES: tuple[tuple[str, float | None], ...] = (
    (QT_TRANSLATE_NOOP("SettingsBar", "auto (τ)"), None),
    ("5 %", 0.05),
    ("10 %", 0.10),
    ("20 %", 0.20),
    ("30 %", 0.30),
    ("50 %", 0.50),
    ("100 %", 1.0),
)
RATE_WIDTH = 180
STEPS = ("1", "2", "3", "4", "6", "8")
_HELP = {
    QT_TRANSLATE_NOOP("SettingsBar", "Preset"): QT_TRANSLATE_NOOP(
        "SettingsBar", "playground: our rules; authors: the published code, number for number"
    ),
    QT_TRANSLATE_NOOP("SettingsBar", "Attention"): QT_TRANSLATE_NOOP(
        "SettingsBar", "How blocks are read: hybrid sparse, dense, linear only or sparse only"
    ),
    QT_TRANSLATE_NOOP("SettingsBar", "Memory"): QT_TRANSLATE_NOOP(
        "SettingsBar", "Which pages of the past are recalled"
    ),
    QT_TRANSLATE_NOOP("SettingsBar", "Density"): QT_TRANSLATE_NOOP(
        "SettingsBar", "Share of key blocks that are read; auto lets every head choose by its Gini"
    ),
    QT_TRANSLATE_NOOP("SettingsBar", "Steps"): QT_TRANSLATE_NOOP(
        "SettingsBar", "Denoising steps a block: fewer are quicker, 4 are what the model was trained for"
    ),
    QT_TRANSLATE_NOOP("SettingsBar", "Seed"): QT_TRANSLATE_NOOP(
        "SettingsBar", "Another seed is another world of the same prompts"
    ),
}


class SettingsBar(QWidget):
    """Selectors for a project's settings; `changed` tells every choice of the user."""

    changed = Signal(object)  # ProjectSettings

    def __init__(self, settings: ProjectSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.preset = self._combo(PRESETS)
        self.attention = self._combo(ATTENTION_MODES)
        self.retrieval = self._combo(RETRIEVAL_POLICIES)
        self.density = self._combo([text for text, _ in DENSITIES])
        self.steps = self._combo(STEPS)
        self.seed = QLineEdit()
        self.seed.setValidator(QRegularExpressionValidator(QRegularExpression("[0-9]{1,18}"), self.seed))
        self.seed.setFixedWidth(64)
        self._dice = flat_button("dice", 18)
        self._dice.clicked.connect(self._roll)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(5)
        self._fields = (self.preset, self.attention, self.retrieval, self.density, self.steps, self.seed)
        self._labels: list[QLabel] = []
        for field in self._fields:
            label = QLabel()
            self._labels.append(label)
            label.setObjectName("fieldName")
            label.setBuddy(field)
            label.setContentsMargins(4, 0, 0, 0)
            row.addWidget(label)
            row.addWidget(field)
        row.addWidget(self._dice)
        worded(self, self._speak)
        self.show_settings(settings)
        for combo in (self.preset, self.attention, self.retrieval, self.density, self.steps):
            combo.activated.connect(self._edited)
        self.seed.editingFinished.connect(self._edited)

    def _speak(self) -> None:
        for name, field, label in zip(_HELP, self._fields, self._labels, strict=True):
            words = translate("SettingsBar", name)
            label.setText(words)
            field.setAccessibleName(words)
            field.setToolTip(f"{words}: {translate('SettingsBar', _HELP[name])}")
        for index, (text, _) in enumerate(DENSITIES):
            self.density.setItemText(index, translate("SettingsBar", text))
        name_button(self._dice, self.tr("Random seed"))

    def set_compact(self, compact: bool) -> None:
        """Without the fields' names, where there is no room for them; tooltips have them."""
        for label in self._labels:
            label.setVisible(not compact)

    @property
    def labels_width(self) -> int:
        """Pixels that the fields' names take."""
        return sum(label.sizeHint().width() + 5 for label in self._labels)

    @property
    def compact(self) -> bool:
        """Whether the fields' names are left out."""
        return self._labels[0].isHidden()

    @property
    def settings(self) -> ProjectSettings:
        """What is chosen."""
        return self._settings

    def show_settings(self, settings: ProjectSettings) -> None:
        """Shows settings without telling of a change."""
        self._settings = settings
        self.preset.setCurrentText(settings.preset)
        self.attention.setCurrentText(settings.attention)
        self.retrieval.setCurrentText(settings.retrieval)
        self._show_density(settings.density)
        if self.steps.findText(str(settings.steps)) < 0:
            self.steps.addItem(str(settings.steps))
        self.steps.setCurrentText(str(settings.steps))
        self.seed.setText(str(settings.seed))

    def _show_density(self, density: float | None) -> None:
        for index, (_, value) in enumerate(DENSITIES):
            if value == density:
                self.density.setCurrentIndex(index)
                return
        text = f"{100 * (density or 0):g} %"
        if self.density.findText(text) < 0:
            self.density.addItem(text, density)
        self.density.setCurrentText(text)

    def _edited(self) -> None:
        index = self.density.currentIndex()
        density = DENSITIES[index][1] if index < len(DENSITIES) else float(self.density.currentData())
        settings = replace(
            self._settings,
            preset=self.preset.currentText(),
            attention=self.attention.currentText(),
            retrieval=self.retrieval.currentText(),
            density=density,
            seed=int(self.seed.text() or 0),
            steps=int(self.steps.currentText()),
        )
        self.seed.setText(str(settings.seed))
        if settings != self._settings:
            self._settings = settings
            self.changed.emit(settings)

    def _roll(self) -> None:
        self.seed.setText(str(random.SystemRandom().randrange(100_000)))
        self._edited()

    def _combo(self, choices: Sequence[str]) -> ChoiceBox:
        combo = ChoiceBox()
        combo.addItems(list(choices))
        combo.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        return combo


class MainToolBar(QToolBar):
    """Transport at the left, settings at the right."""

    def __init__(
        self, actions: dict[str, QAction], settings: SettingsBar, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setFloatable(False)
        self.setIconSize(QSize(18, 18))
        self.setContentsMargins(0, 0, 0, 10)  # a style sheet has one padding for all four sides
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        for name in ("play", "restart", "record"):
            self._add(actions[name]).setProperty("primary", name == "play")
        actions["play"].setIcon(icons.icon("play", icons.ON_PRIMARY))
        actions["play"].setIconVisibleInMenu(False)  # its ink is made for the accent's ground
        self._rate = QLabel()
        self._rate.setFont(theme.font(13))
        self._rate.setTextFormat(Qt.TextFormat.RichText)
        self._rate.setMinimumWidth(RATE_WIDTH)
        self._rate.setContentsMargins(8, 0, 0, 0)
        self._rates = "", ""
        self._shown: tuple[float | None, float | None, str] = None, None, ""
        theme.dress(self._rate, self._colour_rate)
        self.addWidget(self._rate)
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(space)
        self.addWidget(settings)
        self._settings = settings
        self._add(actions["export"])
        self._more = self._rest_button()
        worded(self, self._speak)

    def _speak(self) -> None:
        self.setWindowTitle(self.tr("Toolbar"))
        for action in self.actions():
            if action.text():
                self.widgetForAction(action).setAccessibleName(action.text().removesuffix(" …"))
        name_button(self._more, self.tr("More"))
        self._rate.setAccessibleName(self.tr("Frame rate"))
        self._rate.setToolTip(self.tr("Frames shown a second (always 16), and how fast the world is made"))
        self.show_rate(*self._shown)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            QTimer.singleShot(0, self, self._fit)  # when the fields have their words too

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        compact = self._full_width() > self.width()
        self._settings.set_compact(compact)
        self._rate.setMinimumWidth(RATE_WIDTH - (30 if compact else 0))

    def _full_width(self) -> int:
        """Pixels that everything takes with all names."""
        hidden = self._settings.labels_width + 30 if self._settings.compact else 0
        return self.sizeHint().width() + hidden

    @property
    def rate_text(self) -> str:
        """The frame rate as it is shown."""
        return self._rate.accessibleDescription()

    def _rest_button(self) -> QToolButton:
        """Qt's own, which opens what has no room; its arrow is black, and too large for where it stands."""
        button = self.findChild(QToolButton, "qt_toolbar_ext_button")
        assert isinstance(button, QToolButton)
        button.setIcon(icons.icon("more"))
        button.setIconSize(QSize(12, 12))
        return button

    def _add(self, action: QAction) -> QToolButton:
        self.addAction(action)
        button = self.widgetForAction(action)
        assert isinstance(button, QToolButton)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _colour_rate(self) -> None:
        first, second = self._rates
        muted = f"<span style='color:{theme.MUTED}'> · {second}</span>" if second else ""
        self._rate.setText(f"<b>{first}</b>{muted}")

    def show_rate(self, shown: float | None, made: float | None, note: str = "") -> None:
        """`16.0 FPS · made at 21.3`; `note` says why frames do not run."""
        self._shown = shown, made, note
        first = note or (self.tr("{:.1f} FPS").format(shown) if shown is not None else self.tr("– FPS"))
        second = self.tr("made at {:.1f}").format(made) if made is not None else ""
        plain = " · ".join(part for part in (first, second) if part)
        if plain == self.rate_text:
            return
        self._rate.setAccessibleDescription(plain)
        self._rates = first, second
        self._colour_rate()
