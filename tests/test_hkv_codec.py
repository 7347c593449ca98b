"""Codecs of pages: what they keep, what they may lose, and how pages in DRAM and files hold them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.banks import SHAPE, fill, make_bank, tiers_of, usage
from tests.fake_time import Time
from worldattention.core.hkv import moves
from worldattention.core.hkv.codec import CODECS, encode_page, lay_out, page_bytes
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.moves import SideStream
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.page_file import PageFileError, PageKey, read_page, write_page

STEP = {"fp8": 2.0**-4, "int8": 0.5 / 127}  # half a unit in e4m3's last place; half a code of the largest


def coded(data, shape, name):
    size = page_bytes(CODECS[name], shape, data.info.frames)
    page = lay_out(data.info, shape, CODECS[name], torch.empty(size, dtype=torch.uint8))
    encode_page(data, page)
    return page


def a_page(shape, frames, scale=1.0):
    keys, values = (scale * torch.randn(2, *shape.tensor(frames))).to(shape.dtype)
    return PageData(PageInfo(3, 8, frames, 0, 0), keys, values)


@settings(max_examples=40, deadline=None)
@given(
    layers=st.integers(1, 3), tokens=st.integers(1, 5), heads=st.integers(1, 3), dim=st.integers(1, 9),
    frames=st.integers(1, 8), dtype=st.sampled_from([torch.bfloat16, torch.float16, torch.float32]),
    name=st.sampled_from(["bf16", "fp8", "int8"]),
)  # fmt: skip
def test_what_comes_back(layers, tokens, heads, dim, frames, dtype, name):
    shape = KVShape(layers, tokens, heads, dim, dtype)
    page = a_page(shape, frames)
    back = coded(page, shape, name).decode()
    assert back.keys.dtype == dtype
    for real, got in ((page.keys, back.keys), (page.values, back.values)):
        if name == "bf16":
            assert torch.equal(real, got)
            continue
        largest = real.float().abs().amax(-1, keepdim=True)
        unit = real.float().abs().clamp_min(1e-3) if name == "fp8" else largest
        allowed = STEP[name] * unit * 1.02 + 2.0**-8 * largest * (dtype != torch.float32)
        allowed = allowed + largest * 2.0**-9 / 448 * (name == "fp8") * 2
        assert ((real.float() - got.float()).abs() <= allowed).all()


@pytest.mark.parametrize("name", ["fp8", "int8"])
def test_a_loud_token_costs_the_others_nothing_and_zeros_stay(name):
    shape = KVShape(2, 4, 2, 8, torch.float32)
    page = a_page(shape, 2)
    page.keys[:, 3] *= 1e4
    page.keys[:, 5] = 0
    back = coded(page, shape, name).decode()
    quiet = [token for token in range(8) if token not in (3, 5)]
    error = (back.keys - page.keys)[:, quiet].norm() / page.keys[:, quiet].norm()
    assert error < 0.05
    assert (back.keys[:, 5] == 0).all()
    assert not back.keys.isnan().any()


@pytest.mark.parametrize("name", ["fp8", "int8"])
def test_coded_pages_are_half_the_size_and_bit_equal_in_dram_and_files(tmp_path, name):
    """A page is coded once, where it leaves the device; from DRAM to a file and back its bytes are the same."""
    bank = make_bank(tmp_path, device=1, dram=1, disk=50, codec=name)
    frames = fill(bank, 6)
    bank._store.flush()
    assert tiers_of(bank) == ["disk"] * 4 + ["dram", "device"]
    with bank.recall(range(6)) as recall:
        for page, data in recall.pages.items():
            part = slice(16 * page, 16 * page + 16)
            exact = PageData(PageInfo(0, 0, 8, 0, 0), frames[0][:, part], frames[1][:, part])
            once = exact if page == 5 else coded(exact, SHAPE, name).decode()
            assert torch.equal(data.keys, once.keys)
            assert torch.equal(data.values, once.values)
    assert usage(bank).written_bytes == 4 * page_bytes(CODECS[name], SHAPE, 8)
    bank.close()


def test_a_file_of_another_codec_is_another_page(tmp_path):
    page = a_page(SHAPE, 4)
    keys = {name: PageKey(bytes(16), 1, "pocket", SHAPE, 4, codec) for name, codec in CODECS.items()}
    for name in ("fp8", "int8"):
        write_page(tmp_path / f"{name}.page", keys[name], coded(page, SHAPE, name).parts, DiskIO())
    other = coded(page, SHAPE, "int8").parts
    with pytest.raises(PageFileError, match="another page"):
        read_page(tmp_path / "fp8.page", keys["int8"], other, DiskIO())
    read_page(tmp_path / "int8.page", keys["int8"], other, DiskIO())


def test_a_page_written_through_is_coded_on_its_way(tmp_path):
    bank = make_bank(tmp_path, device=4, dram=0, disk=50, codec="int8", write_through=True)
    frames = fill(bank, 4)
    bank._store.flush()
    assert tiers_of(bank) == ["device"] * 4
    assert usage(bank).written_bytes == 4 * page_bytes(CODECS["int8"], SHAPE, 8)
    fill(bank, 4)
    assert tiers_of(bank)[:4] == ["disk"] * 4
    bank._store.flush()
    exact = PageData(PageInfo(0, 0, 8, 0, 0), frames[0][:, :16], frames[1][:, :16])
    with bank.recall([0]) as recall:
        assert torch.equal(recall.pages[0].keys, coded(exact, SHAPE, "int8").decode().keys)
    bank.close()


@pytest.mark.parametrize("name", ["fp8", "int8"])
def test_a_page_is_coded_layer_by_layer_with_a_rest_behind_each(name):
    shape = KVShape(3, 4, 2, 8, torch.bfloat16)
    whole = coded(a_page(shape, 2), shape, "bf16")
    at_once, in_turns = (coded(a_page(shape, 2), shape, name) for _ in range(2))
    whole.copy_into(at_once)
    done = []

    def rest():
        layers = range(shape.layers)
        done.append([torch.equal(at_once.parts[layer], in_turns.parts[layer]) for layer in layers])

    whole.copy_into(in_turns, rest)
    assert done == [[True, False, False], [True, True, False], [True] * 3]
    in_turns.copy_into(at_once, rest)  # bytes as they are: nothing to rest from
    assert len(done) == 3


def test_a_rest_takes_three_times_as_long_as_the_work_before_it(monkeypatch):
    """Pages that make way take a quarter of the time at most."""

    class Stream:
        """A GPU that takes 3 ms for what it was told."""

        def synchronize(self):
            clock.now += 0.003

    clock, side = Time(), SideStream()
    monkeypatch.setattr(moves, "time", clock)
    side.rest()
    assert clock.now == 100.0  # on a CPU there is nothing to rest from
    monkeypatch.setattr(side, "_stream", Stream())
    monkeypatch.setattr(side, "_rested", clock.now)
    for layer in range(1, 5):
        side.rest()
        assert clock.now == pytest.approx(100.0 + 0.012 * layer)
