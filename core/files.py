"""Files that are either whole or absent: written beside their target, then renamed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from worldattention.core.errors import UserError
from worldattention.core.parts import new_part, remove_dead_parts

MANIFEST = "world.json"
"""The file that makes a folder a saved world."""


def is_saved_world(path: Path) -> bool:
    """Whether `path` looks like a saved world's folder."""
    return os.path.isfile(path / MANIFEST)  # which asks without raising


def check_target(path: Path, what: str) -> None:
    """Raises UserError, in one sentence, when no file could be written at `path`; leaves nothing behind.

    Args:
        what: what shall be written, as in "the video".
    """
    try:
        _check_target(path, what)
        with new_part(path):
            pass
    except (OSError, ValueError) as error:
        raise UserError(f"{_named(what)} cannot be written to '{path}': {cause(error)}.") from error


def _check_target(path: Path, what: str) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None:
        if stat.S_ISDIR(mode):
            raise UserError(f"{_named(what)} cannot be written to '{path}': it is a folder, so name a file.")
        if not stat.S_ISREG(mode):
            raise UserError(f"{_named(what)} cannot be written to '{path}': it is no ordinary file.")
        if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise UserError(f"{_named(what)} cannot be written to '{path}': the file there is read-only.")
    if not os.path.isdir(path.parent):
        raise UserError(f"There is no folder '{path.parent}' for {what}: make it first, or name another.")


def check_makeable(folder: Path) -> None:
    """Raises OSError when no folder that can be written to could be made at `folder`; makes nothing."""
    place = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    number = None
    if not os.path.isdir(place):
        number = errno.EEXIST if place == folder else errno.ENOTDIR
    elif not os.access(place, os.W_OK | os.X_OK):
        number = errno.EACCES
    if number is not None:
        raise OSError(number, os.strerror(number))


def standing_place(folder: Path) -> Path:
    """The folder, or the nearest above it that is there and can be reached."""
    return next(path for path in (folder, *folder.absolute().parents) if os.path.exists(path))


def private_folder(folder: Path) -> None:
    """Makes a folder, and those above it that are missing, for this user alone (0700). Raises OSError."""
    if not os.path.exists(folder.parent):
        private_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def make_private(path: Path) -> None:
    """For this user alone (0600), what another library wrote; where that cannot be, its folder still is."""
    with suppress(OSError):
        path.chmod(0o600)


@contextmanager
def replacing(path: Path, what: str, private: bool = False) -> Iterator[Path]:
    """A new empty file in the folder of `path`: renamed to `path` at the end, deleted on any failure.

    A link at `path` is followed. The file keeps the permissions of the one that it replaces, or is for this user
    alone if `private` (0600), and has reached the disk before the rename.

    Raises:
        UserError: nothing can be written there.
    """
    check_target(path, what)
    target = Path(os.path.realpath(path))
    remove_dead_parts(target.parent)
    with ExitStack() as stack:
        try:
            temporary = stack.enter_context(new_part(target, 0o600 if private else 0o666))
        except OSError as error:
            raise UserError(f"{_named(what)} cannot be written to '{path}': {cause(error)}.") from error
        with failures_told(path, what):
            if os.path.exists(target) and not private:
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        yield temporary
        with failures_told(path, what):
            _sync(temporary)
            temporary.replace(target)
    sync_folder(target.parent)


@contextmanager
def failures_told(path: Path, what: str) -> Iterator[None]:
    """Turns a failed file operation inside into a UserError that names the target."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{_named(what)} could not be written to '{path}': {cause(error)}.") from error


def cause(error: OSError | ValueError) -> str:
    """Why a file could not be written, as a clause that says what to do."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"{reason(error)}, so free some space or choose another place"
    return f"{reason(error)}, so choose another place"


def reason(error: OSError | ValueError) -> str:
    """The cause of a failed file operation as a clause."""
    if isinstance(error, OSError):
        known = {
            errno.ENOSPC: "the disk is full",
            errno.EACCES: "permission is denied",
            errno.EPERM: "permission is denied",
            errno.EROFS: "the file system is read-only",
            errno.ENAMETOOLONG: "the name is too long",
            errno.ENOTDIR: "a part of the path is a file, not a folder",
        }
        return known.get(error.errno or 0, (error.strerror or str(error)).lower())
    return "the name holds a character that no file name can have"


def sync_folder(folder: Path) -> None:
    """The names in it reach the disk, where the file system can do that; the files themselves are synced apart."""
    with suppress(OSError):
        _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _named(what: str) -> str:
    return what[0].upper() + what[1:]
