"""Exporting from the window: what, how much, where to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from worldattention.app.controls import ChoiceBox, TickBox
from worldattention.app.export import GIF, PICTURES, STRIP_GIF_WIDTH, STRIP_HEIGHT, VIDEO, ExportJob
from worldattention.app.strip import WIDTH as STRIP_WIDTH
from worldattention.app.texts import QT_TRANSLATE_NOOP, plain_label, translate
from worldattention.app.theme import set_tone
from worldattention.app.timeline.layout import clock
from worldattention.app.timeline.timecode import parse_time, timecode
from worldattention.core.errors import UserError
from worldattention.core.geometry import FPS, Geometry, frames_for_seconds
from worldattention.core.pictures import GIF_WIDTH
from worldattention.core.recorder import find_ffmpeg
from worldattention.core.timeline import MAX_SECONDS

KINDS = (
    (VIDEO, QT_TRANSLATE_NOOP("Export", "Video (MP4)")),
    (GIF, QT_TRANSLATE_NOOP("Export", "Animation (GIF)")),
    (PICTURES, QT_TRANSLATE_NOOP("Export", "Pictures (PNG)")),
)
SCALES = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Extent:
    """How long the world is, in seconds: what is made, and the whole timeline; and the sizes of its frames."""

    made_s: float
    whole_s: float
    first_s: float
    geometry: Geometry


class ExportDialog(QDialog):
    """A form that says what will come of it, and whether it can be; the button is active when it can."""

    def __init__(self, extent: Extent, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Export"))
        self.setMinimumWidth(440)
        self._extent = extent
        self.kind = self._choices(self.tr("Kind"), [translate("Export", text) for _, text in KINDS])
        self.length = self._choices(self.tr("How much"), self._lengths())
        self.start, self.end = QLineEdit(timecode(extent.first_s)), QLineEdit(timecode(extent.made_s))
        self.size_box = self._choices(self.tr("Size"), self._sizes())
        self.strip = TickBox(self.tr("Panels beside the picture: sparsity, tiers, pages"))
        self.telemetry = TickBox(self.tr("Telemetry beside it, so that it opens as a recorded session"))
        self.telemetry.setChecked(True)
        self.note = plain_label()
        self.note.setWordWrap(True)
        self.note.setMinimumHeight(2 * self.note.fontMetrics().lineSpacing())
        self._range = QWidget()
        self._buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.go = self._buttons.addButton(self.tr("Export …"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.go.setDefault(True)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._lay_out()
        self.length.setCurrentIndex(0 if extent.made_s > 0 else 1)
        for box in (self.kind, self.length, self.size_box):
            box.currentIndexChanged.connect(self._update)
        for edit in (self.start, self.end):
            edit.textChanged.connect(self._update)
        self.strip.toggled.connect(self._update)
        self._update()

    def job(self, path: Path, title: str, comment: str) -> ExportJob:
        """What was chosen, to `path`."""
        first, stop = self._frames()
        kind = KINDS[self.kind.currentIndex()][0]
        return ExportJob(
            path,
            stop - first,
            title,
            first_frame=first,
            kind=kind,
            scale=SCALES[self.size_box.currentIndex()],
            strip=self.strip.isChecked(),
            telemetry=kind == VIDEO and self.telemetry.isChecked(),
            comment=comment,
        )

    @property
    def suffix(self) -> str:
        """How the file's name ends; a folder of pictures has none."""
        return {VIDEO: ".mp4", GIF: ".gif"}.get(KINDS[self.kind.currentIndex()][0], "")

    def _lengths(self) -> list[str]:
        extent = self._extent
        texts = [self.tr("What is made ({})").format(clock(extent.made_s, True))]
        texts.append(self.tr("Whole timeline ({})").format(clock(extent.whole_s, True)))
        return [*texts, self.tr("A range")]

    def _sizes(self) -> list[str]:
        height, width = self._extent.geometry.height, self._extent.geometry.width
        return [f"{width * scale} × {height * scale}" for scale in SCALES]

    def _frames(self) -> tuple[int, int]:
        """First frame, and the frame after the last. Raises UserError when they are no range."""
        extent = self._extent
        if self.length.currentIndex() == 2:
            first = frames_for_seconds(parse_time(self.start.text()))
            stop = frames_for_seconds(parse_time(self.end.text()))
        else:
            first = frames_for_seconds(extent.first_s)
            stop = frames_for_seconds((extent.made_s, extent.whole_s)[self.length.currentIndex()])
        if first < frames_for_seconds(extent.first_s):
            raise UserError(self.tr("The world is only kept from {} on.").format(clock(extent.first_s, True)))
        if stop > frames_for_seconds(MAX_SECONDS):
            raise UserError(self.tr("No world is that long: let the range end earlier."))
        if stop <= first:
            raise UserError(self.tr("There is nothing to export there: let the end come after the start."))
        return first, stop

    def _update(self) -> None:
        kind = KINDS[self.kind.currentIndex()][0]
        self._range.setEnabled(self.length.currentIndex() == 2)
        self.telemetry.setEnabled(kind == VIDEO)
        try:
            if kind == VIDEO:
                self._check_ffmpeg()
            text, problem = self._prospect(*self._frames()), False
        except UserError as error:
            text, problem = str(error), True
        self.go.setEnabled(not problem)
        self.note.setText(text)
        set_tone(self.note, "danger" if problem else "muted")

    def _check_ffmpeg(self) -> None:
        try:
            find_ffmpeg()
        except UserError as error:
            sentence = self.tr("There is no ffmpeg, so videos cannot be written: export pictures instead.")
            raise UserError(sentence) from error

    def _prospect(self, first: int, stop: int) -> str:
        kind = KINDS[self.kind.currentIndex()][0]
        sizes, scale = self._extent.geometry, SCALES[self.size_box.currentIndex()]
        if self.strip.isChecked():
            scale = max(scale, -(-STRIP_HEIGHT // sizes.height))
        width, height = sizes.width * scale, sizes.height * scale
        width += STRIP_WIDTH if self.strip.isChecked() else 0
        most = STRIP_GIF_WIDTH if self.strip.isChecked() else GIF_WIDTH
        if kind == GIF and width > most:
            width, height = most, round(height * most / width)
        text = self.tr("{frames} frames, {seconds} s, {width} × {height}.").format(
            frames=stop - first, seconds=f"{(stop - first) / FPS:.2f}", width=width, height=height
        )
        missing_s = stop / FPS - self._extent.made_s
        if missing_s > 0.01:
            text += " " + self.tr("{} s of it are made first.").format(f"{missing_s:.1f}")
        return text

    def _lay_out(self) -> None:
        row = QHBoxLayout(self._range)
        row.setContentsMargins(0, 0, 0, 0)
        for name, edit in ((self.tr("from"), self.start), (self.tr("to"), self.end)):
            label = QLabel(name)
            label.setBuddy(edit)
            edit.setAccessibleName(self.tr("Range {}").format(name))
            edit.setFixedWidth(92)
            row.addWidget(label)
            row.addWidget(edit)
        row.addStretch(1)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.addRow(self.tr("Kind"), self.kind)
        form.addRow(self.tr("How much"), self.length)
        form.addRow("", self._range)
        form.addRow(self.tr("Size"), self.size_box)
        form.addRow("", self.strip)
        form.addRow("", self.telemetry)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(12)
        column.addLayout(form)
        column.addWidget(self.note)
        column.addWidget(self._buttons)

    def _choices(self, name: str, texts: list[str]) -> QComboBox:
        box = ChoiceBox()
        box.addItems(texts)
        box.setAccessibleName(name)
        return box
