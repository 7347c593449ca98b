"""Dark, light and the desktop's own: legible, live, and nothing keeps the other theme's ink."""

from dataclasses import fields
from operator import attrgetter

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPixmap
from PySide6.QtWidgets import QLabel

from tests.fakes_window import FakeSession, Script, opener
from worldattention.app import icons, theme
from worldattention.app.colours import DARK, LIGHT, contrast
from worldattention.app.main_window import MainWindow, Setup
from worldattention.app.panels.stages import STAGES
from worldattention.core.config import EngineConfig
from worldattention.core.project import new_project

TEXTS = ("text", "muted", "faint", "accent", "recall", "good", "warning", "danger")


@pytest.fixture
def window(qapp, qtbot):
    theme.apply_theme(qapp, "dark")
    made = MainWindow(Setup(opener(Script()), FakeSession, lambda settings: EngineConfig(), new_project()))
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()
    theme.apply_theme(qapp, "dark")


def luminance(colour: str) -> float:
    """WCAG 2.2, written down a second time."""
    value = 0.0
    for share, start in ((0.2126, 1), (0.7152, 3), (0.0722, 5)):
        c = int(colour[start : start + 2], 16) / 255
        value += share * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
    return value


def over(top: QColor, ground: str) -> str:
    """What an ink with an opacity looks like on a ground."""
    below = QColor(ground)
    mixed = [
        round(a * top.alphaF() + b * (1 - top.alphaF()))
        for a, b in zip(top.getRgb()[:3], below.getRgb()[:3], strict=True)
    ]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_every_text_is_legible_on_every_ground_that_it_stands_on(colours):
    """WCAG AA: 4.5 for text."""
    for ground in ("window", "panel", "stripe", "raised"):
        for text in TEXTS:
            ratio = contrast(getattr(colours, text), getattr(colours, ground))
            assert ratio >= 4.5, f"{text} on {ground}: {ratio:.2f}"
    assert contrast(colours.text, colours.hover) >= 7
    assert contrast(colours.text, colours.panel) >= 10
    for accent in (colours.accent, colours.accent_hover):
        assert contrast(colours.on_accent, accent) >= 4.5


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_marks_stand_out_from_their_ground(colours):
    """WCAG AA: 3 for what is not text. Tiers also differ from each other, by their letters too."""
    for tier in {*theme.TIER_LEVELS, *STAGES.values()}:
        for ground in (colours.window, colours.panel):
            assert contrast(getattr(colours, tier), ground) >= 3, tier
    assert len({getattr(colours, tier) for tier in theme.TIER_LEVELS}) == 4


@pytest.mark.parametrize("name", ["dark", "light"])
def test_prompts_are_legible_on_every_event(monkeypatch, name):
    """The fills that the timeline paints: at rest, under the mouse, and past."""
    monkeypatch.setattr(theme, "colours", lambda: LIGHT if name == "light" else DARK)
    for number in range(len(theme.EVENT_COLOURS)):
        for alpha, ink in ((0.48, theme.TEXT), (0.62, theme.TEXT), (0.30, theme.MUTED)):
            fill = over(theme.with_alpha(theme.event_colour(number), alpha), theme.WINDOW)
            assert contrast(ink, fill) >= (4.5 if ink == theme.TEXT else 3), (number, alpha)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    for colour in (getattr(DARK, field.name) for field in fields(DARK)):
        expected = (luminance(colour) + 0.05) / 0.05
        assert contrast(colour, "#000000") == pytest.approx(expected)


def corner(widget) -> str:
    return QColor(widget.grab().toImage().pixelColor(2, widget.height() - 3)).name()


def test_the_theme_changes_while_the_window_is_open(window, qapp):
    assert corner(window.statusBar()) == DARK.window
    theme.apply_theme(qapp, "light")
    assert corner(window.statusBar()) == LIGHT.window
    assert LIGHT.text == theme.TEXT
    assert window.panels.memory.plot.backgroundBrush().color().name() == LIGHT.panel
    pen = window.panels.memory.plot.getAxis("left").textPen()
    assert pen.color().name() == LIGHT.muted
    theme.apply_theme(qapp, "dark")
    assert window.panels.memory.plot.backgroundBrush().color().name() == DARK.panel
    assert corner(window.statusBar()) == DARK.window


def same_picture(one, other) -> bool:
    return one.size() == other.size() and one.grab().toImage() == other.grab().toImage()


def test_no_pixel_of_the_other_theme_stays(window, qapp, qtbot):
    """A window that was switched looks as one that was born so."""
    theme.apply_theme(qapp, "light")
    born = MainWindow(Setup(opener(Script()), FakeSession, lambda settings: EngineConfig(), new_project()))
    qtbot.addWidget(born)
    born.show()
    qtbot.waitExposed(born)
    born.resize(window.size())
    for each in (window, born):
        qtbot.waitUntil(lambda each=each: each.toolbar.rate_text != "", timeout=20000)
        each.prompt_box.edit.clearFocus()
    for name in ("toolbar", "timeline", "panels.sparsity", "panels.memory", "prompt_box", "viewport"):
        parts = attrgetter(name)(window), attrgetter(name)(born)
        qtbot.waitUntil(lambda parts=parts: same_picture(*parts), timeout=20000)
    born.close()


@pytest.mark.parametrize("mode", ["text", "muted", "on_accent"])
def test_icons_take_the_ink_of_the_theme(qapp, mode):
    def ink(icon) -> set[str]:
        image = icon.pixmap(QSize(48, 48)).toImage()
        solid = [image.pixelColor(x, y) for x in range(48) for y in range(48)]
        return {colour.name() for colour in solid if colour.alpha() == 255}

    icon = icons.icon("fit", mode)
    theme.apply_theme(qapp, "light")
    assert getattr(LIGHT, mode) in ink(icon)
    theme.apply_theme(qapp, "dark")
    assert getattr(DARK, mode) in ink(icon)


def test_system_follows_the_desktop(qapp, monkeypatch):
    wished = {"scheme": Qt.ColorScheme.Light}
    monkeypatch.setattr(
        theme, "_desktops", lambda app: "light" if wished["scheme"] == Qt.ColorScheme.Light else "dark"
    )
    theme.apply_theme(qapp, "system")
    assert theme.colours() is LIGHT
    wished["scheme"] = Qt.ColorScheme.Dark
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.colours() is DARK
    theme.apply_theme(qapp, "dark")
    wished["scheme"] = Qt.ColorScheme.Light
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert theme.colours() is DARK  # a chosen theme stays


def test_a_theme_that_does_not_exist_is_refused(qapp):
    with pytest.raises(ValueError, match="sepia"):
        theme.apply_theme(qapp, "sepia")
    with pytest.raises(AttributeError):
        _ = theme.SEPIA


def test_a_tone_colours_a_label_in_both_themes(qapp, qtbot):
    label = QLabel("■■■■")
    qtbot.addWidget(label)
    theme.set_tone(label, "danger")
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        theme.apply_theme(qapp, name)
        picture = QPixmap(label.size())
        label.render(picture)
        image = picture.toImage()
        inks = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
        assert colours.danger in inks
