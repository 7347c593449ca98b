"""case_5, case_6: memory that runs out anywhere, once or for good, costs a retry or a page, never the world."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.banks import fill, make_bank, same_page, usage
from tests.toy import toy_config, toy_engine, toy_model
from worldattention.app.cli import _explain
from worldattention.app.faults import explain
from worldattention.core import heap
from worldattention.core.fitting import fitting_engine
from worldattention.core.hkv import tiers, window
from worldattention.core.hkv.moves import SideStream
from worldattention.core.models.vae import PocketStreamingDecoder
from worldattention.core.out_of_memory import bytes_asked, is_out_of_memory, with_less
from worldattention.core.passes import Passes
from worldattention.core.session import Session
from worldattention.core.timeline import Event, make_timeline

GPU_FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.20 GiB.")
CPU_FULL = RuntimeError(
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 123456 bytes. Error code 12"
)
TIMELINE = make_timeline(
    [Event(1, 0, 4, "red ball"), Event(2, 4, 8, "blue house"), Event(3, 8, 30, "red ball")]
)
BLOCKS = 14


class Failing:
    """A function that finds no memory at its calls from `first` on, `times` of them."""

    def __init__(self, real, error, first, times):
        self.calls, self.hits = 0, 0
        self._real, self._error, self._first, self._times = real, error, first, times

    def __get__(self, owner, kind=None):
        return lambda *arguments, **options: self(owner, *arguments, **options)

    def __call__(self, *arguments, **options):
        self.calls += 1
        if self.calls > self._first and self.hits < self._times:
            self.hits += 1
            raise self._error.with_traceback(None)
        return self._real(*arguments, **options)


def quotas(folder):
    page_bytes = 8 * 6144
    return {"device_quota_bytes": page_bytes, "dram_quota_bytes": page_bytes, "folder": folder}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Frames of the world when nothing fails."""
    session = Session(toy_engine(**quotas(tmp_path_factory.mktemp("cache"))), TIMELINE)
    frames = [session.step().frames for _ in range(BLOCKS)]
    session.close()
    return frames


IN_A_BLOCK = {
    "first pass": (Passes, "predict", 0),
    "recall": (window.Window, "install", 6),
    "denoising": (Passes, "predict", 27),
    "context pass": (Passes, "clean", 6),
    "decoder": (PocketStreamingDecoder, "decode_block", 6),
}


@pytest.mark.parametrize("error", [GPU_FULL, CPU_FULL])
@pytest.mark.parametrize("site", IN_A_BLOCK)
def test_case_05_a_block_is_tried_once_more_and_the_world_stays_the_same(
    tmp_path, monkeypatch, expected, site, error
):
    owner, name, first = IN_A_BLOCK[site]
    session = Session(toy_engine(**quotas(tmp_path)), TIMELINE)
    failing = Failing(getattr(owner, name), error, first, 1)
    monkeypatch.setattr(owner, name, failing)
    for block in range(8):
        assert np.array_equal(session.step().frames, expected[block])
    assert failing.hits == 1
    assert not session.engine.small
    failing.calls, failing.hits, failing._first, failing._times = 0, 0, 0, 3
    with pytest.raises(type(error)) as told:
        session.step()
    assert failing.hits == 3
    assert session.block == 8
    for words in (explain(told.value), _explain(told.value)):
        assert any(amount in words for amount in ("9.88 GB", "123 kB"))
        assert any(tier in words for tier in ("L1", "L2"))
    for block in range(8, BLOCKS):  # the engine is usable, with the smaller window
        assert session.step().telemetry.block == block
    session.close()


@pytest.mark.parametrize(
    ("owner", "name"), [(tiers, "encode_page"), (tiers.PoolTier, "_new_slab"), (SideStream, "run")]
)
def test_case_06_a_page_without_memory_is_lost_counted_and_never_another(tmp_path, monkeypatch, owner, name):
    for first in range(6):
        bank = make_bank(tmp_path / f"{first}", device=2, dram=2)
        with monkeypatch.context() as patch:
            failing = Failing(getattr(owner, name), GPU_FULL, first, 1)
            patch.setattr(owner, name, failing)
            frames = fill(bank, 9)
            bank._store.flush()
        gone = [page for page in range(9) if bank.tier_of(page) == "dropped"]
        assert len(gone) <= failing.hits <= 1
        with bank.recall(range(9)) as recall:
            assert list(recall.missed) == gone
            assert all(same_page(data, frames, page) for page, data in recall.pages.items())
        assert sum(tier.drops for tier in bank.usage()) == len(gone)
        assert usage(bank).active
        bank.close()


def test_a_page_that_cannot_be_decoded_is_a_miss_and_stays(tmp_path, monkeypatch):
    bank = make_bank(tmp_path, device=0, dram=4, codec="int8")
    fill(bank, 3)
    with monkeypatch.context() as patch:
        patch.setattr(heap, "_map", Failing(heap._map, GPU_FULL, 0, 1))
        with bank.recall([0, 1]) as recall:
            assert recall.missed == (0,)
    with bank.recall([0, 1]) as recall:
        assert recall.missed == ()
    assert usage(bank, "dram").misses == 1
    bank._store.flush()
    assert all(entry.pins == 0 for entry in bank._store._entries.values())
    bank.close()


@pytest.mark.parametrize("error", [GPU_FULL, CPU_FULL])
@pytest.mark.parametrize(
    "call", range(5), ids=["ring", "first frames", "open page", "window keys", "window values"]
)
def test_case_06_what_a_world_needs_from_its_start_is_tried_smaller_once(tmp_path, monkeypatch, call, error):
    config, model = toy_config(**quotas(tmp_path)), toy_model()
    with monkeypatch.context() as patch:
        patch.setattr(heap, "_map", Failing(heap._map, error, call, 1))
        engine = fitting_engine(model, config)
    assert engine.config.cache.budget_frames == 16
    assert "smaller" in engine.step("red ball").telemetry.notices[0]
    engine.close()


def test_only_a_lack_of_memory_is_tried_again():
    def other():
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        with_less(other, lambda: pytest.fail("no room was asked for"))
    assert with_less(lambda: 5, lambda: pytest.fail("none needed")) == 5
    assert is_out_of_memory(MemoryError())
    assert bytes_asked(str(CPU_FULL)) == 123456
    assert bytes_asked("no") is None
