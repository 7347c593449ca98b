"""The bank against a plain dictionary, under tiny quotas."""

import hashlib
from contextlib import closing

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.config import CacheConfig
from worldattention.core.hkv.bank import KVBank
from worldattention.core.hkv.page import KVShape
from worldattention.core.hkv.store import open_store

SHAPE = KVShape(layers=3, frame_tokens=2, heads=2, head_dim=4, dtype=torch.bfloat16)
PAGE_BYTES = 8 * SHAPE.frame_bytes()


def make_bank(device_pages=100, dram_pages=0, **settings):
    config = CacheConfig(
        device_quota_bytes=device_pages * PAGE_BYTES,
        dram_quota_bytes=dram_pages * PAGE_BYTES,
        disk_quota_bytes=0,
        **settings,
    )
    return KVBank(SHAPE, config, [0, 2], open_store(config, SHAPE))


def new_frames(count):
    return torch.randn(2, *SHAPE.tensor(count)).bfloat16()


def prompt(seed):
    return torch.randn(6, generator=torch.Generator().manual_seed(seed))


class Model:
    """The bank as DESIGN 3 words it: frames one by one, pages as lists."""

    def __init__(self, chunk_frames=40):
        self.chunk_frames = chunk_frames
        self.pages, self.open, self.chunks, self.begun, self.in_chunk, self.frame = [], [], [], None, 0, 0

    def begin(self, name):
        self.close()
        self.begun, self.in_chunk = name, 0

    def close(self):
        if self.open:
            self.pages.append((len(self.chunks) - 1, self.open))
            self.open = []

    def append(self, keys, values):
        for start in range(0, keys.shape[1], SHAPE.frame_tokens):
            if self.in_chunk % self.chunk_frames == 0:
                self.chunks.append(self.begun)
            part = slice(start, start + SHAPE.frame_tokens)
            self.open.append((self.frame, keys[:, part], values[:, part]))
            self.frame += 1
            self.in_chunk += 1
            if len(self.open) == 8 or self.in_chunk % self.chunk_frames == 0:
                self.close()


def check(bank, model):
    assert len(bank.pages) == len(model.pages)
    assert bank.open_frames == len(model.open)
    assert list(bank.chunk_hashes) == model.chunks
    covered = []
    for info, (chunk, frames) in zip(bank.pages, model.pages, strict=True):
        assert (info.first_frame, info.frames, info.chunk_id) == (frames[0][0], len(frames), chunk)
        covered.extend(range(info.first_frame, info.end_frame))
    assert covered == list(range(model.frame - len(model.open)))


def check_recall(bank, model, ids):
    with bank.recall(ids) as recall:
        assert set(recall.pages) | set(recall.missed) == set(ids)
        for page, data in recall.pages.items():
            frames = model.pages[page][1]
            assert data.info.id == page
            assert torch.equal(data.keys, torch.cat([keys for _, keys, _ in frames], dim=1))
            assert torch.equal(data.values, torch.cat([values for _, _, values in frames], dim=1))
        return recall.missed


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_against_a_dictionary(data):
    device, dram = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 30))
    chunk_frames = data.draw(st.sampled_from([40, 40, 20, 7]))
    model = Model(chunk_frames)
    with closing(make_bank(device, dram, chunk_frames=chunk_frames)) as bank:
        dropped = 0
        for step in range(data.draw(st.integers(1, 25))):
            action = data.draw(st.sampled_from(["append", "append", "append", "begin", "recall"]))
            if action == "begin" or step == 0:
                text = f"prompt {step}"
                bank.begin_chunk(prompt(step), text)
                model.begin(hashlib.sha256(text.encode()).hexdigest()[:12])
            elif action == "append":
                keys, values = new_frames(data.draw(st.integers(1, 21)))
                bank.append(keys, values)
                model.append(keys, values)
            elif model.pages:
                ids = data.draw(st.lists(st.integers(0, len(model.pages) - 1), unique=True, max_size=4))
                gone = {page for page in range(len(model.pages)) if bank.tier_of(page) == "dropped"}
                assert set(check_recall(bank, model, ids)) == gone & set(ids)
            check(bank, model)
            usage = bank.usage()
            assert sum(tier.pages for tier in usage) + sum(tier.drops for tier in usage) == len(model.pages)
            for tier in usage:
                assert tier.used_bytes <= tier.quota_bytes
            dropped = sum(tier.drops for tier in usage)
        assert dropped == max(0, len(model.pages) - device - dram)


def test_index_holds_the_mean_of_real_tokens():
    bank = make_bank()
    bank.begin_chunk(prompt(0), "a")
    parts = [new_frames(count) for count in (3, 3, 5)]
    for keys, values in parts:
        bank.append(keys, values)
    bank.begin_chunk(prompt(1), "b")  # closes the second page at three frames
    keys = torch.cat([keys for keys, _ in parts], dim=1)[[0, 2]].double()
    assert [info.frames for info in bank.pages] == [8, 3]
    means = bank._index.means.double()
    assert torch.allclose(means[0], keys[:, :16].mean(dim=1), atol=1e-6)
    assert torch.allclose(means[1], keys[:, 16:].mean(dim=1), atol=1e-6)


def test_a_prompt_change_closes_the_page_short_and_long_segments_open_chunks():
    bank = make_bank()
    bank.begin_chunk(prompt(0), "a")
    for _ in range(17):
        bank.append(*new_frames(3))  # 51 frames: a chunk of 40, then 11
    bank.begin_chunk(prompt(1), "b")
    bank.append(*new_frames(3))
    assert [(p.first_frame, p.frames, p.chunk_id) for p in bank.pages] == [
        *((8 * k, 8, 0) for k in range(5)),
        (40, 8, 1),
        (48, 3, 1),
    ]
    assert bank.chunk_hashes[0] == bank.chunk_hashes[1] != bank.chunk_hashes[2]
    assert [p.block for p in bank.pages] == [2, 5, 7, 10, 13, 15, 16]
    assert bank.open_frames == 3


def test_pins_hold_against_eviction():
    bank = make_bank(device_pages=2, dram_pages=1)
    bank.begin_chunk(prompt(0), "a")
    bank.append(*new_frames(16))
    recall = bank.recall([0, 1])
    kept = {page: (data.keys.clone(), data.values.clone()) for page, data in recall.pages.items()}
    bank.append(*new_frames(24))  # pages 2, 3, 4 come: one fits into DRAM, the others push each other out
    assert [bank.tier_of(page) for page in range(5)] == ["device", "device", "dropped", "dropped", "dram"]
    for page, data in recall.pages.items():
        assert torch.equal(data.keys, kept[page][0])
        assert torch.equal(data.values, kept[page][1])
    recall.release()
    bank.append(*new_frames(8))
    assert [bank.tier_of(page) for page in range(6)] == [
        "dram",
        "device",
        "dropped",
        "dropped",
        "dropped",
        "device",
    ]
    assert len(bank.take_notices()) == 1
    assert bank.take_notices() == ()
    bank.close()


def test_a_page_that_is_being_read_stays_where_it_is():
    bank = make_bank(device_pages=1, dram_pages=2)
    bank.begin_chunk(prompt(0), "a")
    bank.append(*new_frames(16))
    fork = bank.fork()
    newest, oldest = bank.recall([1]), bank.recall([0])  # the device is pinned full: page 0 is read in DRAM
    kept = oldest.pages[0].keys.clone()
    views = oldest.pages[0]
    newest.release()
    with fork.recall([0]) as again:
        assert torch.equal(again.pages[0].keys, kept)
        bank.append(*new_frames(16))
        assert torch.equal(views.keys, kept)
    assert bank.tier_of(0) == "dram"
    oldest.release()
    bank.recall([0]).release()
    assert bank.tier_of(0) == "device"
    fork.close()
    bank.close()


def test_pins_outlive_the_bank_that_made_them():
    bank = make_bank(device_pages=3)
    bank.begin_chunk(prompt(0), "a")
    bank.append(*new_frames(16))
    fork = bank.fork()
    bank.append(*new_frames(8))  # a page of the bank alone
    recall = bank.recall([0, 2])
    kept = {page: data.keys.clone() for page, data in recall.pages.items()}
    views = dict(recall.pages)
    bank.close()
    fork.append(*new_frames(24))
    for page, data in views.items():
        assert torch.equal(data.keys, kept[page])
    recall.release()
    fork.append(*new_frames(24))
    assert [fork.tier_of(page) for page in range(8)] == ["dropped"] * 5 + ["device"] * 3
    last = fork.recall([6])
    fork.close()
    last.release()


def test_recall_lifts_and_least_recently_used_goes():
    bank = make_bank(device_pages=2, dram_pages=2)
    bank.begin_chunk(prompt(0), "a")
    bank.append(*new_frames(32))
    assert [bank.tier_of(page) for page in range(4)] == ["dram", "dram", "device", "device"]
    bank.recall([0]).release()
    assert [bank.tier_of(page) for page in range(4)] == ["device", "dram", "dram", "device"]
    bank.recall([3]).release()
    bank.recall([1]).release()
    assert [bank.tier_of(page) for page in range(4)] == ["dram", "device", "dram", "device"]
    device, dram, *_ = bank.usage()
    assert (device.hits, dram.hits, device.drops, dram.drops) == (1, 2, 0, 0)
    assert dram.read_bytes == 2 * PAGE_BYTES
    assert device.written_bytes == 6 * PAGE_BYTES
    bank.close()


def test_dropped_pages_are_no_candidates():
    bank = make_bank(device_pages=2)
    bank.begin_chunk(prompt(0), "a")
    bank.append(*new_frames(40))
    result = bank.retrieve(torch.randn(2, 2, 4), prompt(0), policy="recent")
    assert result.candidates == (3, 4)
    assert len(bank.pages) == 5
    with bank.recall([0, 3]) as recall:
        assert recall.missed == (0,)
    assert bank.usage()[-1].misses == 1


def test_forks_share_pages_and_go_their_own_ways():
    bank, model = make_bank(device_pages=3, dram_pages=20), Model()
    bank.begin_chunk(prompt(0), "a")
    model.begin(bank._chunk.hash)
    for count in (3, 9, 8):
        keys, values = new_frames(count)
        bank.append(keys, values)
        model.append(keys, values)
    fork, fork_model = bank.fork(), Model()
    fork_model.__dict__.update({k: list(v) if isinstance(v, list) else v for k, v in model.__dict__.items()})
    before = sum(tier.pages for tier in bank.usage())
    for world, twin in ((bank, model), (fork, fork_model)):
        for count in (5, 3, 3, 7):
            keys, values = new_frames(count)
            world.append(keys, values)
            twin.append(keys, values)
    for world, twin in ((bank, model), (fork, fork_model)):
        check(world, twin)
        assert check_recall(world, twin, range(len(twin.pages))) == ()
    assert sum(tier.pages for tier in bank.usage()) == before + 2 * (len(model.pages) - 2)
    bank.close()
    assert check_recall(fork, fork_model, range(len(fork_model.pages))) == ()
    assert sum(tier.pages for tier in fork.usage()) == len(fork_model.pages)
    fork.close()


@pytest.mark.parametrize("pages", [20, 63, 64])
def test_fork_indexes_are_apart(pages):
    bank = make_bank()
    bank.begin_chunk(prompt(0), "a")
    bank.append(*new_frames(8 * pages))
    fork = bank.fork()
    before = bank._index.means.clone()
    new = {fork: new_frames(16), bank: new_frames(24)}
    for world, (keys, values) in new.items():
        world.append(keys, values)
    for world, (keys, _) in new.items():
        means = keys[[0, 2]].float().unflatten(1, (-1, 16)).mean(dim=2).transpose(0, 1)
        assert torch.equal(world._index.means[:pages], before)
        assert torch.allclose(world._index.means[pages:], means, atol=1e-6)


def test_snapshot_banks_the_window_as_a_chunk():
    config = {
        "authors_layout": True,
        "recalled_pages": 4,
        "stage1_width": 1,
        "sink_frames": 0,
        "min_recent_frames": 0,
    }
    bank = make_bank(**config)
    for switch, (seed, frames) in enumerate(((0, 21), (1, 32)), start=1):
        keys, values = new_frames(frames)
        index = torch.randn(2, frames * 2, 2, 4)
        bank.snapshot(
            keys,
            values,
            index,
            frames_done=30 * switch,
            prompt_vector=prompt(seed),
            prompt_text=f"{seed}",
            block=9,
        )
    assert [(p.first_frame, p.frames, p.chunk_id) for p in bank.pages] == [
        (9, 8, 0), (17, 8, 0), (25, 5, 0), (28, 8, 1), (36, 8, 1), (44, 8, 1), (52, 8, 1),
    ]  # fmt: skip
    assert torch.allclose(bank._index.means[6], index[:, 48:].mean(dim=1))
    with bank.recall([6, 3]) as recall:
        assert torch.equal(recall.pages[6].keys, keys[:, 48:])
        assert torch.equal(recall.pages[3].values, values[:, :16])
    assert bank.retrieve(torch.randn(2, 2, 4), prompt(0)).chosen == (0, 1, 2)
    assert bank.retrieve(torch.randn(2, 2, 4), prompt(1)).chosen == (3, 4, 5, 6)


def test_wrong_use_is_refused():
    bank = make_bank()
    with pytest.raises(ValueError, match="chunk"):
        bank.append(*new_frames(1))
    bank.begin_chunk(prompt(0), "a")
    keys, _ = new_frames(2)
    for bad in (keys[:, :3], keys[:2], keys[..., :2], keys[None]):
        with pytest.raises(ValueError, match="expected"):
            bank.append(bad, bad)
    with pytest.raises(ValueError, match="finite"):
        bank.begin_chunk(torch.tensor([float("nan")]), "b")
    assert (bank.frames_done, len(bank.pages)) == (0, 0)
