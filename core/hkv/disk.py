"""The disk tier: one verified file a page, written and read by threads of its own.

A page whose home is a higher tier may have a file as well: written early (write-through), or left behind by a
recall. Such spare files count as used, make way first, and save the writing when their page comes down again.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from worldattention.core.heap import lasting_memory
from worldattention.core.hkv.codec import RAW, Codec, StoredPage, encode_page, lay_out, page_bytes
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.disk_jobs import Read, Write
from worldattention.core.hkv.moves import Job, Lane, Loan, SideStream
from worldattention.core.hkv.notices import disk_off, no_page_on_disk
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.page_file import PageFileError, PageKey, read_page, write_page
from worldattention.core.hkv.page_lock import LockedPool
from worldattention.core.hkv.session import CacheSession, remove_dead_sessions
from worldattention.core.hkv.tiers import Fetched, Traffic

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DiskOptions:
    """How the disk is used; see `CacheConfig`. `gpu`: the one that pages come from and go to."""

    codec: Codec = RAW
    page_frames: int = 8
    move_bytes: int = 256 << 20
    prefetch_bytes: int = 512 << 20
    gpu: torch.device | None = None


class DiskTier:
    """Pages as files of a session folder under `root`, made when the first page comes.

    Pages that are still being written are read from memory. A failed write turns the tier off with one
    notice: what it holds stays readable, it takes nothing new, and the world goes on. A file that is
    missing or damaged is a miss.
    """

    name = "disk"

    def __init__(
        self,
        shape: KVShape,
        fingerprint: str,
        quota_bytes: int,
        root: Path,
        options: DiskOptions = DiskOptions(),
        disk: DiskIO | None = None,
    ) -> None:
        self.active = True
        self.quota_bytes = quota_bytes
        self.traffic = Traffic()
        self._shape, self._fingerprint, self._root, self._options = shape, fingerprint, root, options
        self._disk = DiskIO() if disk is None else disk
        self._session: CacheSession | None = None
        self._homes: dict[int, PageInfo] = {}
        self._spares: OrderedDict[int, PageInfo] = OrderedDict()
        self._home_bytes = self._spare_bytes = 0
        self._writes: dict[int, Write] = {}
        self._write_jobs: dict[int, Write] = {}
        self._reads: dict[int, Read] = {}
        self._staged: OrderedDict[int, tuple[StoredPage, bool]] = OrderedDict()
        self._demanded: set[int] = set()
        self._bad: set[int] = set()
        self._gone = False
        self._pool = LockedPool() if options.gpu is not None else None
        self._lost: list[int] = []
        self._notices: list[str] = []
        self._writer, self._reader = Lane("page-writer"), Lane("page-reader")
        self._side = SideStream()
        page = self._file_bytes(PageInfo(0, 0, options.page_frames, 0, 0))
        if 0 < quota_bytes < page:
            said, self.active = no_page_on_disk(root, quota_bytes, page)
            self._notices.append(said)
        remove_dead_sessions(root)

    @property
    def used_bytes(self) -> int:
        """Bytes of all files, spare ones included; none once their folder is gone."""
        return 0 if self._gone else self._home_bytes + self._spare_bytes

    def could_hold(self, info: PageInfo) -> bool:
        """Whether the file would fit into the quota at all."""
        return self._file_bytes(info) <= self.quota_bytes

    def has_room(self, info: PageInfo) -> bool:
        """Whether the file fits into what the homes leave of the quota; spare files make way."""
        return self._home_bytes + self._file_bytes(info) <= self.quota_bytes

    def congested(self) -> bool:
        """Whether as much waits to be written as may."""
        return bool(self._write_jobs) and self._writer.queued_bytes >= self._options.move_bytes

    def wait_for_room(self) -> None:
        """Wait until it is not congested."""
        while self.congested():
            self.complete_one()

    def take(self, handle: int, data: PageData) -> None:
        """Copy a new page and queue it."""
        copy = self._new_page(data.info)
        encode_page(data, copy)
        self.write(handle, copy.behind(self._options.gpu), Loan())

    def write(self, handle: int, page: StoredPage, loan: Loan) -> None:
        """Queue the page, or take over the spare file that it has."""
        info, size = page.info, self._file_bytes(page.info)
        if handle in self._spares:
            del self._spares[handle]
            self._spare_bytes -= size
            loan.drop()
        else:
            # Before the page is written, so that a disk as large as the quota has room for it.
            while self._spares and self.used_bytes + size > self.quota_bytes:
                self.free_spare(next(iter(self._spares)))
            self._queue(handle, page, loan)
        self._homes[handle] = info
        self._home_bytes += size

    def write_spare(self, handle: int, page: StoredPage, loan: Loan) -> None:
        """Write a page early, if the tier takes pages, has room and is not behind."""
        size = self._file_bytes(page.info)
        if not self.active or self.used_bytes + size > self.quota_bytes or self.congested():
            loan.drop()
            return
        self._queue(handle, page, loan)
        self._spares[handle] = page.info
        self._spare_bytes += size

    def request(self, handles: Sequence[int]) -> None:
        """Start to read these pages before any that were only guessed."""
        self._demanded.update(handles)
        for handle in reversed(handles):
            read = self._reads.get(handle)
            if read is not None:
                self._reader.hurry(read.job)
            elif not self._at_hand(handle):
                self._start_read(handle, ahead=False)

    def prefetch(self, handles: Sequence[int]) -> None:
        """Read pages ahead, as many as `prefetch_bytes` allow; an earlier guess that has not begun is given up."""
        wanted = set(handles)
        for handle, read in list(self._reads.items()):
            if read.ahead and handle not in wanted and self._reader.cancel(read.job):
                del self._reads[handle]
        budget = self._options.prefetch_bytes
        for handle in handles:
            if handle not in self._homes:
                continue
            budget -= self._file_bytes(self._homes[handle])
            if budget < 0:
                break
            if handle in self._staged:
                self._staged.move_to_end(handle)
            elif handle not in self._reads and not self._at_hand(handle):
                self._start_read(handle, ahead=True)

    def end_guess(self) -> None:
        """A recall is over: what was read ahead for it and not taken goes, what was not yet read never is."""
        for handle, read in list(self._reads.items()):
            if read.ahead and handle not in self._demanded:
                self._reader.cancel(read.job)
                del self._reads[handle]
        for handle, (_, ahead) in list(self._staged.items()):
            if ahead and handle not in self._demanded:
                del self._staged[handle]

    def fetch(self, handle: int, deadline_s: float | None) -> Fetched:
        """From memory while it is being written or was read ahead, else from its file."""
        self.request([handle])
        read = self._reads.get(handle)
        if read is not None:
            left = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            if read.job.done.wait(left):
                self.collect()
        self._demanded.discard(handle)
        write = self._writes.get(handle)
        if write is not None:
            return Fetched(write.source, write.loan.hold())
        if handle in self._bad:
            return Fetched(None, Loan())
        if handle not in self._staged:
            if handle in self._reads:
                self._reads[handle].ahead = False  # no guess any more: it shall be there the next time
            self.traffic.late += 1
            return Fetched(None, Loan(), late=True)
        page, ahead = self._staged.pop(handle)
        self.traffic.prefetch_hits += ahead
        return Fetched(page, Loan())

    def leave(self, handle: int) -> None:
        """The file stays as a spare one."""
        info = self._homes.pop(handle)
        self._home_bytes -= self._file_bytes(info)
        self._spares[handle] = info
        self._spare_bytes += self._file_bytes(info)

    def free(self, handle: int) -> None:
        """Forget the page and its file."""
        size = self._file_bytes(self._homes.pop(handle))
        self._home_bytes -= size
        self._remove_file(handle)

    def free_spare(self, handle: int) -> None:
        """Forget the spare file of a page, if it has one."""
        info = self._spares.pop(handle, None)
        if info is not None:
            self._spare_bytes -= self._file_bytes(info)
            self._remove_file(handle)

    def collect(self) -> None:
        """Complete the writes and reads that are done."""
        for job in self._writer.take_finished():
            write = self._write_jobs.pop(job.id, None)
            if write is not None:
                self._complete_write(job, write)
        for job in self._reader.take_finished():
            read = self._reads.get(job.handle)
            if read is not None and read.job is job:
                del self._reads[job.handle]
                self._complete_read(job, read)

    def complete_one(self) -> bool:
        """Wait for one write and complete it."""
        if not self._write_jobs:
            return False
        self._writer.wait_for_one()
        self.collect()
        return True

    def path_of(self, handle: int) -> Path | None:
        """Where a page's file lies, once there is a session."""
        return None if self._session is None else self._session.page_path(handle)

    def take_lost(self) -> list[int]:
        """Handles of pages that could not be written."""
        lost, self._lost = self._lost, []
        return lost

    def take_notices(self) -> list[str]:
        """Plain sentences since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def flush(self) -> None:
        """Wait until every queued page is written or lost, and every read is done."""
        self._writer.flush()
        self._reader.flush()
        self.collect()

    def close(self) -> None:
        """End the threads and remove the session's folder."""
        self.active = False
        self._writer.close()
        self._reader.close()
        self._staged.clear()
        if self._pool is not None:
            self._pool.close()
        if self._session is not None:
            self._session.close()
            self._session = None

    def _key(self, handle: int, info: PageInfo) -> PageKey:
        session = bytes(16) if self._session is None else self._session.id
        return PageKey(session, handle, self._fingerprint, self._shape, info.frames, self._options.codec)

    def _file_bytes(self, info: PageInfo) -> int:
        return self._key(0, info).file_bytes()

    def _at_hand(self, handle: int) -> bool:
        return handle in self._writes or handle in self._staged or handle in self._bad

    def _queue(self, handle: int, page: StoredPage, loan: Loan) -> None:
        job = Job(handle, lambda: self._write_one(handle, page), page.parts.nbytes)
        self._writes[handle] = self._write_jobs[job.id] = Write(page, loan, job)
        self._writer.submit(job)

    def _new_page(self, info: PageInfo) -> StoredPage:
        codec = self._options.codec
        size = page_bytes(codec, self._shape, info.frames)
        memory = lasting_memory([size], torch.uint8) if self._pool is None else self._pool.take(size)
        return lay_out(info, self._shape, codec, memory)

    def _write_one(self, handle: int, page: StoredPage) -> None:
        """In the writer's thread: code the page where its tier keeps it otherwise, and write it."""
        if self._session is None:
            self._session = CacheSession(self._root)
            self._lock_ahead()
        self._session.check()
        if page.codec is not self._options.codec or page.parts.is_cuda or not page.parts.is_contiguous():
            copy = self._new_page(page.info)
            self._side.run(lambda: page.copy_into(copy, self._side.rest), page.ready, page.parts.device)
        else:
            copy = page
            if page.ready is not None:
                page.ready.synchronize()
        write_page(self._session.page_path(handle), self._key(handle, page.info), copy.parts, self._disk)

    def _lock_ahead(self) -> None:
        """Page-locks memory for what may be read ahead, before it is needed: a recall has no time for it."""
        options, pool = self._options, self._pool
        if pool is not None:
            size = page_bytes(options.codec, self._shape, options.page_frames)
            for _ in range(options.prefetch_bytes // size):
                self._reader.submit(Job(-1, lambda: pool.grow(size)))

    def _complete_write(self, job: Job, write: Write) -> None:
        current = self._writes.get(job.handle) is write
        if current:
            del self._writes[job.handle]
        if job.error is None:
            frames = write.source.info.frames
            self.traffic.written_bytes += page_bytes(self._options.codec, self._shape, frames)
            self.traffic.write_ms.append(job.milliseconds)
        else:
            self._turn_off(job.error)
            if current and job.handle in self._homes:
                self._bad.add(job.handle)
                self._lost.append(job.handle)
            elif current:
                self._spare_bytes -= self._file_bytes(self._spares.pop(job.handle))
        write.loan.drop()

    def _start_read(self, handle: int, ahead: bool) -> None:
        session, info = self._session, self._homes[handle]
        assert session is not None
        path, key = session.page_path(handle), self._key(handle, info)

        def work() -> StoredPage:
            session.check()
            page = self._new_page(info)  # here, since page-locking takes its time
            read_page(path, key, page.parts, self._disk)
            return page

        read = Read(Job(handle, work, key.file_bytes()), ahead)
        self._reads[handle] = read
        self._reader.submit(read.job, urgent=not ahead)

    def _complete_read(self, job: Job, read: Read) -> None:
        page: StoredPage | None = job.result
        if page is None:
            log.warning("page file %d is a miss: %s", job.handle, job.error)
            if isinstance(job.error, PageFileError | OSError):  # else there was no memory for it
                self._bad.add(job.handle)
            return
        self.traffic.read_bytes += page.parts.nbytes
        self.traffic.read_ms.append(job.milliseconds)
        self.traffic.prefetched += read.ahead
        self._staged[job.handle] = (page, read.ahead)
        staged_bytes = sum(staged.parts.nbytes for staged, _ in self._staged.values())
        for handle in [handle for handle in self._staged if handle not in self._demanded]:
            if staged_bytes > self._options.prefetch_bytes:
                staged_bytes -= self._staged.pop(handle)[0].parts.nbytes

    def _remove_file(self, handle: int) -> None:
        """After what the lanes are doing with it; a write that has not begun never will."""
        self._staged.pop(handle, None)
        self._bad.discard(handle)
        read = self._reads.pop(handle, None)
        if read is not None:
            self._reader.cancel(read.job)
        write = self._writes.pop(handle, None)
        if write is not None and self._writer.cancel(write.job):
            del self._write_jobs[write.job.id]
            write.loan.drop()
        elif self._session is not None or write is not None:
            self._writer.submit(Job(handle, lambda: self._unlink(handle)))

    def _unlink(self, handle: int) -> None:
        if self._session is None:
            return
        try:
            self._session.check()
            self._disk.unlink(self._session.page_path(handle))
        except OSError as error:
            log.warning("page file %d cannot be removed: %s", handle, error)

    def _turn_off(self, error: Exception) -> None:
        if self.active:
            log.warning("the disk tier is off: %s", error)
            self._notices.append(disk_off(self._root, error))
            self._gone = self._session is not None and not self._session.is_there
        self.active = False
