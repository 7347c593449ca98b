"""The way in and out: displays, screenshots, window state, notices."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QPushButton, QWidget

from tests.toy import save_toy_folder
from worldattention.app import icons, theme, window_entry, window_run, window_state
from worldattention.app.actions import SPECS
from worldattention.app.notifications import ERROR, SHOWN_MS, WARNING, Notifications
from worldattention.core.errors import UserError

SAMPLE = Path(__file__).resolve().parents[1] / "assets" / "samples" / "red_ball.world"


def program(*arguments, **environment):
    env = {**os.environ, **environment}
    for name in [name for name, value in environment.items() if value is None]:
        env.pop(name, None)
    return subprocess.run(
        [sys.executable, "-m", "worldattention.app.cli", *map(str, arguments)],
        env=env, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


def test_a_screenshot_of_the_real_engine(tmp_path):
    model, picture = save_toy_folder(tmp_path / "toy"), tmp_path / "s.png"
    done = program(SAMPLE, "--model", model, "--screenshot", picture, "--after-blocks", 3, "--size", "1280x800",
                   QT_QPA_PLATFORM=None, DISPLAY=None, WAYLAND_DISPLAY=None)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == ""
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (1280, 800)
    colours = {image.pixel(x, y) for x in range(40, 840, 16) for y in range(100, 480, 16)}
    assert len(colours) > 50  # there is a picture in the viewport
    table = {tuple(int(part) for part in colour) for colour in theme.viridis()}
    panels = [image.pixelColor(x, y).getRgb()[:3] for x in range(940, 1260, 4) for y in range(120, 195, 3)]
    assert sum(colour in table for colour in panels) > 300  # and sparsity beside it


def test_a_screenshot_of_a_world_that_fails_is_one_sentence(tmp_path):
    model, picture = save_toy_folder(tmp_path / "toy"), tmp_path / "s.png"
    (model / "transformer" / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    done = program(SAMPLE, "--model", model, "--screenshot", picture)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "model.safetensors" in done.stderr
    assert not picture.exists()


def test_a_size_below_the_smallest_is_told(make_window, capsys):
    one = make_window(start=False)
    for width, height, told in ((1280, 800, False), (640, 480, True)):
        one.resize(width, height)
        window_run._tell_if_larger(one, (width, height))
        assert (f"{width}x{height}" in capsys.readouterr().err) == told
    assert one.width() > 640
    assert one.height() > 480


def test_without_a_display_the_window_points_at_render():
    done = program(SAMPLE, QT_QPA_PLATFORM=None, DISPLAY="", WAYLAND_DISPLAY="")
    assert done.returncode == 1
    assert "worldattention render" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def x11(monkeypatch):
    monkeypatch.delenv("QT_QPA_PLATFORM")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":993")
    monkeypatch.setattr(sys, "platform", "linux")


def test_missing_libraries_are_named_by_their_debian_packages(x11, monkeypatch):
    monkeypatch.setattr(
        window_entry, "_loads", lambda name: name not in ("libEGL.so.1", "libxcb-cursor.so.0")
    )
    with pytest.raises(UserError, match="apt-get install --no-install-recommends libegl1 libxcb-cursor0`"):
        window_entry.check_display()


def test_a_display_that_does_not_answer_is_a_sentence_not_an_abort(x11, monkeypatch):
    monkeypatch.setattr(window_entry, "_loads", lambda name: True)
    with pytest.raises(UserError, match=r"':993' does not answer.*worldattention render"):
        window_entry.check_display()


def test_ctrl_c_closes_the_window(tmp_path):
    script = (
        "import os, signal, sys\n"
        "from PySide6.QtCore import QTimer\n"
        "from worldattention.app import window_run\n"
        "started = window_run.MainWindow.start\n"
        "def start(window):\n"
        "    started(window)\n"
        "    window.model.add(0.0, 'an owl in the village')\n"  # unsaved, and nobody is there to be asked
        "    QTimer.singleShot(300, lambda: os.kill(os.getpid(), getattr(signal, sys.argv[2])))\n"
        "    QTimer.singleShot(100, lambda: 1 / 0)\n"  # a fault in a slot is told, and the window lives on
        "window_run.MainWindow.start = start\n"
        "from worldattention.app.cli import main\n"
        "sys.exit(main(['--model', sys.argv[1]]))\n"
    )
    model = save_toy_folder(tmp_path / "toy")
    done = subprocess.run(
        [sys.executable, "-c", script, str(model), random.choice(["SIGINT", "SIGTERM"])],
        capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "config").rglob("*.recovery")
    assert "an owl in the village" in kept.read_text(encoding="utf-8")
    assert "a fault in the window" in done.stderr
    assert "ZeroDivisionError" in done.stderr


def test_the_state_of_the_window_comes_back(qtbot, tmp_path):
    one, two = QMainWindow(), QMainWindow()
    for window in (one, two):
        qtbot.addWidget(window)
    one.setGeometry(30, 40, 500, 400)
    one.show()
    window_state.save(one, tmp_path / "deep" / "state.ini")
    window_state.restore(two, tmp_path / "deep" / "state.ini")
    assert two.size() == one.size()


@pytest.mark.parametrize(
    "content", [b"", b"\0\xff\xfe[[[", b"[window]\ngeometry=rubbish\nstate=@Invalid()\n"]
)
def test_a_bad_state_file_never_blocks_the_start(qtbot, tmp_path, content):
    path = tmp_path / "state.ini"
    path.write_bytes(content)
    window = QMainWindow()
    qtbot.addWidget(window)
    window_state.restore(window, path)
    window.show()
    window_state.save(window, path)
    assert QSettings(str(path), QSettings.Format.IniFormat).value("window/geometry") is not None


def test_a_window_off_the_screen_is_brought_back(qtbot, tmp_path):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setGeometry(90_000, 90_000, 300, 200)
    window_state.restore(window, tmp_path / "none.ini")
    screen = QApplication.primaryScreen().availableGeometry()
    assert screen.intersects(window.frameGeometry())


def test_an_unwritable_state_is_no_failure(qtbot, tmp_path):
    (tmp_path / "file").write_text("")
    window = QMainWindow()
    qtbot.addWidget(window)
    window_state.save(window, tmp_path / "file" / "state.ini")


@pytest.fixture
def notices(qtbot):
    host = QWidget()
    host.resize(800, 500)
    qtbot.addWidget(host)
    host.show()
    return Notifications(host)


def test_a_notice_is_shown_once_and_logged_each_time(notices):
    for _ in range(3):
        notices.tell("The disk is full.", WARNING)
    assert [notice.text for notice in notices.shown] == ["The disk is full."]
    assert len(notices.history) == 3
    for number in range(5):
        notices.tell(f"Notice {number}.")
    assert len(notices.shown) == 3


def test_a_notice_can_offer_what_to_do(notices, qtbot):
    done = []
    notices.tell("It stopped.", ERROR, "Go on", lambda: done.append(1))
    toast = notices._toasts[0]
    assert toast.height() == toast.layout().totalHeightForWidth(toast.width()) > 40
    button = next(b for b in toast.findChildren(QPushButton) if b.text() == "Go on")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert done == [1]
    assert notices.shown == []


def test_a_newer_word_on_a_topic_replaces_the_older_one_where_it_stands_and_where_it_is_kept(notices):
    notices.tell("Ten pages.", topic="pages")
    notices.tell("Something else.")
    notices.tell("Eleven pages.", WARNING, topic="pages")
    notices.tell("One file.", topic="files")
    expected = ["Something else.", "Eleven pages.", "One file."]
    assert [notice.text for notice in notices.shown] == expected
    assert [notice.text for notice in notices.history] == expected


def test_errors_stay_and_news_go(notices, qtbot, monkeypatch):
    monkeypatch.setitem(SHOWN_MS, "info", 50)
    notices.tell("An error.", ERROR)
    notices.tell("News.")
    qtbot.waitUntil(lambda: [notice.text for notice in notices.shown] == ["An error."], timeout=2000)


def test_every_icon_draws_something(qapp):
    images = []
    for name in {spec.icon for spec in SPECS.values() if spec.icon} | {
        "pause",
        "send",
        "close",
        "dice",
        "more",
    }:
        image = icons.icon(name).pixmap(32, 32).toImage()
        inked = sum(image.pixelColor(x, y).alpha() > 100 for x in range(32) for y in range(32))
        assert inked > 15, name
        images.append(image)
    assert all(a != b for i, a in enumerate(images) for b in images[:i])


def test_no_two_actions_share_a_key():
    keys = [key for spec in SPECS.values() for key in spec.keys]
    assert len(keys) == len(set(keys))


def test_a_display_that_does_not_answer_is_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("QT_QPA_PLATFORM", "nonsense")  # Qt itself would abort the process
    with pytest.raises(UserError, match="cannot be opened"):
        window_entry.check_display()
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    window_entry.check_display()
