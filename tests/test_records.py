"""Evaluations that are made in shares, ended early, and put together from what they wrote down."""

import json
from dataclasses import replace

import pytest

from tests.test_evaluation import Painter, PixelReader, true_parts, true_scene
from tests.test_recall import SMALL, Remembering, read
from worldattention.core.errors import Cancelled, UserError
from worldattention.core.evaluation.ablation import ablation_of_records, evaluate_ablation
from worldattention.core.evaluation.drift import DriftSettings, drift_of_records, evaluate_drift
from worldattention.core.evaluation.following import FollowingSettings, evaluate_following
from worldattention.core.evaluation.following_report import following_of_records
from worldattention.core.evaluation.recall import evaluate_recall
from worldattention.core.evaluation.recall_report import report_of_records
from worldattention.core.evaluation.records import Recorder, Share, agreed, read_records
from worldattention.core.evaluation.worlds import OneWorld


def in_shares(tmp_path, evaluate):
    """Runs `evaluate(share, recorder)` for each of three shares; the records of all, the last file first."""
    files = [tmp_path / f"{number}.jsonl" for number in (1, 2, 3)]
    for number, file in enumerate(files, 1):
        evaluate(Share(number, 3), Recorder(file))
    return files[::-1]


def test_shares_make_every_episode_once():
    for episodes in range(9):
        for parts in (1, 2, 5):
            shares = [Share(number, parts).of(episodes) for number in range(1, parts + 1)]
            assert [index for share in shares for index in share] == list(range(episodes))
    assert all({index % 4 for index in Share(number, 8).of(64)} == set(range(4)) for number in range(1, 9))


def test_a_recall_in_shares_is_the_recall_at_once(tmp_path):
    settings = replace(SMALL, widths=(1,))
    whole = evaluate_recall(OneWorld(Remembering()), read, settings)
    files = in_shares(
        tmp_path,
        lambda share, recorder: evaluate_recall(
            OneWorld(Remembering()), read, replace(settings, share=share), recorder=recorder
        ),
    )
    assert report_of_records(read_records(files, "recall")) == whole


def test_a_recall_that_is_stopped_tells_what_it_has(tmp_path):
    world, file = Remembering(), tmp_path / "records.jsonl"
    stop = SMALL.blocks // 2
    with pytest.raises(Cancelled):
        evaluate_recall(
            OneWorld(world), read, SMALL, cancel=lambda: world.ledger["steps"] > stop, recorder=Recorder(file)
        )
    file.write_text(file.read_text() + '{"what": "recall", "ind')  # killed while it wrote
    report = report_of_records(read_records([file], "recall"))
    counts = {name: report.estimates[name].n for name in ("hkv", "none")}
    assert 0 < counts["none"] <= counts["hkv"] < SMALL.episodes
    assert report.gain["none"].n == counts["none"], "paired over the episodes that have both"
    assert report.estimates["hkv"].accuracy == 1


def test_an_ablation_of_the_records_of_recalls(tmp_path):
    file = tmp_path / "records.jsonl"
    whole = evaluate_ablation(OneWorld(Remembering()), read, SMALL, recorder=Recorder(file))
    records = read_records([file], "recall")
    assert ablation_of_records(records) == whole
    assert ablation_of_records([r for r in records if r["attention"] != "linear"]).to_json()[
        "hsa_minus"
    ].keys() == {*("dense", "sparse")}
    with pytest.raises(UserError, match="attention"):
        report_of_records(records)
    with pytest.raises(UserError, match="hkv"):
        ablation_of_records([r for r in records if r["variant"] != "hkv"])


def test_following_and_drift_in_shares(tmp_path):
    def follow(share, recorder):
        settings = FollowingSettings(episodes=8, blocks=2, read_blocks=1, share=share)
        return evaluate_following(
            OneWorld(Painter(wrong=("shirt",))), PixelReader(), true_scene, settings, recorder=recorder
        )

    def drift(share, recorder):
        settings = DriftSettings(episodes=4, seconds=12, end_seconds=2, share=share)
        return evaluate_drift(
            OneWorld(Painter(fade=2)), PixelReader(), true_parts, settings, recorder=recorder
        )

    for name, evaluate, of_records in (
        ("prompt", follow, following_of_records),
        ("drift", drift, drift_of_records),
    ):
        folder = tmp_path / name
        folder.mkdir()
        files = in_shares(folder, evaluate)
        whole = evaluate(Share(), Recorder())
        report = of_records(read_records(files, name))
        assert report.to_markdown() == whole.to_markdown()
        assert json.loads(json.dumps(report.to_json()))["about"] == whole.to_json()["about"]


def test_records_of_other_evaluations_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    for content in (b"", b"\xff\n", b"no json\n", b"[1]\n", b'{"what": "drift"}\n'):
        path.write_bytes(content)
        with pytest.raises(UserError, match="records"):
            read_records([path], "recall")
    with pytest.raises(UserError, match="cannot be read"):
        read_records([tmp_path / "none.jsonl"], "recall")
    with pytest.raises(UserError, match="could not be written"):
        Recorder(tmp_path).add({}, {})
    with pytest.raises(UserError, match="differ in their seed"):
        agreed([{"seed": 1}, {"seed": 2}], "seed")
