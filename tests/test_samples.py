"""The sample worlds: sound, written as we write, and each shows what it is for."""

from pathlib import Path

import pytest

from worldattention.core.pocket.mentions import parse
from worldattention.core.project import load_project, project_to_json
from worldattention.core.render import RenderJob

SAMPLES = sorted((Path(__file__).parents[1] / "assets" / "samples").glob("*.world"))


def test_there_are_at_least_four():
    assert len(SAMPLES) >= 4
    assert len({load_project(path).name for path in SAMPLES}) == len(SAMPLES)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_each_is_sound_and_canonical(path):
    project = load_project(path)
    RenderJob(project, None).check()
    assert path.read_text(encoding="utf-8") == project_to_json(project)
    assert project.duration == project.timeline.seconds
    assert project.settings.retrieval == "hkv"
    starts = [event.start for event in project.timeline.events]
    assert starts == [0.0, *(event.end for event in project.timeline.events[:-1])]  # no holes


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_pocket_world_knows_what_every_prompt_asks_for(path):
    for event in load_project(path).timeline.events:
        assert set(parse(event.prompt).missing) <= {"time", "weather"}, (
            event.prompt
        )  # day and clear may go without saying


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_each_longer_sample_comes_back_to_a_scene_in_other_words(path):
    prompts = [event.prompt for event in load_project(path).timeline.events]
    if len(prompts) > 2:
        first, last = (parse(prompt) for prompt in (prompts[0], prompts[-1]))
        again = next(index for index, prompt in enumerate(prompts[:-1]) if parse(prompt) == last)
        assert prompts[again] != prompts[-1]
        assert len(prompts) - 1 - again >= 2, "the scene never left"
        assert first.place is not None


def test_red_ball_returns_in_other_words_after_a_minute():
    project = load_project(next(path for path in SAMPLES if path.stem == "red_ball"))
    events = project.timeline.events
    assert [event.seconds for event in events] == [10.0] * 6
    first, last = events[0].prompt.lower(), events[-1].prompt.lower()
    assert first != last
    for word in ("man", "red shirt", "red ball", "village"):
        assert word in first
        assert word in last
    assert all("village" not in event.prompt.lower() for event in events[1:-1])
