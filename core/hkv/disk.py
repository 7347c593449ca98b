"""The disk tier: one verified file a page, written by a thread of its own."""

import logging
import queue
import threading
from pathlib import Path

from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.page_file import PageFileError, PageKey, read_page, write_page
from worldattention.core.hkv.session import CacheSession, remove_dead_sessions

log = logging.getLogger(__name__)

QUEUED_PAGES = 2


class DiskTier:
    """Pages as files of a session folder under `root`, made when the first page comes.

    Pages that are still being written are read from memory. A failed write turns the tier off with one
    notice: what it holds stays readable, it takes nothing new, and the world goes on. A file that is
    missing or damaged is a miss.
    """

    name = "disk"

    def __init__(self, shape: KVShape, fingerprint: str, quota_bytes: int, root: Path) -> None:
        self.active = True
        self.quota_bytes = quota_bytes
        self.used_bytes = 0
        self._shape, self._fingerprint, self._root = shape, fingerprint, root
        self._session: CacheSession | None = None
        self._pages: dict[int, PageInfo] = {}
        self._pending: dict[int, PageData] = {}
        self._lost: list[int] = []
        self._notices: list[str] = []
        self._guard = threading.Lock()
        self._queue: queue.Queue[int | None] = queue.Queue(QUEUED_PAGES)
        self._writer: threading.Thread | None = None
        remove_dead_sessions(root)

    def could_hold(self, info: PageInfo) -> bool:
        """Whether the file would fit into the quota at all."""
        return self._file_bytes(info) <= self.quota_bytes

    def has_room(self, info: PageInfo) -> bool:
        """Whether the file fits into what is left of the quota."""
        return self.used_bytes + self._file_bytes(info) <= self.quota_bytes

    def write(self, handle: int, data: PageData) -> None:
        """Copy the page and queue it; waits only while earlier pages are still queued."""
        self._pages[handle] = data.info
        self.used_bytes += self._file_bytes(data.info)
        if not self._open_session():
            self._lost.append(handle)
            return
        copy = PageData(data.info, data.keys.to("cpu", copy=True), data.values.to("cpu", copy=True))
        with self._guard:
            self._pending[handle] = copy
        if self._writer is None:
            self._writer = threading.Thread(target=self._write_queued, name="page-writer", daemon=True)
            self._writer.start()
        self._queue.put(handle)

    def read(self, handle: int) -> PageData | None:
        """The page from memory while it is being written, else from its file; None where that is bad."""
        with self._guard:
            pending = self._pending.get(handle)
        if pending is not None:
            return pending
        assert self._session is not None
        info = self._pages[handle]
        try:
            keys, values = read_page(self._session.page_path(handle), self._key(handle, info))
        except PageFileError as error:
            log.warning("page file %d is a miss: %s", handle, error)
            return None
        return PageData(info, keys, values)

    def free(self, handle: int) -> None:
        """Forget the page and its file."""
        self.used_bytes -= self._file_bytes(self._pages.pop(handle))
        with self._guard:
            self._pending.pop(handle, None)
            if self._session is not None:
                self._unlink(handle)

    def take_lost(self) -> list[int]:
        """Handles of pages that could not be written."""
        with self._guard:
            lost, self._lost = self._lost, []
        return lost

    def take_notices(self) -> list[str]:
        """Plain sentences since the last call."""
        with self._guard:
            notices, self._notices = self._notices, []
        return notices

    def flush(self) -> None:
        """Wait until every queued page is written or lost."""
        self._queue.join()

    def close(self) -> None:
        """End the writer and remove the session's folder."""
        if self._writer is not None:
            with self._guard:
                self._pending.clear()
            self._queue.put(None)
            self._writer.join()
            self._writer = None
        if self._session is not None:
            self._session.close()
            self._session = None
        self.active = False

    def _key(self, handle: int, info: PageInfo) -> PageKey:
        session = bytes(16) if self._session is None else self._session.id
        return PageKey(session, handle, self._fingerprint, self._shape, info.frames)

    def _file_bytes(self, info: PageInfo) -> int:
        return self._key(0, info).file_bytes()

    def _open_session(self) -> bool:
        if self._session is None and self.active:
            try:
                self._session = CacheSession(self._root)
            except OSError as error:
                self._turn_off(error)
        return self._session is not None

    def _write_queued(self) -> None:
        """The writer's loop: pages are taken in order; a page freed meanwhile leaves no file."""
        while (handle := self._queue.get()) is not None:
            try:
                self._write_one(handle)
            finally:
                self._queue.task_done()
        self._queue.task_done()

    def _write_one(self, handle: int) -> None:
        with self._guard:
            data = self._pending.get(handle)
        if data is None:
            return
        assert self._session is not None
        try:
            write_page(self._session.page_path(handle), self._key(handle, data.info), data.keys, data.values)
        except Exception as error:  # the writer must live on, and the world learn of it
            self._turn_off(error)
            with self._guard:
                self._lost.append(handle)
                self._pending.pop(handle, None)
            return
        with self._guard:
            if self._pending.pop(handle, None) is None:
                self._unlink(handle)

    def _unlink(self, handle: int) -> None:
        assert self._session is not None
        try:
            self._session.page_path(handle).unlink(missing_ok=True)
        except OSError as error:
            log.warning("page file %d cannot be removed: %s", handle, error)

    def _turn_off(self, error: Exception) -> None:
        with self._guard:
            if self.active:
                log.warning("the disk tier is off: %s", error)
                self._notices.append(
                    f"The disk tier is off, because {self._root} cannot be written "
                    f"({getattr(error, 'strerror', None) or error}); the world goes on without it."
                )
            self.active = False
