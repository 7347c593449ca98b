"""Asking for files and folders: the desktop's own dialog where there is one, else Qt's, made harmless.

Qt's own opens every file that it lists, to tell its kind by its content; some, as below /proc, answer a reader
late or never, and the window would wait for them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from PySide6.QtCore import QDir, QFileInfo, QObject
from PySide6.QtGui import QAbstractFileIconProvider, QIcon
from PySide6.QtWidgets import QApplication, QFileDialog, QFileIconProvider, QWidget

from worldattention.app.texts import translate


def open_file(parent: QWidget, title: str, start: str, kinds: str) -> Path | None:
    """A file that is there, or None. `kinds` are Qt's: `Worlds (*.world);;Others (*)`."""
    dialog = _dialog(parent, title, start, kinds)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return _chosen(dialog)


def open_folder(parent: QWidget, title: str, start: str = "") -> Path | None:
    """A folder that is there, or None."""
    dialog = _dialog(parent, title, start)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    return _chosen(dialog)


def save_file(parent: QWidget, title: str, start: str, kinds: str = "") -> Path | None:
    """A new file, or one that may be replaced, or None. It ends like one of `kinds`, else like the chosen one."""
    dialog = _dialog(parent, title, start, kinds)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)

    def follow(kind: str) -> None:  # so that the dialog asks before it replaces the right file
        dialog.setDefaultSuffix(_suffixes(kind)[0] if _suffixes(kind) else "")

    dialog.filterSelected.connect(follow)
    follow(kinds.split(";;")[0])
    chosen, kind = _chosen(dialog), dialog.selectedNameFilter()
    return None if chosen is None else ended(chosen, kinds, kind)


def ended(path: Path, kinds: str, kind: str) -> Path:
    """`path` with the suffix of `kind`, one of `kinds`, unless it has that of another."""
    own, known = _suffixes(kind), _suffixes(kinds)
    return path.with_name(path.name + own[0]) if own and path.suffix.lower() not in known else path


def _suffixes(kinds: str) -> list[str]:
    return re.findall(r"\*(\.\w+)", kinds)


def _dialog(parent: QWidget, title: str, start: str, kinds: str = "") -> QFileDialog:
    dialog = QFileDialog(parent, title)
    dialog.setOption(QFileDialog.Option.DontUseCustomDirectoryIcons)
    dialog.setIconProvider(_icons())
    if kinds:
        dialog.setNameFilters(kinds.split(";;"))
    place = Path(start or QDir.currentPath())
    if os.path.isdir(place):
        dialog.setDirectory(str(place))
    else:
        dialog.setDirectory(str(place.parent))
        dialog.selectFile(place.name)
    return dialog


def _chosen(dialog: QFileDialog) -> Path | None:
    accepted = dialog.exec() == QFileDialog.DialogCode.Accepted
    files = dialog.selectedFiles()
    dialog.deleteLater()  # not by the end of a function: the thread that lists files needs Python to end
    return Path(files[0]) if accepted and files else None


def _icons() -> KindIcons:
    """One for all dialogs, as long as the application lives: a thread of a closed dialog may still ask it."""
    app = QApplication.instance()
    assert app is not None
    keeper = app.findChild(_Keeper) or _Keeper(app)
    return keeper.icons


class KindIcons(QFileIconProvider):
    """Tells a file from a folder, and no more: nothing is opened."""

    def __init__(self) -> None:
        super().__init__()
        kinds = QAbstractFileIconProvider.IconType
        self._folder, self._file = super().icon(kinds.Folder), super().icon(kinds.File)

    def icon(self, what: QFileInfo | QAbstractFileIconProvider.IconType) -> QIcon:
        if not isinstance(what, QFileInfo):
            return super().icon(what)
        return self._folder if what.isDir() else self._file

    def type(self, info: QFileInfo) -> str:
        return translate("FileDialogs", "Folder") if info.isDir() else info.suffix()


class _Keeper(QObject):
    def __init__(self, app: QObject) -> None:
        super().__init__(app)
        self.icons = KindIcons()
