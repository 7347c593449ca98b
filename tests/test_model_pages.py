"""Quotas that nobody asked for hold pages of the model that is to be run, large or small."""

from dataclasses import replace

import psutil
import pytest
import torch

from tests.toy import HashEncoder
from tests.wan_folder import save_wan_folder
from worldattention.core.config import GIB, MIB, CacheConfig
from worldattention.core.hkv import quotas
from worldattention.core.hkv.quotas import fit_quotas
from worldattention.core.loading import load_model
from worldattention.core.memory import kv_shape
from worldattention.core.model_pages import page_bytes_of

CPU = torch.device("cpu")
WAN_PAGE = 8 * 2 * 30 * 1560 * 12 * 128 * 2


@pytest.fixture
def machine(monkeypatch):
    """256 GB of memory, 500 GB of free disk."""
    memory = psutil.virtual_memory()._replace(total=256_000_000_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(quotas, "free_bytes", lambda folder: 500_000_000_000)


def quota_bytes(cache):
    return cache.device_quota_bytes, cache.dram_quota_bytes, cache.disk_quota_bytes


def test_a_page_is_as_large_as_the_loaded_model_makes_it(tmp_path):
    shape = kv_shape(load_model("pocket", "cpu", text_encoder=HashEncoder()))
    assert page_bytes_of("pocket", CPU, 8) == 8 * shape.frame_bytes()


def test_a_page_of_a_folder_follows_its_picture(tmp_path):
    folder = save_wan_folder(tmp_path / "wan")
    shape = kv_shape(load_model(str(folder), "cpu", text_encoder=HashEncoder()))
    assert page_bytes_of(str(folder), CPU, 4) == 4 * shape.frame_bytes()


@pytest.mark.parametrize("text", ["", "[]", '{"num_layers": "many"}', '{"num_layers": 3}'])
def test_a_broken_folder_says_nothing(tmp_path, text):
    (tmp_path / "transformer").mkdir()
    (tmp_path / "transformer" / "config.json").write_text(text)
    assert page_bytes_of(str(tmp_path), CPU, 8) == 0
    assert page_bytes_of(str(tmp_path / "nowhere"), CPU, 8) == 0


def test_small_pages_leave_the_defaults(machine, tmp_path):
    fitted, warnings = fit_quotas(CacheConfig(), "cpu", tmp_path, page_bytes=12 * MIB)
    assert quota_bytes(fitted) == quota_bytes(CacheConfig())
    assert not warnings


def test_large_pages_get_a_minute_of_memory(machine, tmp_path):
    fitted, _ = fit_quotas(CacheConfig(), "cpu", tmp_path, page_bytes=WAN_PAGE)
    assert quota_bytes(fitted) == (4 * WAN_PAGE, 30 * WAN_PAGE, 60 * WAN_PAGE)


def test_a_small_machine_gives_no_more_than_its_part(machine, tmp_path, monkeypatch):
    memory = psutil.virtual_memory()._replace(total=32 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(quotas, "free_bytes", lambda folder: 100 * GIB)
    fitted, _ = fit_quotas(CacheConfig(), "cpu", tmp_path, page_bytes=WAN_PAGE)
    assert quota_bytes(fitted) == (4 * GIB, 16 * GIB, 50 * GIB)


def test_what_was_asked_for_stays(machine, tmp_path):
    asked = replace(CacheConfig(), dram_quota_bytes=3 * GIB)
    fitted, _ = fit_quotas(asked, "cpu", tmp_path, ["dram"], page_bytes=WAN_PAGE)
    assert fitted.dram_quota_bytes == 3 * GIB
    assert fitted.device_quota_bytes == 4 * WAN_PAGE
