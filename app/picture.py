"""What can be done with the picture: words over it, a countdown to the next prompt, snapshots, the full screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, Qt, QTimer
from PySide6.QtGui import QImageWriter, QKeySequence, QShortcut
from PySide6.QtWidgets import QDockWidget

from worldattention.app import file_dialogs, window_state
from worldattention.app.notifications import ERROR, WARNING
from worldattention.app.timeline.layout import clock
from worldattention.core.errors import UserError
from worldattention.core.files import replacing
from worldattention.core.geometry import FPS

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow

TICK_MS = 100
_TITLE, _DESCRIPTION = "Title", "Description"  # keywords of the PNG standard


class Picture(QObject):
    """Belongs to a window; its methods are what the window's actions do."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._shown = False  # the words over the picture
        self._before: QByteArray | None = None  # the docks before the full screen
        self._wait_s = 0.0  # of the prompt that is counted down
        self._leave = QShortcut(QKeySequence(Qt.Key.Key_Escape), window)
        self._leave.setEnabled(False)
        self._leave.activated.connect(lambda: self.show_full(False))
        self._seen: tuple[int, int | None] | None = None  # epoch and writing of the frame that is shown
        self._told: set[str] = set()
        past = window.world.past
        past.arrived.connect(lambda number: self.show_frame() if number == self._number else None)
        past.lost.connect(self._lost)
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()

    @property
    def full(self) -> bool:
        """Whether the picture fills the screen."""
        return self._before is not None

    def stop(self) -> None:
        """The window closes: its docks are saved as they are without the full screen."""
        self._timer.stop()
        self.show_full(False)

    def show_frame(self) -> None:
        """Shows the frame at the playhead, at once or as soon as it is read; until then the one before stays."""
        world, number = self._window.world, self._number
        seen = world.epoch, world.reel.writing(number)
        if number < 0 or (seen == self._seen and self._window.viewport.image is not None):
            return
        frame = world.past.frame(number)
        if frame is not None:
            self._window.viewport.show_frame(frame)
            self._seen = seen

    @property
    def _number(self) -> int:
        return min(self._window.world.playback.position, self._window.world.reel.made - 1)

    def _lost(self, number: int) -> None:
        """A small picture stands for a frame that the disk does not give back."""
        if number != self._number:
            return
        thumbnail = self._window.world.thumbnail(number)
        if thumbnail is not None:
            self._window.viewport.show_image(thumbnail)
            self._seen = None
        self._tell_once(
            self.tr(
                "A part of the past cannot be read from the disk any more: "
                "small pictures stand for it, and the world goes on."
            )
        )

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._window.notifications.tell(sentence, WARNING)

    def show_words(self, shown: bool) -> None:
        """Time, frame, prompt and speed over the picture."""
        self._shown = shown
        self.refresh()

    def refresh(self) -> None:
        """Brings the words over the picture up to date."""
        window, still = self._window, not self._window.world.playback.playing
        lines = self._lines() if self._shown or still else ()
        window.viewport.show_lines(lines if self._shown else ())
        if lines and still:  # else a screen reader would never come to an end
            window.viewport.setAccessibleDescription(". ".join(lines))
        self._count_down()
        failure = self._window.world.reel.failure
        if failure is not None:
            self._tell_once(
                self.tr(
                    "The past is no longer written to the disk ({}): "
                    "only the newest seconds can be looked at again, and the world goes on."
                ).format(failure)
            )
        failure = self._window.world.log.failure
        if failure is not None:
            self._tell_once(
                self.tr(
                    "The telemetry is no longer written to the disk ({}): "
                    "what is saved or exported of it ends here, and the world goes on."
                ).format(failure)
            )

    def show_full(self, full: bool) -> None:
        """The picture and the prompt line on the whole screen, or the window as it was."""
        window = self._window
        window.actions_by_name["fullscreen"].setChecked(full)
        self._leave.setEnabled(full)
        if full == self.full:
            return
        around = (window.menuBar(), window.toolbar, window.statusBar())
        if full:
            self._before = window.saveState(window_state.VERSION)
            for widget in (*around, *window.findChildren(QDockWidget)):
                widget.hide()
            window.setWindowState(window.windowState() | Qt.WindowState.WindowFullScreen)
            window.viewport.setFocus()
        elif self._before is not None:
            window.setWindowState(window.windowState() & ~Qt.WindowState.WindowFullScreen)
            for widget in around:
                widget.show()
            window.restoreState(self._before, window_state.VERSION)
            self._before = None

    def ask_snapshot(self) -> None:
        """Asks for a file and saves the frame that is shown."""
        window = self._window
        if window.viewport.image is None:
            window.notifications.tell(self.tr("There is no picture yet: let the world begin first."))
            return
        playback = window.world.playback
        live = playback.playing and not playback.past
        playback.hold()  # the frame that was meant, not a later one
        folder = window.files.path.parent if window.files.path is not None else Path.home()
        moment = clock(window.world.playback.position / FPS, True).replace(":", "m").replace(".", "s")
        start = str(folder / f"{window.files.name} {moment}.png")
        title, kinds = self.tr("Save the picture"), self.tr("Picture (*.png)")
        if (path := file_dialogs.save_file(window, title, start, kinds)) is not None:
            self.snapshot(path)
        if live:
            playback.back_to_live()

    def snapshot(self, path: Path) -> None:
        """Saves the frame that is shown as PNG, as it was made; a failure is told."""
        if path.suffix.lower() != ".png":
            path = path.with_name(path.name + ".png")
        image = self._window.viewport.image
        assert image is not None
        picture = image.copy()
        for key, value in ((_TITLE, self._window.files.name), (_DESCRIPTION, self._prompt())):
            picture.setText(key, value)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, QByteArray(b"PNG")).write(picture)
        try:
            with replacing(path, "the picture") as temporary:
                temporary.write_bytes(buffer.data().data())
        except (UserError, OSError) as error:
            sentence = (
                str(error)
                if isinstance(error, UserError)
                else self.tr("The picture could not be written to '{0}' ({1}): choose another place.").format(
                    path, error.strerror
                )
            )
            self._window.notifications.tell(sentence, ERROR)
        else:
            self._window.notifications.tell(self.tr("Saved the picture as '{}'.").format(path))

    def _lines(self) -> tuple[str, ...]:
        world = self._window.world
        if not world.reel.made:
            return ()
        position = min(world.playback.position, world.reel.made - 1)
        made = world.made_fps
        speed = f"{made:.1f}" if made is not None else "–"
        return tuple(
            line
            for line in (
                self.tr("{0} · frame {1} of {2} · block {3}").format(
                    clock(position / FPS, True),
                    position,
                    world.reel.made,
                    world.geometry.block_at_frame(position),
                ),
                self._prompt(),
                self.tr("made at {0} FPS, played at {1}").format(speed, FPS),
            )
            if line
        )

    def _prompt(self) -> str:
        seconds = self._window.world.playback.position / FPS
        return self._window.model.timeline.prompt_at(seconds) or ""

    def _count_down(self) -> None:
        world, viewport = self._window.world, self._window.viewport
        frame = world.awaited_frame
        if frame is None or not world.playback.running:
            self._wait_s = 0.0
            viewport.show_countdown("")
            return
        left = world.seconds_until(frame)
        self._wait_s = max(self._wait_s, left, 0.1)
        text = self.tr("new prompt in {:.1f} s").format(left) if left >= 0.05 else self.tr("new prompt now")
        viewport.show_countdown(text, 1.0 - left / self._wait_s)
