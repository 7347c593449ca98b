"""`render` from a branch, from a block, from a saved world: with the toy model behind the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.toy import toy_engine, toy_model
from worldattention.app import cli
from worldattention.core import loading
from worldattention.core.engine import Engine
from worldattention.core.project import Project, save_project
from worldattention.core.session import Session
from worldattention.core.timeline import Timeline
from worldattention.core.world_files import open_world

STORY = Timeline().add(0.0, 1.5, "a red house by the sea").add(1.5, 9.0, "tall tower under snow")


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    model = toy_model()
    monkeypatch.setattr(
        loading, "open_engine", lambda _model, _device, config, _report: Engine(model, config)
    )


@pytest.fixture
def project(tmp_path) -> Path:
    """Three blocks of one branch, and a second one that leaves at block 2."""
    session = Session(toy_engine(0), STORY)
    for _ in range(3):
        session.step()
    session.rewind(2, "Boat")
    session.say("a yellow boat")
    session.step()
    session.switch("Main")
    path = tmp_path / "toy.world"
    save_project(Project("Toy", timeline=STORY, history=session.history), path)
    session.close()
    return path


def render(capsys, *arguments: object) -> dict[str, object]:
    status = cli.main(["render", *map(str, arguments), "-o", "null", "--json"])
    told = capsys.readouterr()
    assert status == 0, told.err
    return json.loads(told.out.splitlines()[-1])


def latents(folder: Path) -> torch.Tensor:
    return torch.stack(list(open_world(folder).latents()))


def test_a_saved_world_goes_on_as_if_it_had_never_stopped(project, tmp_path, capsys) -> None:
    straight, first, second = tmp_path / "straight", tmp_path / "first", tmp_path / "second"
    render(capsys, project, "--seconds", 4.5, "--save-world", straight)
    render(capsys, project, "--seconds", 2.25, "--save-world", first, "--save-pages")
    summary = render(capsys, "--world", first, "--seconds", 2.25, "--save-world", second)
    assert summary["frames"] == 36
    assert torch.equal(latents(second), latents(straight))
    lines = open_world(second).telemetry()
    assert [json.loads(line)["block"] for line in lines] == list(range(6))


def test_a_branch_and_a_block_are_rendered(project, tmp_path, capsys) -> None:
    log, world = tmp_path / "log.jsonl", tmp_path / "world"
    summary = render(
        capsys, project, "--branch", "Boat", "--from-block", 1, "--telemetry", log, "--save-world", world
    )
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [record["block"] for record in records] == list(range(1, 12))
    assert [record["prompt"] for record in records[:2]] == ["a red house by the sea", "a yellow boat"]
    assert summary["frames"] == 144 - 12
    assert open_world(world).blocks == 12
    earlier = tmp_path / "earlier"
    render(capsys, "--world", world, "--from-block", 3, "--seconds", 0.75, "--save-world", earlier)
    assert torch.equal(latents(earlier), latents(world)[:4])
    assert render(capsys, "--world", world, "--seconds", 0.75)["frames"] == 12  # behind the project's end


def test_a_branch_of_a_saved_world_goes_on_where_it_ends(project, tmp_path, capsys) -> None:
    first, second, log = tmp_path / "first", tmp_path / "second", tmp_path / "log.jsonl"
    render(capsys, project, "--seconds", 4.5, "--save-world", first)
    render(capsys, "--world", first, "--from-block", 4, "--seconds", 1.5, "--save-world", second)
    saved = open_world(second)
    assert saved.history.current == "Branch 2"
    for branch, from_block, begin in (
        ("Branch 2", [], 6),
        ("Boat", [], 3),
        ("Main", [], 6),
        ("Main", ["--from-block", 5], 5),
    ):
        there = tmp_path / f"{branch}{begin}"
        chosen = ["--world", second, "--branch", branch, *from_block, "--seconds", 0.75]
        render(capsys, *chosen, "--telemetry", log, "--save-world", there)
        assert [json.loads(line)["block"] for line in log.read_text().splitlines()] == [begin]
        lines = [json.loads(line) for line in open_world(there).telemetry()]
        assert [line["block"] for line in lines] == list(range(begin + 1))
        if branch == "Main":
            assert torch.equal(latents(there)[:begin], latents(first)[:begin])


def test_what_is_asked_for_counts_behind_the_block_that_is_gone_back_to(project, tmp_path, capsys) -> None:
    world, other, log = tmp_path / "world", tmp_path / "other", tmp_path / "log.jsonl"
    render(capsys, project, "--seconds", 3, "--save-world", world)
    chosen = ["--world", world, "--from-block", 2, "--seconds", 1.5, "--seed", 77, "--attention", "dense"]
    render(capsys, *chosen, "--telemetry", log, "--save-world", other)
    assert [json.loads(line)["attention"] for line in log.read_text().splitlines()] == ["dense"] * 2
    assert torch.equal(latents(other)[:2], latents(world)[:2])
    assert not torch.equal(latents(other)[2], latents(world)[2])
    records = open_world(other).records
    assert [(record.seed, record.attention) for record in records[2:]] == [(77, "dense")] * 2


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (["--branch", "Nobody"], 1, "no branch 'Nobody'"),
        (["--from-block", "99"], 1, "ends before block 99"),
        (
            ["--from-block", "99", "--seconds", "1"],
            1,
            "ends before block 99: begin at block 11 or an earlier",
        ),
        (["--world", "x"], 2, "either a project or"),
        (["--save-pages"], 2, "--save-world"),
    ],
)
def test_what_cannot_be_is_told_in_one_sentence(project, capsys, arguments, status, reason) -> None:
    assert cli.main(["render", str(project), "-o", "null", *arguments]) == status
    told = capsys.readouterr().err
    assert reason in told
    assert "Traceback" not in told
    assert "Load" not in told  # it is said before the model is loaded
    assert ("(see worldattention render --help)" in told) == (status == 2)


def test_what_is_no_saved_world_says_what_was_found(project, tmp_path, capsys) -> None:
    for place, found in (
        (project, "is a file"),
        (tmp_path, "has no world.json"),
        (tmp_path / "x", "no folder"),
    ):
        assert cli.main(["render", "--world", str(place), "-o", "null"]) == 1
        told = capsys.readouterr().err
        assert found in told
        assert "folder" in told
    assert cli.main(["render", "-o", "null"]) == 2
    assert "(see worldattention render --help)" in capsys.readouterr().err


def test_the_place_is_checked_before_anything_is_made(project, tmp_path, capsys) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"x")
    assert cli.main(["render", str(project), "-o", "null", "--save-world", str(tmp_path / "photos")]) == 1
    assert "holds other things" in capsys.readouterr().err


def test_a_place_that_takes_nothing_is_told_before_anything_is_made(project, capsys) -> None:
    place = "/proc/world"  # no one may make a folder there, root neither
    assert cli.main(["render", str(project), "-o", "null", "--save-world", place]) == 1
    told = capsys.readouterr().err
    assert "could not be saved" in told
    assert "Render:" not in told
