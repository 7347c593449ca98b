"""`bench playback` at toy size: a past of pages, recalls out of it, and frames that are counted when they are late."""

import json
from contextlib import closing

import pytest
import torch

from tests.fake_time import Time
from tests.toy import toy_engine
from worldattention.app.cli import main
from worldattention.app.commandline.bench_playback import table
from worldattention.core.config import EngineConfig
from worldattention.core.evaluation import bench_playback
from worldattention.core.evaluation.bench_moves import moves
from worldattention.core.evaluation.bench_playback import Clock, Play, with_tiers
from worldattention.core.hkv import page_lock
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.page_lock import PageLock

TOY = ["--random-weights", "toy", "--device", "cpu", "--scene-blocks", "1", "--past-seconds", "18"]


@pytest.fixture
def clock(monkeypatch):
    time = Time()
    monkeypatch.setattr(bench_playback, "time", time)
    return time


def test_blocks_in_time_show_no_late_frame(clock):
    player = Clock(pace=True)
    for _ in range(10):
        clock.now += 0.7
        player.show(12)
    assert (player.late_frames, player.frames) == (0, 120)
    assert player.waits_ms[1:] == pytest.approx([50.0] * 9)


def test_late_frames_are_counted_and_the_clock_goes_on_from_there(clock):
    player = Clock(pace=True)
    player.show(12)
    clock.now += 0.75 + 0.25  # four frames of 62.5 ms
    player.show(12)
    assert player.late_frames in (4, 5)
    clock.now += 0.7
    player.show(12)
    assert player.late_frames in (4, 5)


@pytest.mark.parametrize("source", ["dram", "disk"])
def test_pages_come_back_out_of_a_long_past(capsys, monkeypatch, source):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert main(["bench", "playback", *TOY, "--pages-from", source, "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["past_pages"] >= 9
    assert record["past_bytes"][source] > 0
    assert record["frames"] == 36
    recalled = [tier for row in record["blocks"] for tier in row["recalled"].values()]
    assert source in recalled
    assert not any(row["missed"] for row in record["blocks"])
    lines = table({**record, "slowdown": {"slowdown": 0.012}, "device_memory": {"least": 1e9, "most": 2e9}})
    assert any(f"from {source}" in line for line in lines)
    assert "Denoising beside moving pages: 1.2 % slower" in lines


def test_quotas_hold_the_past_where_it_shall_lie():
    from worldattention.core.evaluation.made_up import SIZES, made_up_model

    model = made_up_model(SIZES["toy"], torch.device("cpu"))
    dram = with_tiers(model, EngineConfig(), Play(source="dram")).cache
    disk = with_tiers(model, EngineConfig(), Play(source="disk")).cache
    assert (dram.disk_quota_bytes, disk.dram_quota_bytes) == (0, 0)
    assert dram.dram_quota_bytes == disk.disk_quota_bytes > 30 * dram.device_quota_bytes / 8


class Driver:
    """A CUDA runtime that registers memory, or refuses."""

    def __init__(self, status):
        self.status, self.locked = status, {}

    def cudaHostRegister(self, address, size, flags):
        self.locked[address] = size
        return self.status

    def cudaHostUnregister(self, address):
        del self.locked[address]
        return 0


@pytest.fixture
def driver(monkeypatch):
    driver = Driver(0)
    monkeypatch.setattr(torch.cuda, "cudart", lambda: driver)
    monkeypatch.setattr(torch.cuda, "check_error", lambda status: None if status == 0 else refuse())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor: tensor.data_ptr() in driver.locked)
    return driver


def refuse():
    raise RuntimeError("refused")


def test_locked_memory_has_exactly_the_size_asked_for(driver):
    lock = PageLock(5000)
    assert lock.memory.shape == (5000,)
    assert not lock.memory.any()
    assert list(driver.locked.values()) == [5000]
    lock.memory[4999] = 7
    lock.free()
    assert not driver.locked
    assert lock.memory.numel() == 0


def test_memory_that_cannot_be_registered_is_taken_from_torch(driver, monkeypatch):
    driver.status = 1
    asked = []
    empty = torch.empty
    monkeypatch.setattr(
        page_lock.torch,
        "empty",
        lambda size, pin_memory=False, **kind: asked.append(pin_memory) or empty(size, **kind),
    )
    lock = PageLock(64)
    assert asked == [True]
    lock.free()


@pytest.mark.parametrize("codec", ["bf16", "fp8"])
def test_a_page_is_written_while_another_is_read(tmp_path, monkeypatch, codec):
    read = []
    disk_read = DiskIO.read
    monkeypatch.setattr(DiskIO, "read", lambda *given: read.append(disk_read(*given)) or read[-1])
    with closing(toy_engine(folder=tmp_path)) as engine, moves(engine, codec, "disk") as (start, finish):
        [first] = tmp_path.rglob("*.page")
        assert not read
        for _ in range(2):
            start()
            finish()
        assert sum(read) == 2 * first.stat().st_size
        assert [first] == list(tmp_path.rglob("*.page"))
    assert not first.exists()
