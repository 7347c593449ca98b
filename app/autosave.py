"""Unsaved work outlives a crash: a copy of the project elsewhere, offered at the next start (DESIGN 7)."""

from __future__ import annotations

import json
import logging
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from PySide6.QtCore import QLockFile, QObject, QTimer, Signal

from worldattention.app.project_files import ProjectFiles
from worldattention.core.errors import UserError
from worldattention.core.files import failures_told, make_private, private_folder, replacing
from worldattention.core.parts import remove_dead_parts
from worldattention.core.project import Project, project_from_json, project_to_json

PERIOD_MS = 8_000  # what a crash costs at most, with room for the writing
SUFFIX = ".recovery"
WHAT = "the copy of unsaved work"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    """A project that was open when a program ended without closing, and the file that it belongs to."""

    project: Project
    path: Path | None
    _copy: Path
    _lock: QLockFile

    def discard(self) -> None:
        """Removes the copy: it is not offered again."""
        try:
            self._copy.unlink(missing_ok=True)
        except OSError as error:
            log.warning("a copy of unsaved work cannot be removed: %s", error)
            with suppress(OSError):  # an unreadable copy is not offered
                self._copy.write_bytes(b"")
        self._lock.unlock()


class Autosave(QObject):
    """Writes a copy while there are unsaved changes; `close` removes it, unless told to keep it.

    A thread of its own touches the disk, so that a slow one stalls nothing.
    """

    failed = Signal(str)  # unsaved work is not kept, and why; once, until it is kept again

    def __init__(self, folder: Path, files: ProjectFiles) -> None:
        super().__init__(files)
        self._files = files
        self._target = folder / f"{token_hex(8)}{SUFFIX}"
        self._written: Project | None = None
        self._failing = False
        self._disk = ThreadPoolExecutor(1, "autosave")
        self._pending: Future[bool] | None = None
        lock = Path(f"{self._target}.lock")
        try:
            private_folder(folder)
        except OSError as error:
            log.warning("unsaved work is not kept: %s", error)
        self._lock = QLockFile(str(lock))
        self._lock.setStaleLockTime(0)  # it is held as long as this process lives
        if self._lock.tryLock(0):
            make_private(lock)
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD_MS)
        self._timer.timeout.connect(self._begin)
        self._timer.start()

    def keep(self) -> bool:
        """Brings the copy up to date. False when there are unsaved changes that could not be kept."""
        if self._pending is not None:
            self._pending.result()
        self._begin()
        return self._pending is None or self._pending.result()

    def close(self, keep: bool = False) -> None:
        """The window closes: nothing is left to recover, or, with `keep`, what is unsaved at this moment."""
        self._timer.stop()
        if keep:
            self.keep()
        else:
            self._disk.submit(self._drop)
        self._disk.shutdown()
        self._lock.unlock()

    def _begin(self) -> None:
        """Starts to bring the copy up to date, unless the disk is still busy with the one before."""
        if self._pending is not None and not self._pending.done():
            return
        if self._files.changed:
            path = str(self._files.path.absolute()) if self._files.path is not None else None
            self._pending = self._disk.submit(self._write, self._files.project, path)
        else:
            self._pending = self._disk.submit(self._drop)

    def _write(self, project: Project, path: str | None) -> bool:
        if project == self._written:
            return True
        try:
            text = json.dumps({"path": path, "project": project_to_json(project)})
            with replacing(self._target, WHAT, private=True) as temporary, failures_told(self._target, WHAT):
                temporary.write_text(text, encoding="utf-8")
        except UserError as error:
            log.warning("unsaved work is not kept: %s", error)
            if not self._failing:
                self.failed.emit(str(error))
            self._failing = True
            return False
        self._written, self._failing = project, False
        return True

    def _drop(self) -> bool:
        self._written = None
        with suppress(OSError):
            self._target.unlink(missing_ok=True)
        return True


def find_lost(folder: Path) -> list[Recovered]:
    """Copies that programs left which are no longer alive; unreadable ones are removed, and what else they left.

    Each is locked until it is discarded or this program ends, so that no other window offers it too.
    """
    lost: list[Recovered] = []
    remove_dead_parts(folder)
    try:
        copies = set(folder.glob(f"[!.]*{SUFFIX}"))
        copies |= {path.with_suffix("") for path in folder.glob(f"[!.]*{SUFFIX}.lock")}
    except OSError as error:
        log.warning("whether there is unsaved work cannot be told: %s", error)
        return []
    for path in sorted(copies):
        lock = QLockFile(f"{path}.lock")
        lock.setStaleLockTime(0)
        if not lock.tryLock(0):
            continue  # another window is open
        if not os.path.lexists(path):
            lock.unlock()  # and gone it is
            continue
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            origin = Path(record["path"]) if record["path"] else None
            lost.append(Recovered(project_from_json(record["project"]), origin, path, lock))
        except (OSError, ValueError, TypeError, KeyError, RecursionError, UserError) as error:
            log.warning("unsaved work cannot be read: %s", error)
            with suppress(OSError):
                path.unlink()
            lock.unlock()
    return lost
