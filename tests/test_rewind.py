"""Going back to any block: equal frames with all pages, a plain word where pages are gone."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace

import pytest
import torch

from tests.toy import toy_engine, toy_model
from worldattention.core import loading
from worldattention.core.config import MIB, CacheConfig, EngineConfig, preset_config, with_choices
from worldattention.core.engine import Engine
from worldattention.core.memory import kv_shape
from worldattention.core.models.vae import AutoencoderConfig, PocketAutoencoder, PocketStreamingDecoder
from worldattention.core.models.world import WorldModel
from worldattention.core.session import Session
from worldattention.core.telemetry import BlockResult
from worldattention.core.timeline import Timeline

HOUSE, TOWER = "a red house by the sea", "tall tower under snow tonight"
BLOCK_S = 0.75
STORY = [HOUSE] * 13 + [TOWER] * 9 + [HOUSE + " again"] * 6


def digest(result: BlockResult) -> str:
    return hashlib.sha256(result.frames.tobytes()).hexdigest()


def run(engine: Engine, prompts: list[str]) -> list[str]:
    return [digest(engine.step(prompt)) for prompt in prompts]


def model_with_memory() -> WorldModel:
    """The toy model with a decoder whose picture depends on all the latents that it may depend on."""
    autoencoder = PocketAutoencoder(AutoencoderConfig(4, (8, 8, 8), (8, 8, 8))).eval()
    for parameter in autoencoder.parameters():
        parameter.requires_grad_(False).normal_(std=0.15)
    device = torch.device("cpu")
    return replace(
        toy_model(), new_decoder=lambda: PocketStreamingDecoder(autoencoder, device, torch.float32)
    )


def page_bytes() -> int:
    return 8 * kv_shape(toy_model()).frame_bytes()


def test_any_block_goes_on_with_equal_frames(tmp_path) -> None:
    quotas = {
        "device_quota_bytes": 2 * page_bytes(),
        "dram_quota_bytes": 3 * page_bytes(),
        "folder": tmp_path,
    }
    engine = toy_engine(3, model_with_memory(), **quotas)
    straight = run(engine, STORY)
    for block in (0, *random.sample(range(1, len(STORY)), 3), len(STORY)):
        other = engine.fork_at(block)
        assert other.block == block
        assert run(other, STORY[block : block + 5]) == straight[block : block + 5]
        assert not other.approximate
        assert list(other.records) == list(engine.records[: block + 5])
        other.close()
    engine.close()


@pytest.mark.endurance
def test_twenty_random_blocks_of_the_pocket_world_go_on_with_equal_frames() -> None:
    """Two minutes of the real world, three scenes that come back, and quotas that send pages to disk."""
    cache = replace(CacheConfig(), device_quota_bytes=64 * MIB, dram_quota_bytes=96 * MIB)
    engine = loading.open_engine("pocket", "cpu", EngineConfig(seed=11, cache=cache))
    scenes = (
        "A man in a red shirt waves hello in a village street on a bright day.",
        "A woman in a yellow shirt flies a kite in the city in the morning.",
        "A man in a blue shirt juggles on a beach at night.",
    )
    timeline = Timeline()
    for number in range(20):
        timeline = timeline.add(6.0 * number, 6.0 * (number + 1), scenes[number * 7 % 3])
    session = Session(engine, timeline)
    straight = [digest(session.step()) for _ in range(160)]
    for block in random.sample(range(157), 20):
        other = engine.fork_at(block)
        back = Session(other, timeline)
        assert [digest(back.step()) for _ in range(3)] == straight[block : block + 3], block
        assert not other.approximate
        back.close()
    session.close()


def test_a_rewind_restores_every_tensor_that_matters() -> None:
    """The state after a rewind, part by part, against that of a world that never went further."""
    model = model_with_memory()
    engine = toy_engine(3, model)
    run(engine, STORY[:24])
    block = random.randrange(15, 23)
    fresh = toy_engine(3, model)
    run(fresh, STORY[:block])
    back = engine.fork_at(block)
    ours, theirs = back._memory, fresh._memory
    assert ours.bank.pages == theirs.bank.pages
    assert ours.bank.open_frames == theirs.bank.open_frames
    tokens = ours.bank.open_frames * model.geometry.frame_tokens
    assert torch.equal(ours.bank._open.buffer[:, :, :tokens], theirs.bank._open.buffer[:, :, :tokens])
    if tokens:
        assert ours.bank._open.first_frame == theirs.bank._open.first_frame
        assert torch.equal(ours.bank._open.mean.fork().take(), theirs.bank._open.mean.fork().take())
    frames = range(max(0, 3 * block - 32), 3 * block)
    for first, count in ((0, 3), (frames.start, len(frames))):
        for mine, other in zip(ours._frames(first, count), theirs._frames(first, count), strict=True):
            assert torch.equal(mine, other)
    for mine, other in zip(back._decoder.state(), fresh._decoder.state(), strict=True):
        assert torch.equal(mine, other)


def test_settings_that_were_switched_in_between_are_those_of_then_until_others_are_chosen() -> None:
    model = toy_model()
    session = Session(toy_engine(4, model), Timeline().add(0, 60, HOUSE))
    straight = [digest(session.step()) for _ in range(3)]
    session.configure(with_choices(session.engine.config, attention="dense"))
    straight += [digest(session.step()) for _ in range(3)]
    session.rewind(1, "Again")
    assert session.engine.config.attention.mode == "hsa"
    assert [digest(session.step()) for _ in range(5)] == straight[1:]
    session.rewind(1, "Otherwise")
    session.configure(with_choices(session.engine.config, retrieval="none"))
    assert [digest(session.step()) for _ in range(4)][2:] != straight[3:5]
    assert session.engine.config.attention.mode == "hsa"
    session.close()


def test_a_page_that_was_missed_then_is_missed_again() -> None:
    """Live, a slow disk decides which pages a block has; a rewind has the same ones (DESIGN 4)."""
    model = toy_model()
    timeline = Timeline().add(0, 13 * BLOCK_S, HOUSE).add(13 * BLOCK_S, 22 * BLOCK_S, TOWER)
    timeline = timeline.add(22 * BLOCK_S, 60, HOUSE + " again")
    session = Session(toy_engine(3, model), timeline)
    for _ in range(13):
        session.step()
    bank = session.engine._memory.bank
    store, there = bank._store, bank._store.acquire

    def acquire(handles):
        found = there(handles)
        store.release_pin(handles[0])
        return [None, *found[1:]]

    store.acquire = acquire
    missing = session.step()
    store.acquire = there
    assert missing.telemetry.recall is not None
    assert len(missing.telemetry.recall.missed) == 1
    straight = [digest(missing), *(digest(session.step()) for _ in range(3))]
    session.rewind(11, "Again")
    again = [session.step() for _ in range(6)]
    assert [digest(result) for result in again[2:]] == straight
    assert again[2].telemetry.recall.missed == missing.telemetry.recall.missed
    assert not again[-1].telemetry.approximate
    assert session.engine.records[13].missed == missing.telemetry.recall.missed
    untold = session.engine.fork_at(13)
    assert digest(untold.step(TOWER)) != straight[0]
    untold.close()
    session.close()


def test_without_its_pages_a_moment_is_approximate_and_says_so() -> None:
    quotas = {"device_quota_bytes": 2 * page_bytes(), "dram_quota_bytes": 0, "disk_quota_bytes": 0}
    engine = toy_engine(3, **quotas)
    straight = [engine.step(prompt) for prompt in STORY]
    back = engine.fork_at(9)
    results = [back.step(prompt) for prompt in STORY[9:12]]
    assert back.approximate
    assert all(result.telemetry.approximate for result in results)
    told = [notice for result in results for notice in result.telemetry.notices if "approximately" in notice]
    assert len(told) == 1
    apart = abs(results[0].frames.astype(float) - straight[9].frames).mean()
    other = abs(straight[20].frames.astype(float) - straight[9].frames).mean()
    assert apart < other  # what the latents tell is nearer than another moment
    assert not engine.fork_at(0).approximate
    engine.close()


def test_the_authors_world_goes_back_with_equal_frames_too() -> None:
    engine = Engine(toy_model(), preset_config("authors"))
    straight = run(engine, STORY[:26])
    for block in (0, 12, 15, 23):
        back = engine.fork_at(block)
        assert run(back, STORY[block:26]) == straight[block:]
        assert not back.approximate


@pytest.mark.parametrize("preset", ["playground", "authors"])
def test_a_world_is_lived_again_from_its_latents_bit_for_bit(preset: str) -> None:
    """One context pass a block restores keys and values exactly, as each has the window that it had."""
    model = model_with_memory()
    engine = Engine(model, replace(preset_config(preset), seed=6))
    run(engine, STORY[:24])
    again = Engine(model, replace(preset_config(preset), seed=6))
    for block, record in enumerate(engine.records):
        again.relive(record, engine.latents(block))
    again.restore_decoder()
    assert run(again, STORY[24:]) == run(engine, STORY[24:])
    assert list(again.records) == list(engine.records)
    assert not again.approximate


def test_as_many_latents_as_the_decoder_says_restore_its_state() -> None:
    model = model_with_memory()
    decoder = model.new_decoder()
    latents = torch.randn(6, 3, 4, 4, 8)
    for block in latents:
        decoder.decode_block(block)
    late = model.new_decoder()
    assert isinstance(late, PocketStreamingDecoder)
    for block in latents[-2:]:  # 6 latents, and 5 decide
        late.decode_block(block)
    for ours, theirs in zip(late.state(), decoder.state(), strict=True):
        assert torch.equal(ours, theirs)
    short = model.new_decoder()
    short.decode_block(latents[-1])
    assert not all(torch.equal(a, b) for a, b in zip(short.state(), decoder.state(), strict=True))


def test_a_fork_at_a_block_leaves_the_world_that_it_came_from_alone() -> None:
    model = toy_model()
    engine = toy_engine(3, model)
    run(engine, STORY[:15])
    back = engine.fork_at(7)
    run(back, ["quite another thing"] * 9)
    assert run(engine, STORY[15:20]) == run(toy_engine(3, model), STORY)[15:20]
    back.close()
    engine.close()
