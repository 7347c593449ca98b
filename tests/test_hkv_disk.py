"""Page files under fault injection, cache sessions, and the disk tier below the others."""

import errno
import os
import random
import stat
import threading
from contextlib import closing

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.config import CacheConfig
from worldattention.core.hkv import disk_io, page_file
from worldattention.core.hkv.bank import KVBank
from worldattention.core.hkv.codec import RAW, encode_page, lay_out, page_bytes
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.page_file import PageFileError, PageKey
from worldattention.core.hkv.store import open_store

SHAPE = KVShape(layers=3, frame_tokens=2, heads=2, head_dim=4, dtype=torch.bfloat16)
PAGE_BYTES = 8 * SHAPE.frame_bytes()
FILE_BYTES = PageKey(bytes(16), 0, "", SHAPE, 8).file_bytes()


def new_frames(count, shape=SHAPE):
    return torch.randn(2, *shape.tensor(count)).to(shape.dtype)


def make_key(shape=SHAPE, frames=5, page=7):
    return PageKey(bytes(range(16)), page, "pocket", shape, frames)


def blank(key):
    size = page_bytes(RAW, key.shape, key.frames)
    return lay_out(PageInfo(0, 0, key.frames, 0, 0), key.shape, RAW, torch.empty(size, dtype=torch.uint8))


def write_page(path, key, keys, values):
    page = blank(key)
    encode_page(PageData(page.info, keys, values), page)
    return page_file.write_page(path, key, page.parts, DiskIO())


def read_page(path, key):
    page = blank(key)
    page_file.read_page(path, key, page.parts, DiskIO())
    data = page.decode()
    return data.keys, data.values


def write_one(folder, frames=5):
    path, key = folder / "7.page", make_key(frames=frames)
    keys, values = new_frames(frames)
    write_page(path, key, keys, values)
    return path, key, keys, values


def make_bank(folder, device=1, dram=1, disk=100):
    config = CacheConfig(
        device_quota_bytes=device * PAGE_BYTES,
        dram_quota_bytes=dram * PAGE_BYTES,
        disk_quota_bytes=disk * FILE_BYTES,
        folder=folder,
    )
    bank = KVBank(SHAPE, config, [0, 2], open_store(config, SHAPE, fingerprint="pocket"))
    bank.begin_chunk(torch.ones(4), "a prompt")
    return bank


def disk_of(bank):
    return bank._store._tiers[-1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("frames", [1, 8])
def test_round_trip_is_bit_equal_and_private(tmp_path, dtype, frames):
    shape = KVShape(2, 3, 1, 5, dtype)
    keys, values = new_frames(frames + 2, shape)
    keys, values = keys[:, 3 : 3 + frames * 3], values[:, 3 : 3 + frames * 3]  # not contiguous
    path, key = tmp_path / "한글 ñ.page", make_key(shape, frames)
    assert write_page(path, key, keys, values) == path.stat().st_size
    read = read_page(path, key)
    assert torch.equal(read[0], keys)
    assert torch.equal(read[1], values)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("large_bytes", [1, 1 << 20])
def test_every_header_byte_and_body_bits_are_guarded(tmp_path, monkeypatch, large_bytes):
    monkeypatch.setattr(page_file, "_LARGE_BYTES", large_bytes)
    path, key, _, _ = write_one(tmp_path)
    good = path.read_bytes()
    rng = random.Random()
    bits = [8 * byte + rng.randrange(8) for byte in range(key.header_bytes())]
    bits += [rng.randrange(8 * key.header_bytes(), 8 * len(good)) for _ in range(200)]
    for bit in bits:
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(PageFileError):
            read_page(path, key)
    path.write_bytes(good)
    read_page(path, key)


def test_truncated_longer_empty_missing_and_linked_files_are_refused(tmp_path):
    path, key, _, _ = write_one(tmp_path)
    good = path.read_bytes()
    for size in [*range(0, len(good), 37), len(good) - 1]:
        path.write_bytes(good[:size])
        with pytest.raises(PageFileError, match="instead of"):
            read_page(path, key)
    path.write_bytes(good + b"x")
    with pytest.raises(PageFileError, match="instead of"):
        read_page(path, key)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(good)
    path.unlink()
    with pytest.raises(PageFileError, match="open"):
        read_page(path, key)
    path.symlink_to(elsewhere)
    with pytest.raises(PageFileError, match="open"):
        read_page(path, key)
    path.unlink()
    path.mkdir()
    with pytest.raises(PageFileError):
        read_page(path, key)


@pytest.mark.parametrize(
    "other",
    [
        PageKey(bytes(16), 7, "pocket", SHAPE, 5),
        PageKey(bytes(range(16)), 8, "pocket", SHAPE, 5),
        PageKey(bytes(range(16)), 7, "pocket2", SHAPE, 5),
        PageKey(bytes(range(16)), 7, "pocket", KVShape(3, 2, 4, 2, torch.bfloat16), 5),
        PageKey(bytes(range(16)), 7, "pocket", KVShape(3, 2, 2, 4, torch.float16), 5),
        PageKey(bytes(range(16)), 7, "pocket", KVShape(3, 5, 2, 4, torch.bfloat16), 2),
    ],
)
def test_another_page_is_never_taken(tmp_path, other):
    path, key, _, _ = write_one(tmp_path)
    assert other.file_bytes() == key.file_bytes()
    with pytest.raises(PageFileError, match="another page"):
        read_page(path, other)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("after", [0, 3])
def test_failed_writes_leave_nothing(tmp_path, monkeypatch, code, after):
    calls = iter(range(1000))

    def write(descriptor, part):
        if next(calls) >= after:
            raise OSError(code, os.strerror(code))
        return -(-len(part) // 2)

    monkeypatch.setattr(disk_io.os, "write", write)
    with pytest.raises(OSError, match=os.strerror(code)):
        write_one(tmp_path)
    assert os.listdir(tmp_path) == []


def test_short_writes_are_continued_and_no_write_is_an_error(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(disk_io.os, "write", lambda descriptor, part: real(descriptor, part[:7]))
    path, key, keys, values = write_one(tmp_path)
    assert torch.equal(torch.stack(read_page(path, key)), torch.stack([keys, values]))
    path.unlink()
    monkeypatch.setattr(disk_io.os, "write", lambda descriptor, part: 0)
    with pytest.raises(OSError, match="no more bytes"):
        write_one(tmp_path)
    assert os.listdir(tmp_path) == []


def test_an_existing_file_or_planted_link_is_not_written(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "7.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_one(tmp_path)
    (tmp_path / "7.tmp").unlink()
    (tmp_path / "7.page").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_one(tmp_path)
    assert victim.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["7.page", "victim"]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_pages_come_back_bit_equal_through_all_tiers(tmp_path_factory, data):
    device, dram, disk = (
        data.draw(st.integers(0, 2)),
        data.draw(st.integers(0, 2)),
        data.draw(st.integers(0, 6)),
    )
    with closing(make_bank(tmp_path_factory.mktemp("cache"), device, dram, disk)) as bank:
        history = torch.empty(2, *SHAPE.tensor(0), dtype=SHAPE.dtype)
        for step in range(data.draw(st.integers(1, 20))):
            if data.draw(st.integers(0, 3)) == 0:
                bank.begin_chunk(torch.ones(4), f"{step}")
            frames = new_frames(data.draw(st.integers(1, 9)))
            history = torch.cat([history, frames], dim=2)
            bank.append(*frames)
            ids = data.draw(st.lists(st.integers(0, max(0, len(bank.pages) - 1)), unique=True, max_size=3))
            if bank.pages:
                gone = {page for page in ids if bank.tier_of(page) == "dropped"}
                with bank.recall(ids) as recall:
                    assert set(recall.missed) == gone
                    for page, got in recall.pages.items():
                        info = bank.pages[page]
                        part = slice(info.first_frame * 2, info.end_frame * 2)
                        assert torch.equal(got.keys, history[0][:, part])
                        assert torch.equal(got.values, history[1][:, part])
            usage = bank.usage()
            assert sum(tier.pages for tier in usage) + sum(tier.drops for tier in usage) == len(bank.pages)
            assert all(tier.used_bytes <= tier.quota_bytes for tier in usage)
        disk_of(bank).flush()
    assert list(bank.config.folder.glob("session-*")) == []


def spilled_bank(folder, pages=6):
    """A bank with one page on the device, one in DRAM and the older ones in files."""
    bank = make_bank(folder)
    bank.append(*new_frames(8 * pages))
    disk_of(bank).flush()
    assert [bank.tier_of(page) for page in range(pages)] == ["disk"] * (pages - 2) + ["dram", "device"]
    return bank


@pytest.mark.parametrize("damage", ["missing", "flipped", "truncated", "swapped"])
def test_a_bad_file_is_a_counted_miss(tmp_path, damage):
    """case_10: a missing file is a miss, not the end."""
    bank = spilled_bank(tmp_path)
    path = disk_of(bank)._session.page_path(bank._handles[1])
    if damage == "missing":
        path.unlink()
    elif damage == "flipped":
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    elif damage == "truncated":
        os.truncate(path, 100)
    else:
        path.write_bytes(disk_of(bank)._session.page_path(bank._handles[2]).read_bytes())
    with bank.recall([0, 1, 2]) as recall:
        assert recall.missed == (1,)
        assert set(recall.pages) == {0, 2}
    assert bank.tier_of(1) == "dropped"
    assert bank.usage()[-1].misses == 1
    assert bank.usage()[-1].active
    bank.close()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_full_or_broken_disk_turns_the_tier_off_once(tmp_path, monkeypatch, code):
    """case_12: the tier is off, with one notice, and the world goes on."""
    bank = spilled_bank(tmp_path)

    def write(descriptor, part):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(disk_io.os, "write", write)
        bank.append(*new_frames(40))
        disk_of(bank).flush()
    notices = bank.take_notices()
    (off,) = (notice for notice in notices if "disk tier is off, because" in notice)
    assert os.strerror(code) in off
    assert ("Free space there" in off) == (code == errno.ENOSPC)
    assert not any("--disk-quota" in notice for notice in notices[notices.index(off) :])
    usage = bank.usage()
    assert [tier.active for tier in usage] == [True, True, False]
    assert usage[-1].pages == len(list(tmp_path.glob("session-*/*.page")))
    assert sum(tier.pages for tier in usage) + sum(tier.drops for tier in usage) == len(bank.pages) == 11
    with bank.recall([0, 1, 10]) as recall:  # what was written before is still there
        assert recall.missed == ()
    there = [page for page in range(11) if bank.tier_of(page) != "dropped"]
    for page in there:
        bank.recall([page]).release()
    assert [bank.tier_of(page) for page in there].count("dropped") == 0  # a recall pushes nothing out
    bank.append(*new_frames(40))
    assert not any("disk tier" in notice for notice in bank.take_notices())
    bank.close()
    assert list(tmp_path.glob("session-*")) == []


def test_a_disk_that_is_full_from_the_start_is_not_given_a_larger_quota(tmp_path, monkeypatch):
    """case_12: nothing had been dropped before, so the first page that is dropped says what helps."""
    bank = make_bank(tmp_path, 1, 1, 20)
    monkeypatch.setattr(disk_io.os, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    bank.append(*new_frames(80))
    disk_of(bank).flush()
    off, dropping = bank.take_notices()
    assert "disk tier is off, because" in off
    assert "raise --dram-quota to keep more" in dropping
    assert "--disk-quota" not in off + dropping
    bank.close()


@pytest.mark.parametrize(("pages", "said"), [(0.99, True), (1, False), (0, False)])
def test_case_11_a_disk_without_room_for_one_page_is_told_at_the_start(tmp_path, pages, said):
    bank = make_bank(tmp_path, 1, 1, pages)
    notices = bank.take_notices()
    assert len(notices) == said
    assert all("No whole page fits on the disk" in text and str(tmp_path) in text for text in notices)
    bank.close()


@pytest.mark.parametrize(
    ("free_pages", "said", "helps"), [(0.9, "are free at", False), (1, "pages may take", True)]
)
def test_case_11_what_limits_a_small_disk_is_said_and_what_helps(
    tmp_path, monkeypatch, free_pages, said, helps
):
    monkeypatch.setattr(
        "worldattention.core.hkv.notices.free_bytes", lambda root: int(free_pages * FILE_BYTES) + 1
    )
    bank = make_bank(tmp_path, 1, 1, 0.5)
    (text,) = bank.take_notices()
    assert said in text
    assert ("--disk-quota" in text, "free space" in text) == (helps, not helps)
    assert bank.usage()[-1].active == helps
    bank.close()


def test_case_11_a_small_disk_that_cannot_be_written_is_called_so(tmp_path):
    (tmp_path / "file").touch()
    bank = make_bank(tmp_path / "file" / "cache", 1, 1, 0.5)
    (text,) = bank.take_notices()
    assert "cannot be written" in text
    assert "quota" not in text
    bank.close()


def test_a_folder_that_cannot_be_made_is_one_notice(tmp_path):
    (tmp_path / "file").touch()
    bank = make_bank(tmp_path / "file" / "cache")
    bank.append(*new_frames(80))
    disk_of(bank).flush()
    assert sum("disk tier is off" in notice for notice in bank.take_notices()) == 1
    assert sum(tier.pages for tier in bank.usage()) == 2
    with bank.recall([8, 9]) as recall:
        assert recall.missed == ()
    bank.close()


def test_pages_are_readable_while_they_are_being_written(tmp_path, monkeypatch):
    gate, real = threading.Event(), os.write

    def slow(descriptor, part):
        gate.wait(20)
        return real(descriptor, part)

    monkeypatch.setattr(disk_io.os, "write", slow)
    bank = make_bank(tmp_path)
    keys, values = new_frames(24)
    bank.append(keys, values)
    assert bank.tier_of(0) == "disk"
    with bank.recall([0]) as recall:
        assert torch.equal(recall.pages[0].keys, keys[:, :16])
        assert torch.equal(recall.pages[0].values, values[:, :16])
    gate.set()
    disk_of(bank).flush()
    session = disk_of(bank)._session.folder
    assert bank.usage()[-1].pages == 1
    assert len(list(session.glob("*.page"))) == 2  # page 1, and the spare file of page 0
    assert list(session.glob("*.tmp")) == []
    bank.close()
    assert not session.exists()


def test_forks_share_files(tmp_path):
    bank = spilled_bank(tmp_path)
    fork = bank.fork()
    written = bank.usage()[-1].written_bytes
    bank.close()
    with fork.recall(range(3)) as recall:
        assert recall.missed == ()
    assert fork.usage()[-1].written_bytes > 0
    assert written == 4 * PAGE_BYTES
    fork.close()
    assert list(tmp_path.glob("session-*")) == []
