"""`soak`: what it watches, and that it can fail."""

import json
from dataclasses import replace
from itertools import count

import pytest

from tests.fakes_cli import FakeEngine
from tests.toy import toy_engine
from worldattention.app.cli import main
from worldattention.core import loading
from worldattention.core.errors import Cancelled
from worldattention.core.soak import (
    MOST_GROWTH_BYTES,
    PROMPTS,
    Sample,
    cpu_ms,
    growth,
    held,
    missed_goals,
    soak,
    speed,
)
from worldattention.core.units import parse_bytes


class Clock:
    """Two seconds a look: a world of 12 frames a block is at 6 frames a second."""

    def __init__(self) -> None:
        self._now = count(0, 2)

    def __call__(self) -> float:
        return float(next(self._now))


@pytest.fixture(scope="module")
def report():
    return soak(FakeEngine(), 400, clock=Clock())


def test_prompts_switch_every_ten_seconds_of_video():
    engine = FakeEngine()
    report = soak(engine, 200, clock=Clock())
    assert report.blocks == len(engine.prompts) == 100
    first = [0]  # frame at which each block begins
    for block in range(99):
        first.append(first[-1] + engine.geometry.frames_of_block(block))
    assert engine.prompts == [PROMPTS[frame // 160 % len(PROMPTS)] for frame in first]
    assert (
        report.switches == sum(a != b for a, b in zip(engine.prompts, engine.prompts[1:], strict=False)) > 5
    )


def test_a_steady_world_keeps_its_speed(report):
    assert (report.seconds, report.minute_s) == (400, 60)
    assert report.second_minute_fps == pytest.approx(6)
    assert report.last_minute_fps == pytest.approx(6)
    assert report.speed_kept == pytest.approx(1)
    assert not any("speed" in missed for missed in report.missed)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"growth_bytes_per_minute": 1_000_000.0}, "memory grew by 1.00 MB a minute"),
        ({"descriptors": (20, 21)}, "open descriptors went between 20 and 21"),
        ({"threads": (4, 9)}, "open threads went between 4 and 9"),
        ({"last_minute_fps": 5.8}, "the last minute had 0.967 of the second one's speed"),
    ],
)
def test_every_goal_can_be_missed(report, change, words):
    kept = replace(report, growth_bytes_per_minute=MOST_GROWTH_BYTES - 1.0)
    assert missed_goals(kept) == []
    (missed,) = missed_goals(replace(kept, **change))
    assert words in missed


def test_growth_and_speed_of_known_samples():
    samples = [Sample(float(s), 10 * s, 5_000_000 + 50_000 * s, 9, 2, 0.5 * s) for s in range(1, 200)]
    assert growth(samples) == pytest.approx(3_000_000)
    assert growth(samples[:1]) == 0
    assert speed(samples, 0.5, 60.5) == pytest.approx(10)
    assert cpu_ms(samples, 60, 120) == pytest.approx(50)


@pytest.mark.parametrize(
    ("open_files", "expected"),
    [
        (lambda second: 9 + (second % 7 == 0), (9, 9)),  # a page file now and then
        (lambda second: 9 + second // 100, (10, 12)),  # one more every 100 seconds, never closed
        (lambda second: 9 + (second >= 300), (9, 10)),
        (lambda second: 9 + (second == 309), (9, 9)),
    ],
)
def test_descriptors_are_those_held_through_a_minute(open_files, expected):
    samples = [Sample(float(s), 10 * s, 5_000_000, open_files(s), 2) for s in range(120, 370)]
    assert held(samples, 60, lambda sample: sample.descriptors) == expected
    assert held(samples[:1], 60, lambda sample: sample.threads) == (2, 2)


def test_cancelled():
    with pytest.raises(Cancelled):
        soak(FakeEngine(), 10, cancel=lambda: True)


def test_case_08_the_command_runs_a_small_world_over_full_quotas(monkeypatch, tmp_path, capsys):
    opened = []

    def open_toy(model, device, config, progress=None):
        assert config.cache.disk_quota_bytes == parse_bytes("400K")
        cache = config.cache
        engine = toy_engine(
            folder=tmp_path, dram_quota_bytes=cache.dram_quota_bytes, disk_quota_bytes=400_000
        )
        opened.append(engine)
        return engine

    monkeypatch.setattr(loading, "open_engine", open_toy)
    status = main(
        [
            "soak",
            "--minutes",
            "0.03",
            "--dram-quota",
            "100K",
            "--disk-quota",
            "400K",
            "--device",
            "cpu",
            "--json",
        ]
    )
    printed = capsys.readouterr()
    record = json.loads(printed.out.splitlines()[-1])
    assert status == (1 if record["missed"] else 0)
    assert ("keep a world steady" in printed.err) == bool(record["missed"])
    assert record["seconds"] >= 1.8
    assert record["frames"] == 12 * record["blocks"]
    assert {tier["name"] for tier in record["tiers"]} == {"device", "dram", "disk"}
    assert opened[0].config.cache.device_quota_bytes == 64 << 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.endurance
def test_case_07_ten_minutes_of_the_pocket_world_are_steady(capsys):
    assert main(["soak", "--minutes", "10", "--device", "cpu", "--json"]) == 0, capsys.readouterr().err
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["missed"] == []
    assert record["blocks"] > 100
