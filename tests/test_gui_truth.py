"""What the window says is what holds now, and no more than what changed."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QDialogButtonBox

from tests.fakes_window import FakeEngine, Script
from tests.window_hands import blocks, texts
from worldattention.app import appearance, theme, window_run
from worldattention.app.appearance import Appearance, remembered
from worldattention.app.commandline.options import Options
from worldattention.app.messages import Acknowledged
from worldattention.app.panels.pages import PagesPanel
from worldattention.app.preferences import Preferences, PreferencesStore
from worldattention.core.config import EngineConfig
from worldattention.core.units import format_bytes, parse_bytes

OK, APPLY = QDialogButtonBox.StandardButton.Ok, QDialogButtonBox.StandardButton.Apply
SLOW = "more slowly than it plays"


def test_a_new_world_shows_no_number_of_the_old_one(make_window, qtbot, qapp):
    one = make_window()
    blocks(qtbot, one, 3)
    one.status.show_latency(0.4)
    fields = one.status.block, one.status.tiers, one.status.latency
    assert all(field.text() for field in fields)
    one.files.accept_present()
    one.actions_by_name["new"].trigger()
    assert [field.text() for field in fields] == ["", "", ""]
    appearance.speak(qapp, "en")  # the words are written anew, and these stay away
    assert [field.text() for field in fields] == ["", "", ""]
    assert not one.status.block.toolTip()


@pytest.mark.parametrize("dismissed", [False, True])
def test_a_machine_that_has_recovered_is_no_longer_called_slow(make_window, qtbot, dismissed):
    one = make_window(reported_ms=800.0)  # 15 frames a second
    qtbot.waitUntil(lambda: any(SLOW in text for text in texts(one)), timeout=60000)
    [told] = [text for text in texts(one) if SLOW in text]
    assert "slows down" in told
    assert "wait" not in told
    if dismissed:
        [close] = [each for each in one.findChildren(QAbstractButton) if each.accessibleName() == "Dismiss"]
        QTest.mouseClick(close, Qt.MouseButton.LeftButton)
        assert one.status.notice.text() == told
    one.script.reported_ms = 500.0  # 24
    qtbot.waitUntil(
        lambda: not one.notifications.shown and not one.status.notice.text() and one.world.made_fps > 23,
        timeout=60000,
    )
    assert texts(one).count(told) == 1  # the log keeps it


def test_a_notice_on_something_else_stays_when_the_machine_recovers(make_window, qtbot):
    one = make_window(reported_ms=500.0)
    one.notifications.tell("The disk is full.")
    one.notifications._toasts[0].closed.emit()
    blocks(qtbot, one, 8)
    assert one.status.notice.text() == "The disk is full."


def test_a_notice_says_what_changed_and_no_more(make_window):
    one = make_window(start=False)
    before = one.settings_bar.settings
    dense = replace(before, attention="dense")
    for block, settings, expected in (
        (4, dense, "From block 4 on: attention dense."),
        (4, replace(dense, steps=1), "From block 4 on: attention dense, 1 step."),
        (4, before, "From block 4 on: as before."),
        (6, replace(before, density=0.1, seed=7), "From block 6 on: density 10 %, seed 7."),
        (7, replace(dense, retrieval="recent", preset="authors", steps=2),
         "From block 7 on: preset authors, attention dense, memory recent, density τ, 2 steps, seed 0."),
    ):  # fmt: skip
        one.presenter._configured(Acknowledged(1, 0, block, 0.0), settings)
        assert texts(one)[-1] == expected
    assert len(texts(one)) == 3


def test_the_settings_show_what_is_in_force_and_keep_what_was_not_touched(make_window, qtbot, qapp, tmp_path):
    file = tmp_path / "config" / "window.ini"
    appearance.remember(file, Appearance("dark", "ko"))
    one = make_window(remember=True, start=False, setup={"look": Appearance("light", "en")})
    dialog = one.settings.ask()
    assert (dialog.theme.currentText(), dialog.language.currentText()) == ("Light", "English")
    qtbot.mouseClick(dialog.buttons.button(OK), Qt.MouseButton.LeftButton)
    assert remembered(file) == Appearance("dark", "ko")
    dialog = one.settings.ask()
    dialog.pixel_exact.setChecked(True)
    qtbot.mouseClick(dialog.buttons.button(APPLY), Qt.MouseButton.LeftButton)
    assert remembered(file) == Appearance("dark", "ko")
    dialog.theme.setCurrentIndex(theme.THEMES.index("system"))
    qtbot.mouseClick(dialog.buttons.button(OK), Qt.MouseButton.LeftButton)
    assert remembered(file) == Appearance("system", "ko")
    theme.apply_theme(qapp, "dark")


def test_the_command_line_tells_the_window_what_is_in_force(qapp, tmp_path, monkeypatch):
    class Opened(Exception):
        pass

    def open_window(setup):
        raise Opened(setup.look)

    monkeypatch.setattr(window_run, "MainWindow", open_window)
    monkeypatch.setattr(window_run, "qInstallMessageHandler", lambda _handler: None)
    with pytest.raises(Opened) as opened:
        window_run.run(None, Options(), tmp_path / "a.png", 1, "light", "en")
    theme.apply_theme(qapp, "dark")
    assert opened.value.args == (Appearance("light", "en"),)


def test_a_quota_of_nothing_can_be_kept(make_window, qtbot):
    assert [parse_bytes(format_bytes(amount)) for amount in (0, 1, 999)] == [0, 1, 999]
    store = PreferencesStore(None)
    store.save(Preferences(disk_quota_bytes=0))
    dialog = make_window(start=False, setup={"preferences": store}).settings.ask()
    assert dialog.buttons.button(OK).isEnabled()
    qtbot.mouseClick(dialog.buttons.button(OK), Qt.MouseButton.LeftButton)
    assert store.current == Preferences(disk_quota_bytes=0)


def test_letters_of_tiers_go_when_the_panel_becomes_too_low_and_come_back(qtbot):
    engine = FakeEngine(Script(step_s=0.0), EngineConfig())
    panel = PagesPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 360)
    panel.show()
    qtbot.waitExposed(panel)
    panel.show_blocks([engine.step("a red house").telemetry for _ in range(32)])
    pages = len(panel.history.pages)
    assert pages == 12

    def letters():
        return sum(letter.isVisible() for letter in panel._letters)

    for height, expected in ((360, pages), (150, 0), (360, pages)):
        panel.resize(400, height)
        qtbot.waitUntil(lambda expected=expected: letters() == expected, timeout=20000)
        assert not expected or panel.plot.view.height() / pages > 9  # pixels of a letter


def pixels(window):
    """Of the button behind which the rest of the toolbar is, as it is seen."""
    image = window.toolbar.grab(window.toolbar._more.geometry()).toImage()
    return [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]


def apart(found, other):
    return max(abs(a - b) for a, b in zip(found.getRgb(), QColor(other).getRgb(), strict=True))


@pytest.mark.parametrize("colours", ["dark", "light"])
def test_what_has_no_room_in_the_toolbar_is_behind_an_arrow_that_is_never_red(
    make_window, qtbot, qapp, colours
):
    one = make_window(start=False)
    theme.apply_theme(qapp, colours)
    one.resize(800, 760)
    button = one.toolbar._more
    qtbot.waitUntil(lambda: button.isVisible() and not one.settings_bar.isVisible(), timeout=20000)
    assert sum(apart(pixel, theme.WINDOW) > 90 for pixel in pixels(one)) >= 8
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(one.settings_bar.isVisible, timeout=20000)
    assert button.isChecked()
    assert min(apart(pixel, theme.DANGER) for pixel in pixels(one)) > 60
    theme.apply_theme(qapp, "dark")
