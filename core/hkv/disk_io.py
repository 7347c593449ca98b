"""Every call by which page files touch the disk, in one small class that a test can put faults into."""

import errno
import os
from io import FileIO
from pathlib import Path

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class DiskIO:
    """Plain system calls on descriptors; no symbolic link is followed. Every method raises OSError."""

    def create(self, path: Path) -> int:
        """A descriptor of a new private file (0600); an existing one is an error."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)

    def open(self, path: Path) -> int:
        """A descriptor to read from."""
        return os.open(path, os.O_RDONLY | _FLAGS)

    def size(self, descriptor: int) -> int:
        """Bytes of an open file."""
        return os.fstat(descriptor).st_size

    def read(self, descriptor: int, part: memoryview) -> int:
        """Fills the start of `part`; returns the bytes read, 0 at the file's end."""
        with FileIO(descriptor, "rb", closefd=False) as file:
            return file.readinto(part) or 0

    def write(self, descriptor: int, part: memoryview) -> int:
        """Writes the start of `part`; returns the bytes written."""
        return os.write(descriptor, part)

    def close(self, descriptor: int) -> None:
        """Ends a descriptor's life."""
        os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Gives a finished file its name; a file (or link) of that name is an error, not overwritten."""
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "a page file is there already", str(target))
        os.rename(source, target)

    def unlink(self, path: Path) -> None:
        """Removes a file; one that is not there is as good as removed."""
        path.unlink(missing_ok=True)
