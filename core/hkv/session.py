"""Cache sessions: one random, private, locked folder per process, and the removal of dead ones.

A folder is ours when it carries the marker file, and dead when its lock is free. The lock is taken before
the marker is written, so a session that is being made is never mistaken for a dead one. One that was killed
before it had its marker is known by its name, its emptiness and its age.
"""

import contextlib
import errno
import os
import re
import secrets
import sys
import time
import weakref
from pathlib import Path
from types import TracebackType

import platformdirs

from worldattention.core.files import private_folder

MARKER = "worldattention-session"
_MARKER_TEXT = "worldattention page cache, version 1\n"
_LOCK = "lock"
_PREFIX = "session-"
_NAME = re.compile(r"session-[0-9a-f]{32}")
UNMARKED_S = 60.0
"""Far longer than the making of a session takes."""


def default_folder() -> Path:
    """The platform's cache folder for pages."""
    return Path(platformdirs.user_cache_dir("worldattention", appauthor=False)) / "pages"


class CacheSession:
    """A folder `session-<random>` (0700) under the cache folder, locked until `close` or the program's end.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(self, root: Path) -> None:
        private_folder(root)
        self.id = secrets.token_bytes(16)
        self.folder = root / f"{_PREFIX}{self.id.hex()}"
        self.folder.mkdir(mode=0o700)
        self._identity = _identity(self.folder)
        lock = _try_lock(self.folder / _LOCK, create=True)
        if lock is None:
            _clear(self.folder)  # without its marker nobody ever would
            raise OSError(f"cannot lock {self.folder}")
        self._removal = weakref.finalize(self, _remove_own, self.folder, self._identity, lock, os.getpid())
        try:
            _write_marker(self.folder / MARKER)
        except OSError:
            self.close()
            raise

    def page_path(self, handle: int) -> Path:
        """Where a page's file lies."""
        return self.folder / f"{handle:08d}.page"

    def check(self) -> None:
        """Raises OSError when the folder is no longer the one that was made: gone, or something else of its name."""
        if _identity(self.folder) != self._identity:
            raise OSError(errno.ESTALE, "the session's folder was replaced", str(self.folder))

    @property
    def is_there(self) -> bool:
        """Whether the folder is still the one that was made."""
        try:
            self.check()
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Remove the folder with all its pages and free the lock; may be called twice."""
        self._removal()

    def __enter__(self) -> "CacheSession":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def remove_dead_sessions(root: Path) -> int:
    """Remove the sessions under `root` that carry our marker and whose lock is free; returns how many."""
    removed = 0
    with contextlib.suppress(OSError):
        for folder in sorted(root.glob(f"{_PREFIX}*")):
            if folder.is_symlink() or not os.path.isdir(folder):
                continue
            if not _is_marked(folder):
                _remove_unmade(folder)
                continue
            lock = _try_lock(folder / _LOCK, create=False)
            if lock is not None:
                _remove(folder, lock)
                removed += 1
    return removed


def _is_marked(folder: Path) -> bool:
    """Whether it has our marker; of one that was killed while it wrote it, a part is enough."""
    marker = folder / MARKER
    try:
        return not marker.is_symlink() and _MARKER_TEXT.encode().startswith(marker.read_bytes())
    except OSError:
        return False


def _remove_unmade(folder: Path) -> None:
    """Removes a session that never got its marker: nothing but a lock in it, and older than any that is being made."""
    with contextlib.suppress(OSError):
        entries = list(folder.iterdir())
        ours = _NAME.fullmatch(folder.name) and all(path.name == _LOCK for path in entries)
        if ours and time.time() - folder.stat().st_mtime > UNMARKED_S:
            lock = _try_lock(folder / _LOCK, create=False) if entries else None
            if lock is not None:
                _remove(folder, lock)
            else:
                folder.rmdir()  # fails where somebody has the lock


def _identity(folder: Path) -> tuple[int, int]:
    """Device and number of what has this name, a symbolic link as such."""
    status = folder.lstat()
    return status.st_dev, status.st_ino


def _remove_own(folder: Path, identity: tuple[int, int], lock: int, process: int) -> None:
    """Remove a session in the process that made it; a forked child leaves its parent's alone."""
    if os.getpid() != process:
        return
    with contextlib.suppress(OSError):
        if _identity(folder) == identity:
            _remove(folder, lock)
            return
    _release(lock)  # what has the folder's name now is not ours


def _remove(folder: Path, lock: int) -> None:
    """Delete our own files of a locked session, then free the lock."""
    if sys.platform == "win32":
        _release(lock)  # an open file cannot be deleted there
    _clear(folder)
    if sys.platform != "win32":
        _release(lock)


def _clear(folder: Path) -> None:
    """Delete our own files, the pages first and the lock last, then the folder if nothing else is in it.

    Killed at any moment, what is left is still known: marked, or nothing but a lock.
    """
    for pattern in ("*.page", "*.tmp", MARKER, _LOCK):
        with contextlib.suppress(OSError):
            for path in folder.glob(pattern):
                with contextlib.suppress(OSError):
                    path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _write_marker(path: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8", newline="") as file:
        file.write(_MARKER_TEXT)


def _release(lock: int) -> None:
    """Nothing was written through it: a failure means nothing."""
    with contextlib.suppress(OSError):
        os.close(lock)


def _try_lock(path: Path, create: bool) -> int | None:
    """An open descriptor that holds the lock file exclusively, or None where another process does."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags | (os.O_CREAT | os.O_EXCL if create else 0), 0o600)
    except OSError:
        return None
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        _release(descriptor)
        return None
    return descriptor
