"""What is being written lies beside its target under a name of its own, locked as long as somebody writes it.

A killed program leaves such a part behind with its lock free: the next one that writes into the folder removes it.
Where there are no locks (Windows, some network file systems) parts are never taken for dead.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

_NAME = re.compile(r"\.worldattention-[0-9a-f]{12}\.part(\..*)?", re.DOTALL)
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


@contextmanager
def new_part(target: Path, mode: int = 0o666) -> Iterator[Path]:
    """An empty file beside `target`; deleted at the end if it has still that name. Raises OSError."""
    with _locked(
        target, lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    ) as path:
        yield path


@contextmanager
def new_folder_part(target: Path, mode: int = 0o777) -> Iterator[Path]:
    """An empty folder beside `target`; deleted at the end if it has still that name. Raises OSError."""
    with _locked(target, lambda path: path.mkdir(mode)) as path:
        yield path


def remove_dead_parts(folder: Path) -> int:
    """Removes what killed programs left half written in a folder; returns how many."""
    removed = 0
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            if _NAME.fullmatch(path.name):
                lock = _lock(path)
                if lock is not None and lock.held:
                    _delete(path)
                    removed += 1
                if lock is not None:
                    _close(lock.descriptor)
    return removed


def exchange(first: Path, second: Path) -> None:
    """Each gets the other's name, in one step. Raises OSError, also where the system cannot do that."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError) as error:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
    if rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(first))


@dataclass(frozen=True, slots=True)
class _Lock:
    """An open part; `held` is false where the file system knows no locks."""

    descriptor: int
    held: bool


@contextmanager
def _locked(target: Path, create: Callable[[Path], None]) -> Iterator[Path]:
    lock = None
    while lock is None:  # another program took it for dead before it was locked
        path = target.parent / f".worldattention-{token_hex(6)}.part{target.suffix}"
        create(path)
        lock = _lock(path)
    try:
        yield path
    finally:
        _delete(path)
        _close(lock.descriptor)


def _lock(path: Path) -> _Lock | None:
    """None where it is gone, somebody else's, no file and no folder, or locked by another."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    with suppress(OSError):
        status = os.fstat(descriptor)
        if status.st_nlink and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            held = _try_lock(descriptor)
            if held is not None and os.path.lexists(path):
                return _Lock(descriptor, held)
    _close(descriptor)
    return None


def _try_lock(descriptor: int) -> bool | None:
    """Whether it is locked now; None when another process has the lock."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except OSError:
        return False
    return True


def _close(descriptor: int) -> None:
    """Nothing was written through it: a failure means nothing."""
    with suppress(OSError):
        os.close(descriptor)


def _delete(path: Path) -> None:
    with suppress(OSError):
        if os.path.isdir(path) and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
