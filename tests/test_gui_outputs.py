"""Exports and recordings as the window makes them: complete, cancelled, refused, cut short."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QPushButton,
)

from tests.test_recorder import decode
from tests.window_hands import blocks, texts
from worldattention.app.export import ExportJob
from worldattention.core import recorder
from worldattention.core.errors import UserError


@pytest.fixture
def window(make_window):
    return make_window


def test_export_writes_what_was_made_and_makes_the_rest(window, qtbot, tmp_path):
    one = window(step_s=0.002)
    blocks(qtbot, one, 2)
    path = tmp_path / "한글 폴더 ñ" / "out.mp4"
    path.parent.mkdir()
    shares = []
    one.world.export_moved.connect(lambda done, total: shares.append((done, total)))
    one.export_flow.begin(ExportJob(path, 50))
    qtbot.waitUntil(lambda: not one.export_flow.running, timeout=60000)
    assert any("Exported 3.1 s" in text for text in texts(one))
    assert shares == [(16, 50), (32, 50), (48, 50), (50, 50)]
    frames = decode(path, 128, 256)
    assert len(frames) == 50
    assert np.abs(frames[20].astype(int) - one.world.reel.frame(20)).mean() < 4
    assert one.world.playback.playing  # it went on


def test_an_export_can_be_cancelled_and_leaves_nothing(window, qtbot, tmp_path):
    one = window(step_s=0.1)
    blocks(qtbot, one, 1)
    one.export_flow.begin(ExportJob(tmp_path / "out.mp4", 16 * 60))
    qtbot.wait(400)
    QTest.mouseClick(one.export_flow._dialog.findChild(QPushButton), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not one.export_flow.running, timeout=60000)
    assert any("cancelled" in text for text in texts(one))
    assert list(tmp_path.glob("*.mp4")) == []
    before = one.world.blocks
    blocks(qtbot, one, before + 2)  # the world goes on


def test_an_export_to_nowhere_is_one_sentence(window, qtbot, tmp_path):
    one = window()
    blocks(qtbot, one, 1)
    one.export_flow.begin(ExportJob(tmp_path / "missing" / "out.mp4", 12))
    qtbot.waitUntil(lambda: not one.export_flow.running, timeout=60000)
    assert any("There is no folder" in text for text in texts(one))


def test_a_recording_holds_every_block_and_survives_a_restart(window, qtbot, tmp_path):
    one = window()
    blocks(qtbot, one, 1)
    path = tmp_path / "live.mp4"
    one.recording_flow.begin(path)
    before = one.world.blocks
    blocks(qtbot, one, before + 2)
    one.restart()
    blocks(qtbot, one, 2)
    one.actions_by_name["record"].trigger()
    qtbot.waitUntil(lambda: any("Recorded" in text for text in texts(one)), timeout=60000)
    frames = decode(path, 128, 256)
    assert len(frames) % 12 == 0
    assert len(frames) >= 36
    assert not one.actions_by_name["record"].isChecked()
    assert list(tmp_path.glob("*.mp4")) == [path]


def test_closing_finishes_the_recording(window, qtbot, tmp_path):
    one = window()
    blocks(qtbot, one, 1)
    one.recording_flow.begin(tmp_path / "live.mp4")
    blocks(qtbot, one, 4)
    one.close()
    assert len(decode(tmp_path / "live.mp4", 128, 256)) >= 12


def test_a_recording_that_cannot_be_is_told_and_the_world_goes_on(window, qtbot, tmp_path):
    one = window()
    blocks(qtbot, one, 1)
    one.recording_flow.begin(tmp_path / "nowhere" / "live.mp4")
    qtbot.waitUntil(lambda: any("There is no folder" in text for text in texts(one)), timeout=60000)
    assert not one.actions_by_name["record"].isChecked()
    blocks(qtbot, one, one.world.blocks + 1)


def test_a_full_disk_ends_the_recording_not_the_world(window, qtbot, tmp_path, monkeypatch):
    one = window()
    blocks(qtbot, one, 1)
    write = recorder.Recording.write

    def fill_up(recording, frames):
        if recording.frames >= 24:
            raise UserError("The video 'live.mp4' could not be written: the disk is full.")
        write(recording, frames)

    monkeypatch.setattr(recorder.Recording, "write", fill_up)
    one.recording_flow.begin(tmp_path / "live.mp4")
    qtbot.waitUntil(lambda: any("disk is full" in text for text in texts(one)), timeout=60000)
    assert len(decode(tmp_path / "live.mp4", 128, 256)) == 24
    assert "kept as 'live.mp4'" in next(text for text in texts(one) if "disk is full" in text)
    blocks(qtbot, one, one.world.blocks + 1)
