"""Settings: kept, quarantined when broken, checked while typed, taken on at once or with the next world."""

import json
import struct

import pytest
import torch
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QMainWindow, QPushButton

from tests.test_recorded import KOREAN
from worldattention.app import theme, window_state
from worldattention.app.appearance import Appearance, remembered
from worldattention.app.preferences import (
    Preferences,
    PreferencesStore,
    check_cache_folder,
    check_quota,
)
from worldattention.core.config import EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.model_folder import describe_model

KINDS = QDialogButtonBox.StandardButton


def test_case_22_preferences_round_trip_in_any_folder(tmp_path):
    file = tmp_path / KOREAN / "settings.json"
    wish = Preferences("/models/완", "cuda:1", None, 5, 0, "/tmp/ñ", "dense", "none", True)
    PreferencesStore(file).save(wish)
    assert PreferencesStore(file).current == wish
    config = wish.applied(EngineConfig())
    assert (config.cache.dram_quota_bytes, config.cache.disk_quota_bytes) == (5, 0)
    assert config.cache.device_quota_bytes == EngineConfig().cache.device_quota_bytes
    assert str(config.cache.folder) == "/tmp/ñ"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe\0", b'{"model": 3}', b'{"dram_quota_bytes": -1}', b'{"retrieval": "psychic"}',
     b'{"disk_quota_bytes": true}', b'{"model": "a\\u0000b"}', b'{"pixel_exact": "yes"}'],
)  # fmt: skip
def test_case_26_broken_settings_are_set_aside_and_the_start_goes_on(make_window, qtbot, tmp_path, content):
    file = tmp_path / "config" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(content)
    store = PreferencesStore(file)
    assert store.current == Preferences()
    assert not file.exists()
    assert file.with_suffix(".bad").read_bytes() == content
    assert "settings.bad" in store.problem
    assert PreferencesStore(file).problem is None
    if content == b"{":
        one = make_window(remember=True, setup={"preferences": store})
        qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
        assert any("settings.bad" in notice.text for notice in one.notifications.history)


def test_unknown_settings_of_later_versions_do_no_harm(tmp_path):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"model": "pocket", "holograms": True}))
    assert PreferencesStore(file).problem is None


@pytest.mark.parametrize("at", [(90_000, 90_000, 300, 200), (-5000, 10, 400, 300), (0, 0, 9000, 7000)])
def test_case_26_a_restored_window_lies_on_the_screen(qtbot, tmp_path, at):
    one, two = QMainWindow(), QMainWindow()
    for window in (one, two):
        qtbot.addWidget(window)
    one.setGeometry(QRect(*at))
    window_state.save(one, tmp_path / "state.ini")
    window_state.restore(two, tmp_path / "state.ini")
    screen = QApplication.primaryScreen().availableGeometry()
    frame = two.frameGeometry()
    assert screen.contains(frame.topLeft())
    assert frame.width() <= screen.width()
    assert frame.height() <= screen.height()


def weights(path, size=64, cut=0):
    head = json.dumps({"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    data = struct.pack("<Q", len(head)) + head + b"\0" * size
    path.write_bytes(data[: len(data) - cut])


def model_folder(root, parts):
    for part in parts:
        (root / part).mkdir(parents=True)
        if part != "tokenizer":
            (root / part / "config.json").write_text("{}")
            weights(root / part / "model.safetensors")
    return root


def test_a_model_folder_is_judged_by_its_files(tmp_path):
    assert "comes with" in describe_model("pocket")
    wan = model_folder(tmp_path / "wan", ("transformer", "vae", "text_encoder", "tokenizer"))
    assert describe_model(str(wan)).startswith("A Wan model")
    small = model_folder(tmp_path / "small", ("transformer", "autoencoder"))
    assert "pocket" in describe_model(str(small))


def test_case_28_what_is_wrong_with_a_model_folder_is_said_with_the_file(tmp_path):
    def broken(change, words):
        root = model_folder(
            tmp_path / words.replace("/", "-"), ("transformer", "vae", "text_encoder", "tokenizer")
        )
        change(root)
        with pytest.raises(UserError, match=words):
            describe_model(str(root))

    file = "transformer/model.safetensors"
    broken(lambda root: (root / file).write_bytes(b"version https://git-lfs.github.com/spec/v1"), "Git LFS")
    broken(lambda root: weights(root / file, cut=3), f"{file} is cut off")
    broken(lambda root: (root / file).write_bytes(b"x"), "cut off or no weights")
    broken(lambda root: (root / file).write_bytes(struct.pack("<Q", 2) + b"[]"), "broken header")
    broken(lambda root: (root / file).unlink(), "no .safetensors")
    broken(lambda root: (root / "vae" / "config.json").unlink(), "vae/ has no config.json")
    broken(lambda root: (root / "vae" / "config.json").write_text("{"), "vae/config.json is broken")
    broken(lambda root: (root / "tokenizer").rmdir(), "no sub-folder tokenizer/")
    for text in ("", "  ", "/nowhere", "a\0b"):
        with pytest.raises(UserError):
            describe_model(text)


def test_case_11_quotas_are_checked_against_the_machine(tmp_path):
    assert check_quota("dram", "", tmp_path)[0] is None
    assert check_quota("dram", "1,5 MB", tmp_path)[0] == 1_500_000
    for tier in ("device", "dram", "disk"):
        with pytest.raises(UserError, match=r"This machine has|There are only"):
            check_quota(tier, "900TB", tmp_path)
        with pytest.raises(UserError):
            check_quota(tier, "much", tmp_path)


def test_a_cache_folder_is_checked(tmp_path):
    (tmp_path / "file").write_text("")
    assert check_cache_folder("", tmp_path)[0] is None
    assert "free there" in check_cache_folder(str(tmp_path / "new" / "deep"), tmp_path)[1]
    for text in ("relative", str(tmp_path / "file"), str(tmp_path / "file" / "below")):
        with pytest.raises(UserError):
            check_cache_folder(text, tmp_path)


def click(qtbot, dialog, kind):
    qtbot.mouseClick(dialog.buttons.button(kind), Qt.MouseButton.LeftButton)


def test_a_bad_choice_is_said_while_it_is_typed_and_cannot_be_applied(make_window, qtbot):
    one = make_window()
    one.actions_by_name["settings"].trigger()
    dialog = one.settings.ask()
    assert "comes with" in dialog.hint("model")
    assert not dialog.buttons.button(KINDS.Apply).isEnabled()  # nothing is changed
    for edit, text, field in (
        (dialog.model, "/nowhere", "model"),
        (dialog.quotas["disk"], "900TB", "disk quota"),
        (dialog.folder, "relative", "folder"),
        (dialog.device.lineEdit(), "toaster", "device"),
        *([] if torch.cuda.is_available() else [(dialog.device.lineEdit(), "cuda", "device")]),
    ):
        before = edit.text()
        edit.clear()
        qtbot.keyClicks(edit, text)
        assert dialog.hint(field).endswith(".")
        assert not dialog.buttons.button(KINDS.Ok).isEnabled()
        edit.setText(before)
        assert dialog.buttons.button(KINDS.Ok).isEnabled()
    dialog.reject()


def test_theme_and_scaling_change_at_once_and_quotas_with_a_restart(make_window, qtbot, tmp_path, qapp):
    store = PreferencesStore(tmp_path / "config" / "settings.json")
    one = make_window(remember=True, setup={"preferences": store})
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    dialog = one.settings.ask()
    dialog.theme.setCurrentIndex(theme.THEMES.index("light"))
    dialog.pixel_exact.setChecked(True)
    click(qtbot, dialog, KINDS.Apply)
    assert theme.colours() is theme.LIGHT
    assert not one.actions_by_name["smooth"].isChecked()
    assert remembered(tmp_path / "config" / "window.ini") == Appearance("light", "system")
    assert not any("restart" in notice.text for notice in one.notifications.history)
    dialog.quotas["dram"].setText("100 MB")
    click(qtbot, dialog, KINDS.Ok)
    assert not dialog.isVisible()
    assert store.current.dram_quota_bytes == 100_000_000
    assert one.notifications.history[-1].text.startswith("The world goes on as it is")
    restart = next(
        b for b in one.findChildren(QPushButton) if b.text() == "Restart the world" and b.isVisible()
    )
    qtbot.mouseClick(restart, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: one.script.closed == 1, timeout=20000)
    qtbot.waitUntil(lambda: one.world.state == "ready", timeout=20000)
    theme.apply_theme(qapp, "dark")


def test_reset_brings_the_programs_own_back(make_window, qtbot, tmp_path):
    store = PreferencesStore(tmp_path / "settings.json")
    store.save(Preferences(dram_quota_bytes=123_456_789, retrieval="none"))
    one = make_window(setup={"preferences": store})
    dialog = one.settings.ask()
    assert dialog.quotas["dram"].text() == "123 MB"
    dialog.retrieval.setCurrentText("recent")
    click(qtbot, dialog, KINDS.Apply)
    assert store.current == Preferences(
        dram_quota_bytes=123_456_789, retrieval="recent"
    )  # not the rounded figure
    click(qtbot, dialog, KINDS.RestoreDefaults)
    click(qtbot, dialog, KINDS.Ok)
    assert PreferencesStore(tmp_path / "settings.json").current == Preferences()


def test_new_worlds_begin_with_the_defaults(make_window, qtbot, tmp_path):
    store = PreferencesStore(None)
    store.save(Preferences(attention="dense", retrieval="recent"))
    one = make_window(setup={"preferences": store})
    one.files.accept_present()
    one.actions_by_name["new"].trigger()
    assert (one.settings_bar.settings.attention, one.settings_bar.settings.retrieval) == ("dense", "recent")
    assert not one.files.changed


def test_sixty_changes_for_one_block_leave_the_newest_notice(make_window, qtbot):
    one = make_window()
    bar = one.settings_bar
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=20000)
    one.world.playback.pause()
    for number in range(60):
        QTest.keyClick(bar.preset, Qt.Key.Key_Up if number % 2 else Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: not one.world.configuring, timeout=20000)
    assert len(one.script.configs) == 60
    told = [notice.text for notice in one.notifications.history if notice.text.startswith("From block")]
    blocks = [text.split()[2] for text in told]
    assert len(blocks) == len(set(blocks)) <= 5  # some blocks may have been under way
    assert told[-1].endswith(("preset playground.", "as before."))
    assert told[-1] in [notice.text for notice in one.notifications.shown]
