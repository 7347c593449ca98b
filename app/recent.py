"""Projects that were opened lately, newest first, between sittings. A broken list is an empty one. No Qt in here."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

from worldattention.core.errors import UserError
from worldattention.core.files import private_folder, replacing

KEPT = 10

log = logging.getLogger(__name__)


class Recent:
    """Reads and writes a list of paths; with no file, it lives as long as the window. `later` has it written."""

    def __init__(
        self, file: Path | None, later: Callable[[Callable[[], None]], object] = lambda write: write()
    ) -> None:
        self._file, self._later = file, later
        self._paths = self._read()

    @property
    def paths(self) -> tuple[Path, ...]:
        """Newest first; a file may be gone by now."""
        return tuple(self._paths)

    def add(self, path: Path) -> None:
        """Puts a path to the front."""
        path = path.absolute()
        self._paths = [path, *(old for old in self._paths if old != path)][:KEPT]
        self._keep()

    def clear(self) -> None:
        """Forgets all."""
        self._paths = []
        self._keep()

    def _keep(self) -> None:
        paths = self.paths
        self._later(lambda: self._write(paths))

    def _read(self) -> list[Path]:
        if self._file is None:
            return []
        try:
            entries = json.loads(self._file.read_text(encoding="utf-8"))
            return [Path(entry) for entry in entries if isinstance(entry, str) and "\0" not in entry][:KEPT]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, RecursionError) as error:
            log.warning("the list of recent projects cannot be read: %s", error)
            return []

    def _write(self, paths: tuple[Path, ...]) -> None:
        if self._file is None:
            return
        try:
            private_folder(self._file.parent)
            with replacing(self._file, "the list of recent projects", private=True) as temporary:
                text = json.dumps([str(path) for path in paths], ensure_ascii=False)
                temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
        except (OSError, UserError) as error:
            log.warning("the list of recent projects is not kept: %s", error)
