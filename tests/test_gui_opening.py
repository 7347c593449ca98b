"""Opening what is long: off the window's thread, with progress and Cancel."""

import threading
import time

import pytest
from PySide6.QtCore import QMimeData, Qt, QTimer, QUrl
from PySide6.QtWidgets import QDialog, QProgressBar, QPushButton

from tests.fakes_window import FakeSession, picture
from tests.test_gui_heartbeat import Heartbeat
from tests.test_recorded import made, record
from worldattention.app import project_files, replay, saved_worlds
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.history import BlockRecord
from worldattention.core.project import MAX_PROJECT_BYTES, Project, load_project, save_project
from worldattention.core.timeline import Event, make_timeline

WAIT = 20000


class PastSession(FakeSession):
    """Of a saved world of forty blocks, slow to decode."""

    def __init__(self, engine, timeline):
        super().__init__(engine, timeline)
        if engine.script.saved:
            engine.script.saved = False
            engine.block = 40

    def past(self):
        for block in range(40):
            time.sleep(0.02)
            yield picture(block, "a red house by the sea"), None, BlockRecord("")


def dialog_of(window):
    return next(
        (d for d in window.findChildren(QDialog) if d.isVisible() and d.findChild(QProgressBar)), None
    )


def slow(stopped, seconds=10.0):
    """Reads for a while, and says how far it is."""

    def read(tell):
        begin = time.monotonic()
        try:
            while (share := (time.monotonic() - begin) / seconds) < 1:
                tell(0.1 + 0.9 * share)
                time.sleep(0.01)
        except Cancelled:
            stopped.set()
            raise
        return "all of it"

    return read


def test_the_window_lives_while_a_file_is_read_and_cancel_stops_it(make_window, qtbot):
    one, stopped, got = make_window(), threading.Event(), []
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=WAIT)
    beats = []
    beat = QTimer()
    beat.timeout.connect(lambda: beats.append(time.perf_counter()))
    beat.start(10)
    one.opening.read("long one.mp4", slow(stopped), got.append)
    before = one.world.blocks
    qtbot.waitUntil(lambda: dialog_of(one) is not None, timeout=WAIT)
    assert dialog_of(one).findChild(QProgressBar).value() > 0
    qtbot.waitUntil(lambda: one.world.blocks > before, timeout=WAIT)
    qtbot.waitUntil(lambda: len(beats) > 10, timeout=WAIT)
    cancel = dialog_of(one).findChild(QPushButton)
    qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
    assert dialog_of(one) is None
    assert stopped.wait(20)
    qtbot.wait(50)
    assert not got
    assert not one.opening.busy


def test_what_is_read_quickly_shows_no_dialog_and_a_newer_file_takes_the_place_of_the_older(
    make_window, qtbot
):
    one, stopped, got = make_window(), threading.Event(), []
    one.opening.read("old", slow(stopped), got.append)
    one.opening.read("new", lambda _tell: "new", got.append)
    qtbot.waitUntil(lambda: got == ["new"], timeout=WAIT)
    assert stopped.wait(20)
    assert dialog_of(one) is None

    def refuse(_tell):
        raise UserError("It is no world: choose another.")

    one.opening.read("bad", refuse, got.append)
    qtbot.waitUntil(lambda: not one.opening.busy, timeout=WAIT)
    assert one.notifications.history[-1].text == "It is no world: choose another."
    assert got == ["new"]


def test_a_recording_is_read_with_progress(make_window, qtbot, monkeypatch, tmp_path):
    one, stopped = make_window(), threading.Event()
    monkeypatch.setattr(replay, "open_recorded", lambda _path, tell: slow(stopped)(tell))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "long.mp4"))])
    one.library.open(one.library.takes(data))
    qtbot.waitUntil(lambda: dialog_of(one) is not None, timeout=WAIT)
    one.close()  # and nothing is left behind
    assert stopped.wait(20)
    assert one.world_ended


def test_it_is_shown_how_far_a_world_is_before_its_first_pictures(make_window, qtbot):
    one = make_window(start=False)
    one.script.waking = 5
    shown, show = [], one.viewport.show_overlay
    one.viewport.show_overlay = lambda overlay: (shown.append(overlay), show(overlay))
    one.start()
    qtbot.waitUntil(lambda: one.world.reel.made >= 24, timeout=WAIT)
    first = [overlay for overlay in shown if overlay and overlay.text == "The first pictures are being made"]
    shares = list(dict.fromkeys(overlay.fraction for overlay in first))
    assert shares == [None, 0.0, 0.2, 0.4, 0.6, 0.8]
    assert one.viewport.overlay is None


@pytest.mark.parametrize("cancel", [False, True])
def test_the_past_of_a_saved_world_is_decoded_with_progress(make_window, qtbot, cancel):
    one = make_window(start=False, setup={"open_session": PastSession})
    one.script.saved = True
    shares = []
    show = one.viewport.show_overlay
    one.viewport.show_overlay = lambda overlay: (shares.append(overlay and overlay.fraction), show(overlay))
    one.start()
    qtbot.waitUntil(
        lambda: one.viewport.overlay is not None and one.viewport.overlay.action == "Cancel", timeout=WAIT
    )
    if cancel:
        qtbot.mouseClick(one.viewport._button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: one.world.state == "ready", timeout=WAIT)
        assert one.world.reel.made < 40 * 12
        assert not one.model.timeline.events
    else:
        qtbot.waitUntil(lambda: one.world.state == "ready", timeout=WAIT)
        read = [share for share in shares if share is not None]
        assert len({share for share in read if 0 < share < 1}) > 5
        while shares[-1] is None:
            shares.pop()
        assert None not in shares[1:]  # it does not flicker
        qtbot.waitUntil(lambda: one.world.blocks > 40, timeout=WAIT)
        assert one.viewport.overlay is None


def test_a_recording_waits_for_no_engine_that_is_being_loaded(make_window, qtbot, tmp_path):
    record(tmp_path / "a.mp4", made(3))
    one = make_window(load_s=4.0)
    qtbot.waitUntil(
        lambda: one.viewport.overlay is not None and bool(one.viewport.overlay.fraction), timeout=WAIT
    )
    one.library.open(tmp_path / "a.mp4")
    qtbot.waitUntil(lambda: one.world.reel.made == 36, timeout=WAIT)
    assert one.replay.active
    assert one.script.opened == 0


def test_until_the_first_picture_is_there_the_window_says_that_it_is_being_made(make_window, qtbot):
    one = make_window(hold=threading.Event())
    qtbot.waitUntil(
        lambda: one.viewport.overlay is not None and "being made" in one.viewport.overlay.text, timeout=WAIT
    )
    one.script.hold.set()
    qtbot.waitUntil(lambda: one.viewport.overlay is None, timeout=WAIT)
    assert one.viewport.image is not None


def test_a_huge_project_is_read_by_another_thread(make_window, qtbot, tmp_path, monkeypatch):
    """As large as a project may be; how late the window's own beat comes meanwhile is printed."""
    events = [Event(n + 1, n, n + 1.0, f"a red house by the sea {n} " * 20) for n in range(12_000)]
    path = tmp_path / "huge.world"
    save_project(Project("Huge", timeline=make_timeline(events)), path)
    assert 0.7 * MAX_PROJECT_BYTES < path.stat().st_size <= MAX_PROJECT_BYTES
    threads = []

    def load(path):
        threads.append(threading.current_thread())
        return load_project(path)

    monkeypatch.setattr(project_files, "load_project", load)
    one = make_window()
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=WAIT)
    heart = Heartbeat()
    one.library.open(path)
    qtbot.waitUntil(lambda: not one.opening.busy, timeout=60_000)
    print(f"heartbeat while {path.stat().st_size} bytes are read and shown: {heart.summary()}")
    assert [event.prompt for event in one.model.timeline.events] == [event.prompt for event in events]
    assert threads
    assert threading.main_thread() not in threads


def test_a_saved_world_that_cannot_be_read_at_the_start_leaves_an_ordinary_window(
    make_window, qtbot, monkeypatch, tmp_path
):
    """Its reading is another thread's, and the window's own world begins only when it failed or was cancelled."""
    threads, go = [], threading.Event()

    def refuse(_folder):
        threads.append(threading.current_thread())
        assert go.wait(20)
        raise UserError("It is no world: choose another.")

    monkeypatch.setattr(saved_worlds, "_open_world", refuse)
    one = make_window(start=False)
    one.saved_worlds.open_at_start(tmp_path)
    qtbot.waitUntil(lambda: dialog_of(one) is not None, timeout=WAIT)
    assert threads
    assert threading.main_thread() not in threads
    assert one.viewport.overlay is not None
    assert one.script.opened == 0
    go.set()
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=WAIT)
    assert one.notifications.history[0].text == "It is no world: choose another."


def test_cancelling_a_saved_world_at_the_start_leaves_an_ordinary_window(
    make_window, qtbot, monkeypatch, tmp_path
):
    go = threading.Event()
    monkeypatch.setattr(saved_worlds, "_open_world", lambda _folder: go.wait(20))
    one = make_window(start=False)
    one.saved_worlds.open_at_start(tmp_path)
    qtbot.waitUntil(lambda: dialog_of(one) is not None, timeout=WAIT)
    qtbot.mouseClick(dialog_of(one).findChild(QPushButton), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: one.world.blocks > 0, timeout=WAIT)
    go.set()
